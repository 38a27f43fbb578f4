"""The generator: the same spec, the same bytes; arrivals rise; what is wrong is wrong as said."""

from __future__ import annotations

import datetime
import json
from collections import Counter

import pytest

from pipeline import reasons
from pipeline.generator import (
    DEFAULT_START_MS,
    HOUR_MS,
    MISCHIEF,
    RHYTHM,
    GeneratorSpec,
    arrival_times,
    generated,
    iso,
)

SPEC = GeneratorSpec(seed=3, events=8_000, malformed_share=0.05, duplicate_share=0.05)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again = list(generated(SPEC)), list(generated(SPEC))
    assert first == again
    other = list(generated(GeneratorSpec(seed=4, events=8_000)))
    assert [one.value for one in other] != [one.value for one in first]


def test_arrivals_rise_through_the_hours_in_the_rhythm_of_a_day() -> None:
    spec = GeneratorSpec(events=24_000)
    times = list(arrival_times(spec))
    assert times == sorted(set(times))
    assert times[0] >= DEFAULT_START_MS and times[-1] < DEFAULT_START_MS + 24 * HOUR_MS
    counts = Counter((time - DEFAULT_START_MS) // HOUR_MS for time in times)
    for hour, weight in enumerate(RHYTHM):
        assert abs(counts[hour] - 24_000 * weight / sum(RHYTHM)) <= 1


def test_the_lag_stays_within_what_a_stream_waits_for() -> None:
    lags = [one.timestamp_ms - one.usage.event_time_ms for one in generated(SPEC)]
    assert min(lags) >= 50
    assert 60_000 < max(lags) <= SPEC.late_max_s * 1000 + 8_001


def test_shares_are_about_what_was_asked_for() -> None:
    records = list(generated(SPEC))
    malformed = [one for one in records if one.malformed]
    assert len(records) == 8_000
    assert 300 < len(malformed) < 500
    assert {one.malformed for one in malformed} == set(MISCHIEF)
    assert 250 < sum(one.repeated for one in records) < 500


def test_a_repeated_record_has_the_bytes_of_a_good_one_before_it() -> None:
    before: set[bytes] = set()
    for one in generated(SPEC):
        assert (one.value in before) == one.repeated
        if not one.malformed:
            before.add(one.value)


def test_a_good_value_is_the_truth_as_json() -> None:
    for one in list(generated(SPEC))[:500]:
        assert one.key == one.usage.subscriber.encode()
        if one.malformed:
            continue
        told = json.loads(one.value)
        assert told["event_time"] == iso(one.usage.event_time_ms)
        assert (told["duration_s"], told["bytes"]) == (one.usage.duration_s, one.usage.bytes)
        assert told["dropped"] is one.usage.dropped


def test_malformed_values_are_wrong_in_one_way() -> None:
    for one in generated(SPEC):
        if one.malformed == reasons.NOT_JSON:
            with pytest.raises(ValueError):
                json.loads(one.value)
        elif one.malformed == reasons.NO_EVENT_ID:
            assert "event_id" not in json.loads(one.value)


@pytest.mark.parametrize("time_ms", [0, 951_782_400_000, 1_709_164_800_123, 4_107_542_399_999])
def test_times_are_written_as_datetime_writes_them(time_ms: int) -> None:
    known = datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC)
    assert iso(time_ms) == known.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("wrong", [{"events": 0}, {"late_share": -0.1}, {"malformed_share": 1.0}])
def test_a_spec_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        GeneratorSpec(**wrong)  # type: ignore[arg-type]
