"""Compaction beside its model: random logs, random times, ends of the process in the midst."""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import Died
from tests.simulation.compacted_life import CompactedLife, cleaned

SEEDS = range(50)
INTERRUPTED_SEEDS = range(50)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_is_the_last_of_each_key(seed: int) -> None:
    life = CompactedLife(seed)
    for _ in range(life.chance.randrange(1, 6)):
        for _ in range(life.chance.randrange(1, 40)):
            life.step()
        life.roll()
        cleaned(life)
        life.check(cleaned_to=life.cleaner.first_dirty_offset(life.log))
        if life.chance.random() < 0.3:
            life.end(lambda disk: disk.kill())
            life.check()


@pytest.mark.long(sample=20)
@pytest.mark.parametrize("seed", INTERRUPTED_SEEDS)
def test_a_cleaning_that_is_cut_off_anywhere_loses_nothing(seed: int) -> None:
    life = CompactedLife(seed)
    for _ in range(life.chance.randrange(2, 6)):
        for _ in range(life.chance.randrange(1, 40)):
            life.step()
        life.roll()
        disk = life.filesystem
        disk.die_at = disk.changes + life.chance.randrange(120)
        disk.torn = life.chance.random()
        try:
            cleaned(life)
        except Died:
            power = life.chance.random() < 0.5
            seed_of_loss = random.Random(life.chance.random())
            life.end(lambda d, p=power, s=seed_of_loss: d.lose_power(s) if p else d.kill())
        disk.die_at = None
        life.check()
    cleaned(life)
    life.check(cleaned_to=life.cleaner.first_dirty_offset(life.log))
