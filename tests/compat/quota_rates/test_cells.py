"""The arithmetic of rates, and which cells there are."""

from __future__ import annotations

from itertools import product

import pytest

from tests.compat.quota_rates.cells import (
    CLIENTS,
    COUNTS,
    OPERATIONS,
    bytes_at,
    every_cell,
    pairwise,
    rates,
)

IDLE = [(0.0, 0), (1.0, 0)]


def test_what_goes_at_once_at_the_start_does_not_count_after_the_first_window() -> None:
    samples = [*IDLE, (1.1, 1000), *((1.1 + n, 1000 + 100 * n) for n in range(1, 21))]
    found = rates(samples, 100.0, 10.0, 5.0)
    assert found.from_start == pytest.approx(2.0)
    assert found.after == pytest.approx(1.0)


def test_between_two_samples_bytes_are_on_their_line() -> None:
    samples = [(1.0, 0), (2.0, 100), (4.0, 200)]
    assert [bytes_at(samples, when) for when in (1.0, 1.5, 2.0, 3.0, 4.0)] == [0, 50, 100, 150, 200]


def test_samples_that_tell_too_little_are_refused() -> None:
    with pytest.raises(ValueError, match="no byte"):
        rates(IDLE, 100.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"samples end 0\.5 s too early"):
        rates([*IDLE, (2.0, 10), (3.5, 20)], 100.0, 1.0, 1.0)


def test_every_cell_has_a_user_of_its_own() -> None:
    cells = every_cell()
    assert len({cell.user for cell in cells}) == len(cells) == 16
    assert {cell.quota_key for cell in cells} == {"producer_byte_rate", "consumer_byte_rate"}


def test_half_of_the_cells_have_every_pair() -> None:
    cells = pairwise()
    assert len(cells) == 8
    for one, two in (("client", "operation"), ("client", "count"), ("operation", "count")):
        values = {"client": CLIENTS, "operation": OPERATIONS, "count": COUNTS}
        found = {(getattr(cell, one), getattr(cell, two)) for cell in cells}
        assert found == set(product(values[one], values[two]))
