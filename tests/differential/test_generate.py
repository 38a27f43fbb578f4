"""Random sequences and grids: the same for a seed, can be sent, can be kept in a file."""

from __future__ import annotations

import pytest

from protocol.api_keys import STABLE_VERSIONS
from tests.differential.generate import BODIES, random_sequence
from tests.differential.grids import GRIDS
from tests.differential.odd_values import can_be_sent
from tests.differential.sequence import Sequence

VERSIONS = {key.name: versions for key, versions in STABLE_VERSIONS.items() if key.name in BODIES}


def test_a_seed_gives_the_same_sequence_and_another_gives_another() -> None:
    one, same, other = (random_sequence(seed, 3, 30, VERSIONS) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert len(one.steps) == 30


def test_a_sequence_survives_its_file() -> None:
    for number in range(30):
        one = random_sequence(5, number, 30, VERSIONS)
        assert Sequence.from_json(one.to_json()) == one


def test_every_api_and_version_is_drawn() -> None:
    drawn = {
        (step.api, step.version)
        for number in range(1500)
        for step in random_sequence(1, number, 30, VERSIONS).steps
    }
    wanted = {(api, v) for api, (low, high) in VERSIONS.items() for v in range(low, high + 1)}
    assert wanted - drawn == set()


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_a_grid_is_of_steps_that_can_be_sent_and_names_them(name: str) -> None:
    names = []
    for one in GRIDS[name](VERSIONS):
        names.append(one.name)
        assert [str(step) for step in one.steps if not can_be_sent(step)] == []
    assert len(set(names)) == len(names)
