"""Every state that an end in the midst of a cleaning leaves on disk, and every call that may fail.

The protocol of the swap: `.cleaned`, `.swap`, the old segments `.deleted`, the checkpoint. The
process ends before each single change, by death or by a loss of power; so does the start after it.
Each log that comes out has the last value of every key, nothing twice and nothing that was not
written, and can be cleaned to its end.
"""

from __future__ import annotations

import copy
import errno
import random

import pytest

from ground.memory_filesystem import Died, MemoryFilesystem
from tests.simulation.compacted_life import CompactedLife, cleaned

POINTS_MAX = 400
SEED = 11


def life_before(seed: int) -> CompactedLife:
    """A log of several segments, some of them clean: a new one of the same bytes each time."""
    life = CompactedLife(seed)
    for _ in range(12):
        life.step()
    life.roll()
    cleaned(life)
    for _ in range(12):
        life.step()
    life.roll()
    life.filesystem.sync_dir("/data")
    return life


def finished(life: CompactedLife) -> None:
    life.filesystem.die_at = None
    life.check()
    cleaned(life)
    life.check(cleaned_to=life.cleaner.first_dirty_offset(life.log))


@pytest.mark.slow
@pytest.mark.parametrize("power", [False, True])
def test_the_end_before_each_change_of_a_cleaning(power: bool) -> None:
    for point in range(POINTS_MAX):
        life = life_before(SEED)
        disk = life.filesystem
        begun = disk.changes
        disk.die_at, disk.torn = begun + point, point % 3 / 2
        try:
            cleaned(life)
        except Died:
            chance = random.Random(point)
            life.end(lambda d, c=chance: d.lose_power(c) if power else d.kill())
            finished(life)
            continue
        assert point > 40
        return
    raise AssertionError("it never ends")


def crashed_in_the_swap(step: int) -> CompactedLife | None:
    """The process died when so many files of the swap had been renamed."""
    life = life_before(SEED)
    disk = life.filesystem
    renames = 0
    before = disk.check

    def check(operation: str, path: str, *, changes: bool = True) -> None:
        nonlocal renames
        if operation == "rename" and "topic-0" in path:
            if renames == step:
                disk.die_at = disk.changes
            renames += 1
        before(operation, path, changes=changes)

    disk.check = check  # type: ignore[method-assign]
    try:
        cleaned(life)
    except Died:
        return life
    finally:
        del disk.check  # type: ignore[method-assign]
    return None


@pytest.mark.slow
def test_the_end_in_the_start_after_it() -> None:
    steps = points = 0
    for step in range(POINTS_MAX):
        life = crashed_in_the_swap(step)
        if life is None:
            break
        steps += 1
        life.filesystem.kill()
        crashed = life.filesystem
        for point in range(POINTS_MAX):
            again = copy.copy(life)
            again.chance = random.Random(point)
            again.filesystem = crashed.clone()
            disk = again.filesystem
            disk.die_at = disk.changes + point
            try:
                again.open()
            except Died:
                points += 1
                again.end(MemoryFilesystem.kill)
                finished(again)
                continue
            finished(again)
            break
    assert steps > 10 and points > 3 * steps


OPERATIONS = ("open", "append", "pread", "sync", "rename", "sync_dir", "remove", "list_dir")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_each_call_fails_once(operation: str, number: int) -> None:
    """The directory goes offline, or the log waits: nothing of it is lost, nothing runs on."""
    failed = 0
    for skip in range(0, POINTS_MAX, 5 if operation == "pread" else 1):
        life = life_before(SEED)
        disk = life.filesystem
        disk.inject(operation, number, skip=skip, path_part="/data")
        life.cleaner.look()
        life.scheduler.run_for(2)
        hit = not any(fault.count for fault in disk._faults)
        if not hit:
            assert failed > 0 or operation == "remove"
            return
        failed = skip + 1
        disk.heal()
        life.scheduler.run_for(2_000)
        offline = life.ports.failures.offline_dirs() != {}
        assert life.cleaner.uncleanable == {}
        assert not life.log.being_cleaned
        if offline:
            life.end(lambda d: d.kill())
        finished(life)
    raise AssertionError("it never ends")
