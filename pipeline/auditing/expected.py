"""The expected content of a topic and its aggregates, computed from the seed without Spark.

Independent of the stream job: takes the usage behind each generated record, drops repeated events
by their id, and adds up whole numbers. Reads no JSON, no topic and no table.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.generator import CALL, Generated

CELL, SUBSCRIBER = "cell", "subscriber"

AggregateKey = tuple[str, str, int]
"""`cell` or `subscriber`, the id of either, and the window's start in ms since 1970."""
Sums = tuple[int, int, int, int, int]
"""The events, calls, dropped calls, seconds and bytes."""


@dataclass(slots=True)
class Expected:
    """Counts and sums over all records of a spec."""

    records: int = 0
    checksum: int = 0
    """The sum of the CRC-32 of key and value of each record."""
    repeated: int = 0
    """Good records whose event an earlier record has."""
    events: int = 0
    """Good events, each once."""
    refused: Counter[str] = field(default_factory=Counter)
    """Malformed records by reason."""
    aggregates: dict[AggregateKey, Sums] = field(default_factory=dict)

    def totals(self) -> Sums:
        """Return the sums over all cells and windows. Raises ValueError if there are no sums."""
        rows = [sums for (kind, _, _), sums in self.aggregates.items() if kind == CELL]
        first, second, third, fourth, fifth = (sum(column) for column in zip(*rows, strict=True))
        return first, second, third, fourth, fifth


def expect(records: Iterable[Generated], window_ms: int) -> Expected:
    """Add up records. Windows begin at multiples of `window_ms` since 1970, as Spark's do."""
    expected = Expected()
    seen: set[str] = set()
    for record in records:
        expected.records += 1
        expected.checksum += zlib.crc32(record.key + record.value)
        usage = record.usage
        if record.malformed is not None:
            expected.refused[record.malformed] += 1
            continue
        if usage.event_id in seen:
            expected.repeated += 1
            continue
        seen.add(usage.event_id)
        expected.events += 1
        window = usage.event_time_ms - usage.event_time_ms % window_ms
        added = (1, int(usage.kind == CALL), int(usage.dropped), usage.duration_s, usage.bytes)
        for key in ((CELL, usage.cell, window), (SUBSCRIBER, usage.subscriber, window)):
            old = expected.aggregates.get(key, (0, 0, 0, 0, 0))
            expected.aggregates[key] = (
                old[0] + added[0],
                old[1] + added[1],
                old[2] + added[2],
                old[3] + added[3],
                old[4] + added[4],
            )
    return expected
