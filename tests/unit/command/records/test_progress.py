"""How far it is."""

from __future__ import annotations

from command.records.progress import Progress


def test_rates_where_it_is_not() -> None:
    for total in (None, 0):
        assert Progress(total, 0.0).line(10, 2_000_000, 2.0) == "10 records  2.0 MB  5/s"
    assert Progress(None, 5.0).line(0, 0, 5.0).endswith(" 0/s")
