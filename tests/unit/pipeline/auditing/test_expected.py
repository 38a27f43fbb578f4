"""The second path to the sums, on records that a person can add up."""

from __future__ import annotations

import zlib

from pipeline.auditing.expected import expect
from pipeline.generator import Generated, GeneratorSpec, Usage, generated

CALL = Usage("1", "call", 3_600_000 + 5, "S1", "C1", 60, True, 0)
DATA = Usage("2", "data", 3_600_000 + 9, "S1", "C2", 0, False, 500)


def record(usage: Usage, malformed: str | None = None, repeated: bool = False) -> Generated:
    return Generated(b"S1", usage.json().encode(), 0, usage, malformed, repeated)


def test_each_event_counts_once_per_cell_and_per_subscriber() -> None:
    found = expect([record(CALL), record(DATA), record(CALL, repeated=True)], 3_600_000)
    assert found.aggregates == {
        ("cell", "C1", 3_600_000): (1, 1, 1, 60, 0),
        ("cell", "C2", 3_600_000): (1, 0, 0, 0, 500),
        ("subscriber", "S1", 3_600_000): (2, 1, 1, 60, 500),
    }
    assert (found.records, found.events, found.repeated) == (3, 2, 1)
    assert found.totals() == (2, 1, 1, 60, 500)
    values = [record(CALL).value, record(DATA).value, record(CALL).value]
    assert found.checksum == sum(zlib.crc32(b"S1" + value) for value in values)


def test_a_malformed_record_counts_by_its_reason_alone() -> None:
    found = expect([record(CALL, malformed="not JSON")], 1_000)
    assert (found.refused, found.aggregates, found.events) == ({"not JSON": 1}, {}, 0)


def test_it_finds_the_repetitions_that_the_generator_names() -> None:
    records = list(generated(GeneratorSpec(events=3_000, duplicate_share=0.1)))
    assert expect(records, 3_600_000).repeated == sum(one.repeated for one in records) > 0
