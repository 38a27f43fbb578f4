"""The quorum under faults that a seed draws, and whether the invariants find a broken one."""

from __future__ import annotations

import pytest

from tests.quorum.quorum_mutants import MUTANTS, OF_CHANGES, mutant
from tests.quorum.quorum_world import storm
from tests.quorum.voter_storm import voter_storm

SEEDS = 100
PARTS = 10
STORM_MS = 5_000.0


def _voters(seed: int) -> int:
    return 5 if seed % 3 == 0 else 3


@pytest.mark.parametrize("part", range(PARTS))
def test_the_invariants_hold(part: int) -> None:
    elections = committed = 0
    for seed in range(part, SEEDS, PARTS):
        world = storm(seed, _voters(seed), STORM_MS)
        elections += world.check.elections
        committed += max(world.check.batches)
    assert elections > SEEDS // PARTS, "the schedules elect too little to show anything"
    assert committed > 10 * SEEDS // PARTS, "the schedules commit too little to show anything"


@pytest.mark.parametrize("part", range(PARTS))
def test_the_invariants_hold_while_voters_change(part: int) -> None:
    changes = sum(voter_storm(seed, STORM_MS).changes for seed in range(part, 30, PARTS))
    assert changes > 3, "the schedules change too little to show anything"


def test_followers_load_snapshots() -> None:
    """The schedules above are of the kind that makes logs end before their followers have them."""
    loads = sum(
        node.loads
        for seed in range(6)
        for node in storm(seed, 3, STORM_MS, snapshot_bytes=600).nodes.values()
    )
    assert loads > 3


def test_slow_disks() -> None:
    """With 5402 a node once told others of an epoch that its own disk did not have yet, lost power,
    and came back in an earlier one."""
    for seed in (5402, 1, 2, 3, 4, 5):
        storm(seed, 3, 6_000.0, snapshot_bytes=600, slowest_disk_ms=300.0)


def test_a_log_that_a_snapshot_replaces() -> None:
    """A voter kept a shorter log of a later epoch, of which nothing was committed, and fetched the
    leader's snapshot for ever."""
    storm(494677, 5, 8_000.0)


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutants_are_found(name: str) -> None:
    with mutant(name):
        for seed in range(40):
            try:
                if name in OF_CHANGES:
                    voter_storm(seed, 8_000.0)
                else:
                    storm(seed, 3 if seed % 2 else 5, 8_000.0)
            except Exception:  # noqa: BLE001 - an invariant, or the broken quorum itself
                return
    raise AssertionError(f"40 seeds did not show {name}")


def test_a_seed_gives_the_same_run_twice() -> None:
    one, two = storm(7, 3, STORM_MS), storm(7, 3, STORM_MS)
    assert one.world.events_run == two.world.events_run
    assert one.check.batches == two.check.batches
