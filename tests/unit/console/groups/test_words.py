"""Since when, in words."""

from __future__ import annotations

import pytest

from console.groups.lag_history import Behind
from console.groups.words import lasting, since

NOW = 10_000_000


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (None, ""),
        (Behind(None, None, False, None, None), ""),
        (Behind(0, None, False, 0, None), "has read all records"),
        (Behind(7, None, False, NOW, None), "keeps up"),
        (Behind(7, None, True, NOW, None), "not enough samples yet"),
        (
            Behind(7, NOW - 60_000, True, NOW, None),
            "behind since before {9940000}, the console's first sample",
        ),
        (Behind(7, NOW - 1_380_000, False, NOW, None), "behind for 23 min, since {8620000}"),
        (
            Behind(7, NOW - 1_380_000, False, NOW - 1_380_000, None),
            "behind for 23 min, since {8620000}; no commit for 23 min",
        ),
    ],
)
def test_since(one: Behind | None, said: str) -> None:
    assert since(one, NOW) == said


def test_spans() -> None:
    spans = [-5, 59_999, 60_000, 3_600_000, 3_900_000]
    assert [lasting(one) for one in spans] == ["0 s", "59 s", "1 min", "1 h", "1 h 5 min"]
