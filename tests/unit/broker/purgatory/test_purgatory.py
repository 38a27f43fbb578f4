from __future__ import annotations

from collections.abc import Hashable

from broker.purgatory.purgatory import DelayedOperation, Purgatory
from ground.sim_scheduler import SimScheduler


class Waiting(DelayedOperation):
    def __init__(self) -> None:
        super().__init__()
        self.ready = False
        self.looked: list[Hashable] = []
        self.completed = 0
        self.expired = 0

    def try_complete(self, key: Hashable) -> bool:
        self.looked.append(key)
        return self.ready

    def on_complete(self) -> None:
        self.completed += 1

    def on_expiration(self) -> None:
        self.expired += 1


def test_an_operation_completes_by_any_of_its_keys_and_leaves_all() -> None:
    purgatory = Purgatory("test", SimScheduler())
    operation = Waiting()
    purgatory.watch(operation, ["a", "b", "a"], 100)
    assert purgatory.check("a") == 0
    assert purgatory.check("elsewhere") == 0
    operation.ready = True
    assert purgatory.check("b") == 1
    assert (operation.completed, operation.expired) == (1, 0)
    assert operation.looked == ["a", "b"]
    assert purgatory.check("a") == 0
    assert len(purgatory) == 0


def test_the_deadline_completes_once_and_late_checks_find_nothing() -> None:
    scheduler = SimScheduler()
    purgatory = Purgatory("test", scheduler)
    operation = Waiting()
    purgatory.watch(operation, ["a"], 100)
    scheduler.run_for(99)
    assert operation.completed == 0
    scheduler.run_for(1)
    assert (operation.completed, operation.expired, purgatory.expired) == (1, 1, 1)
    operation.ready = True
    assert purgatory.check("a") == 0
    assert operation.completed == 1


def test_what_is_complete_does_not_expire() -> None:
    scheduler = SimScheduler()
    purgatory = Purgatory("test", scheduler)
    operation = Waiting()
    purgatory.watch(operation, ["a"], 100)
    operation.complete()
    scheduler.run_for(1000)
    assert (operation.completed, operation.expired) == (1, 0)
    assert scheduler.pending() == 0


def test_an_operation_that_completes_another_of_the_same_key_does_so_once() -> None:
    purgatory = Purgatory("test", SimScheduler())
    second = Waiting()

    class First(Waiting):
        def on_complete(self) -> None:
            super().on_complete()
            second.complete()

    first = First()
    first.ready = second.ready = True
    purgatory.watch(first, ["a"], 100)
    purgatory.watch(second, ["a"], 100)
    assert purgatory.check("a") == 1
    assert (first.completed, second.completed, len(purgatory)) == (1, 1, 0)


def test_a_check_ends_when_nothing_is_left_for_the_others() -> None:
    purgatory = Purgatory("test", SimScheduler())
    operations = [Waiting(), Waiting(), Waiting()]
    left = [True, True, False]
    for operation in operations:
        purgatory.watch(operation, ["a"], 100)
    assert purgatory.check("a", lambda: left.pop(0)) == 0
    assert [operation.looked for operation in operations] == [["a"], ["a"], []]


def test_a_node_that_stops_expires_all_that_waits() -> None:
    purgatory = Purgatory("test", SimScheduler())
    operations = [Waiting(), Waiting()]
    for operation in operations:
        purgatory.watch(operation, ["a", operation], 100)
    purgatory.close()
    assert [(o.completed, o.expired) for o in operations] == [(1, 1), (1, 1)]
    assert len(purgatory) == 0


def test_nothing_waits_in_one_that_is_closed() -> None:
    """A request that came before the node stopped, and is handled after what waited was answered,
    would hold the stop up to its time-out. Its handler may still say whom to answer: not before
    that is it completed."""
    scheduler = SimScheduler()
    purgatory = Purgatory("test", scheduler)
    purgatory.close()
    late = Waiting()
    purgatory.watch(late, ["a"], 60_000)
    assert (late.completed, late.expired) == (0, 0)
    scheduler.run_for(0)
    assert (late.completed, late.expired) == (1, 1)
    assert len(purgatory) == 0 and not purgatory.is_watched("a")
