"""Words for places in a partition."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.start_error import StartError
from client.places import END, START, Place, parse_place

NOW = 1_764_144_000_000


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("start", START),
        ("earliest", START),
        ("end", END),
        ("17", Place("offset", 17)),
        ("-10", Place("last", 10)),
        ("@2h", Place("time", NOW - 7_200_000)),
        ("@90d", Place("time", NOW - 90 * 86_400_000)),
        ("@99999999d", Place("time", 0)),
        ("@123", Place("time", 123)),
        ("@1970-01-02", Place("time", 86_400_000)),
        ("@1970-01-01T01:00:00.5+02:00", Place("time", 0)),
        ("@1969-12-31T23:59:59.999Z", Place("time", 0)),  # -1 would be the end
        ("@9223372036854775807", Place("time", (1 << 63) - 1)),
        ("@1970-01-01 01:00-01:30", Place("time", 9_000_000)),
    ],
)
def test_what_is_meant(text: str, place: Place) -> None:
    assert parse_place(text, NOW, "--from") == place


@given(st.datetimes(datetime(1970, 1, 1), datetime(2400, 1, 1)))
def test_any_moment(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
    ms = round(moment.timestamp() * 1000)
    shown = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert parse_place(f"@{shown}", NOW, "--from").number == ms


BEYOND = "9223372036854775808"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "--3",
            "@",
            "@yesterday",
            "@2026-13-01",
            "@2026-02-29",
            "@2026-04-31",
            "@2h3",
            "٣",
        ),
        *(BEYOND, f"-{BEYOND}", f"@{BEYOND}", f"@{BEYOND}d", "9" * 5_000, "@" + "9" * 5_000),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(StartError, match=r"^--to "):
        parse_place(text, NOW, "--to")
