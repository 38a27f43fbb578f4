"""A voter that dies in place of its n-th change to the disk, and comes back (C5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ground.memory_filesystem import Died
from tests.quorum.quorum_world import QuorumWorld

VICTIM = 1
ROUNDS = 50
ROUND_MS = 30.0


def _quorum() -> QuorumWorld:
    world = QuorumWorld(5, 3, 0, snapshot_bytes=400)
    world.links.slow_chance = 0.0
    return world


def crash_points() -> range:
    """All n at which the victim can die: from the first start to some snapshots later."""
    world = _quorum().start()
    for _ in range(ROUNDS):
        world.propose()
        world.world.run_for(ROUND_MS)
    return range(1, world.nodes[VICTIM].filesystem.changes)


def crash_at(point: int, power: bool) -> None:
    """Die there, by process death or with the loss of what was not fsynced; start again; look."""
    world = _quorum()
    victim = world.nodes[VICTIM]
    victim.filesystem.die_at = point

    def survive(action: Callable[[], object]) -> None:
        try:
            action()
        except Died:
            victim.stop(power)
            victim.start()

    for node in world.nodes.values():
        survive(node.start)
    for _ in range(ROUNDS):
        survive(world.propose)
        survive(partial(world.world.run_for, ROUND_MS))
    assert victim.life == 2, f"the victim did not die at {point}"
    world.wait_for_leader()
    world.propose()
    world.wait_until_equal()
    world.check.at_the_end()
