"""The places that `--from` names, and the offsets that they are in a topic."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping

import pytest

from pipeline.errors import PipelineError
from pipeline.filling.first_offsets import first_offsets
from pipeline.topics import Offsets

HOUR_MS = 3_600_000
NOW_MS = 1_796_126_400_000
THERE = {0: Offsets(10, 50), 1: Offsets(0, 7), 2: Offsets(3, 3)}


def never(_: int) -> Mapping[int, int]:
    raise AssertionError("no time was given")


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("earliest", {0: 10, 1: 0, 2: 3}),
        ("start", {0: 10, 1: 0, 2: 3}),
        ("latest", {0: 50, 1: 7, 2: 3}),
        ("end", {0: 50, 1: 7, 2: 3}),
        ("0:20", {0: 20, 1: 0, 2: 3}),
        ("1:7,0:10", {0: 10, 1: 7, 2: 3}),
    ],
)
def test_places_and_offsets(text: str, offsets: dict[int, int]) -> None:
    assert first_offsets(text).find("t", THERE, never) == offsets


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("@2h", NOW_MS - 2 * HOUR_MS),
        ("@90m", NOW_MS - 90 * 60_000),
        ("@99999d", 0),
        ("@1764144000000", 1_764_144_000_000),
        ("@2026-12-01T12:00Z", NOW_MS),
        ("@2026-12-01", NOW_MS - 12 * HOUR_MS),
        ("2026-12-01T14:00:00.500+02:00", NOW_MS + 500),
        ("2026-12-01 12:00", NOW_MS),
    ],
)
def test_times(text: str, time_ms: int) -> None:
    assert first_offsets(text, NOW_MS).time_ms == time_ms


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-5", "5", "0:1,0:2", "0:1,", "0:-1", "@", "@5w", "2h", "@2026-02-30", "٣:٣"],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        first_offsets(text)


def test_a_time_is_the_first_offset_from_it_on_and_the_end_where_there_is_none() -> None:
    asked = []

    def first_from(time_ms: int) -> Mapping[int, int]:
        asked.append(time_ms)
        return {0: 30, 1: 9}  # 9: behind what can be read, in an open transaction

    first = first_offsets("@5")
    for _ in range(2):
        assert first.find("t", THERE, first_from) == {0: 30, 1: 7, 2: 3}
    assert asked == [5], "a job that goes on after an outage begins at the same offsets"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7:0", "t has no partition 7"),
        ("0:9", "t-0 begins at offset 10 and ends at 50"),
        ("0:51", "t-0 begins at offset 10 and ends at 50"),
    ],
)
def test_offsets_that_the_topic_has_not_are_refused(text: str, words: str) -> None:
    with pytest.raises(PipelineError, match=f"^--from {text}: {words}$"):
        first_offsets(text).find("t", THERE, never)
