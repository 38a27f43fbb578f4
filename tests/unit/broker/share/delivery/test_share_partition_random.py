"""Random members on a share-partition, beside a model that keeps a state for each offset.

The model knows the rules and nothing of runs, batches and windows. A mutant of each rule fails:
`test_mutants_are_caught`.
"""

from __future__ import annotations

from random import Random

import pytest

from broker.share.delivery import share_partition
from broker.share.delivery.in_flight import InFlightBatch, Run
from broker.share.delivery.in_flight_window import InFlightWindow
from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import Refusal, SharePartition, StateWrite
from broker.share.record_state import AcknowledgeType, RecordState
from tests.unit.broker.share.delivery.group_of_members import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Group,
)

MEMBERS = ("a", "b", "c")
TYPES = (ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, GAP, RENEW)
RECORDS = 400
STEPS = 300


class Model:
    """The records that each member holds, those that are final, and the deliveries of each."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.holder: dict[int, str] = {}
        self.final: set[int] = set()
        self.deliveries: dict[int, int] = {}

    def acquired(self, member: str, ranges: list[tuple[int, int, int]]) -> None:
        """Note what a member got: none of it is held or final, each delivery is counted."""
        for first, last, deliveries in ranges:
            for offset in range(first, last + 1):
                assert offset not in self.final, f"{offset} came back after it was final"
                assert offset not in self.holder, f"{offset} is acquired twice"
                count = self.deliveries.get(offset, 0) + 1
                assert deliveries == count <= self.limit, (offset, deliveries, count)
                self.deliveries[offset] = count
                self.holder[offset] = member

    def ended(self, offset: int, kind: AcknowledgeType) -> None:
        """Note the end of a delivery."""
        if kind is RENEW:
            return
        del self.holder[offset]
        is_given_up = kind is RELEASE and self.deliveries[offset] >= self.limit
        if kind is not RELEASE or is_given_up:
            self.final.add(offset)


class World:
    """A group, its model, and writes that are under way."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        stored, first = [], 0
        while first < RECORDS:
            last = first + self.random.choice((0, 1, 4, 9, 30))
            stored.append((first, last))
            first = last + 1 + self.random.choice((0, 0, 0, 3))  # compaction leaves gaps
        limit = self.random.choice((2, 3, 5))
        locks = self.random.choice((30, 100, 2_000))
        self.group = Group(*stored, settings=DeliverySettings(30_000, limit, locks))
        self.model = Model(limit)
        self.under_way: list[tuple[StateWrite, list[tuple[int, AcknowledgeType]], str]] = []
        self.start_offset = 0

    @property
    def partition(self) -> SharePartition:
        return self.group.partition

    def step(self) -> None:
        """Do something at random, then check what always holds."""
        self.random.choice(
            (
                self.fetch,
                self.fetch,
                self.acknowledge,
                self.acknowledge,
                self.end_write,
                self.rarely,
            )
        )()
        self.check()

    def rarely(self) -> None:
        self.random.choice((self.release, self.expire, self.reload))()

    def fetch(self) -> None:
        member = self.random.choice(MEMBERS)
        wished = self.random.choice((1, 5, 50))
        ranges = self.group.fetch(
            member, wished, self.random.choice((1, 10, 500)), is_limited=self.random.random() < 0.4
        )
        self.model.acquired(member, ranges)

    def acknowledge(self) -> None:
        """Acknowledge neighbours that a member holds, or now and then what it does not."""
        member = self.random.choice(MEMBERS)
        held = sorted(offset for offset, name in self.model.holder.items() if name == member)
        if not held:
            return
        first = last = self.random.choice(held)
        while last + 1 in held and self.random.random() < 0.9:
            last += 1
        types = [self.random.choice(TYPES) for _ in range(first, last + 1)]
        if self.random.random() < 0.5:
            types = types[:1]
        other = self.random.random() < 0.1
        try:
            write = self.group.begin(first, last, *types, member="x" if other else member)
        except Refusal:
            assert other or self.is_under_way(first, last)
            return
        assert not other
        ended = [
            (offset, types[0] if len(types) == 1 else types[offset - first])
            for offset in range(first, last + 1)
        ]
        if write is not None:
            self.under_way.append((write, [x for x in ended if x[1] is not RENEW], member))

    def is_under_way(self, first: int, last: int) -> bool:
        return any(first <= offset <= last for _, ended, _ in self.under_way for offset, _ in ended)

    def end_write(self, *, is_written: bool | None = None) -> None:
        if not self.under_way:
            return
        index = self.random.randrange(len(self.under_way))
        write, ended, _ = self.under_way.pop(index)
        is_written = self.random.random() < 0.8 if is_written is None else is_written
        self.group.persist(write, is_written=is_written)
        for offset, kind in ended if is_written else ():
            self.model.ended(offset, kind)

    def release(self) -> None:
        member = self.random.choice(MEMBERS)
        write = self.partition.release(member)
        if write is not None:
            ended = [
                (offset, RELEASE)
                for batch in write.batches
                for offset in range(batch.first, batch.last + 1)
            ]
            self.under_way.append((write, ended, member))

    def expire(self) -> None:
        """Let all locks expire; writes that are under way end before."""
        while self.under_way:
            self.end_write()
        self.group.expire()
        for offset in list(self.model.holder):
            self.model.ended(offset, RELEASE)

    def reload(self) -> None:
        """Load the persisted state, which has no acquisitions and no new records."""
        while self.under_way:
            self.end_write(is_written=True)
        batches = tuple(
            run
            for run in self.partition.runs()
            if run.state is not RecordState.ACQUIRED
            and run.first >= self.partition.start_offset
            and (run.state.is_final or run.deliveries)
        )
        for offset in list(self.model.holder):
            del self.model.holder[offset]
            self.model.deliveries[offset] -= 1
        now_ms = self.group.now_ms
        held_twice = {
            offset: count - 1
            for offset, count in self.model.deliveries.items()
            if offset >= self.partition.start_offset and offset not in self.model.final
        }
        persisted = {
            offset: run.deliveries
            for run in batches
            if not run.state.is_final
            for offset in range(run.first, run.last + 1)
        }
        for offset in held_twice:  # an acquisition is not persisted: it counts from before
            self.model.deliveries[offset] = persisted.get(offset, 0)
        self.group = Group(
            *self.group.stored,
            settings=self.group.settings,
            start_offset=self.partition.start_offset,
            batches=batches,
        )
        self.group.now_ms = now_ms

    def check(self) -> None:
        """Check what always holds."""
        assert self.partition.start_offset >= self.start_offset, "the start offset fell"
        self.start_offset = self.partition.start_offset
        under_way = {offset for _, ended, _ in self.under_way for offset, _ in ended}
        expected, final = -1, 0
        for run in self.partition.runs():
            assert run.first > expected, "runs overlap"
            expected = run.last
            if run.state.is_final:
                final += max(0, run.last - max(run.first, self.start_offset) + 1)
            for offset in range(run.first, run.last + 1):
                is_held = offset in self.model.holder and offset not in under_way
                assert (run.state is RecordState.ACQUIRED) == is_held, (offset, run)
        assert self.partition.final_count == final
        for offset in self.model.holder:
            assert offset >= self.start_offset, f"{offset} is held and behind the start offset"

    def settle(self) -> None:
        """Accept all: each record of the log is final then, or was so before the start offset."""
        while self.under_way:
            self.end_write()
        for _ in range(20 * RECORDS):
            self.expire()
            ranges = self.group.fetch("a", 50)
            if not ranges:
                break
            self.model.acquired("a", ranges)
            for first, last, _ in ranges:
                self.group.acknowledge(first, last, ACCEPT, member="a")
                for offset in range(first, last + 1):
                    self.model.ended(offset, ACCEPT)
            self.check()
        last = self.group.stored[-1].last
        missed = {
            offset
            for batch in self.group.stored
            for offset in range(batch.first, batch.last + 1)
            if offset not in self.model.final
        }
        assert not missed, f"never delivered to the end: {sorted(missed)[:5]}"
        assert self.partition.start_offset == last + 1


def run(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.settle()


@pytest.mark.parametrize("seed", range(24))
def test_members_and_the_model_agree(seed: int) -> None:
    run(seed)


# --- mutants -------------------------------------------------------------------------------------


def _never_given_up(kind: AcknowledgeType, *_: int, has_dead_letters: bool) -> RecordState:
    """Release a record however often it was delivered."""
    if kind is ACCEPT:
        return RecordState.ACKNOWLEDGED
    return RecordState.AVAILABLE if kind is RELEASE else RecordState.ARCHIVED


def _available_while_persisted(run: Run) -> bool:
    """Give out records whose release is being persisted, and may fail."""
    return run.state is RecordState.AVAILABLE


def _of_any_member(run: Run, _: str) -> bool:
    """Take acknowledgements of other members."""
    return run.state is RecordState.ACQUIRED


def _start_over_open_records(window: InFlightWindow) -> int | None:
    """Move the start offset over records that are not final."""
    return window.batches[-1].last if window.batches else None


def _holes_are_forgotten(window: InFlightWindow, expected: int) -> None:
    """Read nothing again after a load."""


def _count_all_final(batch: InFlightBatch, _: int) -> int:
    """Count final records before the start offset, too."""
    return batch.final


MUTANTS: tuple[tuple[object, str, object], ...] = (
    (share_partition, "state_after", _never_given_up),
    (Run, "is_available", property(_available_while_persisted)),
    (Run, "is_acquired_by", _of_any_member),
    (InFlightWindow, "_last_final", _start_over_open_records),
    (InFlightWindow, "_first_hole", _holes_are_forgotten),
    (InFlightBatch, "final_from", _count_all_final),
)


@pytest.mark.parametrize(("owner", "name", "mutant"), MUTANTS, ids=[name for _, name, _ in MUTANTS])
def test_mutants_are_caught(
    owner: object, name: str, mutant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mutant)
    with pytest.raises((AssertionError, Refusal, IndexError)):
        for seed in range(24):
            run(seed)
