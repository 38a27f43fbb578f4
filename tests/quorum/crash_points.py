"""A voter that dies in place of its n-th change to the disk, and comes back (C5); with `changing`,
while voters are added and removed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ground.memory_filesystem import Died
from tests.quorum.quorum_world import QuorumWorld
from tests.quorum.voter_storm import Administrator

VICTIM = 1
ROUNDS = 50
CHANGING_ROUNDS = 80
ROUND_MS = 30.0


class _Schedule:
    """A schedule with the same records, snapshots and voters in each run, until the victim dies."""

    def __init__(self, changing: bool) -> None:
        observers = 2 if changing else 0
        self.world = QuorumWorld(5, 3, observers, snapshot_bytes=400, dynamic=changing)
        self.world.links.slow_chance = 0.0
        self.victim = self.world.nodes[VICTIM]
        self.administrator = Administrator(self.world) if changing else None
        self._rounds = CHANGING_ROUNDS if changing else ROUNDS

    def run(self, survive: Callable[[Callable[[], object]], None]) -> None:
        """Run it; `survive` calls each step."""
        for node in self.world.nodes.values():
            survive(node.start)
        if self.administrator is not None:
            self.administrator.begin()
        for _ in range(self._rounds):
            survive(self.world.propose)
            survive(partial(self.world.world.run_for, ROUND_MS))
        if self.administrator is not None:
            self.administrator.end()


def crash_points(changing: bool = False) -> range:
    """Return all n at which the victim can die: from the first start to some snapshots later."""
    schedule = _Schedule(changing)
    formatted = schedule.victim.filesystem.changes
    schedule.run(lambda step: step() and None)
    administrator = schedule.administrator
    assert administrator is None or administrator.done > 3, "too few changes to show anything"
    return range(formatted + 1, schedule.victim.filesystem.changes)


def crash_at(point: int, power: bool, changing: bool = False) -> None:
    """Die there, by process death or with the loss of what was not fsynced; start again; look."""
    schedule = _Schedule(changing)
    world, victim = schedule.world, schedule.victim
    victim.filesystem.die_at = point

    def survive(step: Callable[[], object]) -> None:
        try:
            step()
        except Died:
            victim.stop(power)
            victim.start()

    schedule.run(survive)
    assert victim.life == 2, f"the victim did not die at {point}"
    world.wait_for_leader()
    world.propose()
    world.wait_until_equal()
    world.check.at_the_end()
    if schedule.administrator is not None:
        schedule.administrator.check()
