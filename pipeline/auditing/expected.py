"""What a topic and its aggregates must hold, computed from the generator's seed without Spark.

The second, independent path: it takes the truth that the generator knows, drops repeated events by
their id, and adds up whole numbers. It reads no JSON, no topic and no table.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.generator import CALL, Generated

CELL, SUBSCRIBER = "cell", "subscriber"

AggregateKey = tuple[str, str, int]
"""cell or subscriber, which, the window's start in ms since 1970."""
Sums = tuple[int, int, int, int, int]
"""events, calls, drops, seconds, bytes."""


@dataclass(slots=True)
class Expected:
    """Counts and sums over all records of a spec."""

    records: int = 0
    checksum: int = 0
    """Sum of the CRC-32 of key and value of each record."""
    repeated: int = 0
    events: int = 0
    """Good ones, each once."""
    refused: Counter[str] = field(default_factory=Counter)
    """Malformed records by reason."""
    aggregates: dict[AggregateKey, Sums] = field(default_factory=dict)

    def totals(self) -> Sums:
        """Over all cells."""
        rows = [sums for (kind, _, _), sums in self.aggregates.items() if kind == CELL]
        first, second, third, fourth, fifth = (sum(column) for column in zip(*rows, strict=True))
        return first, second, third, fourth, fifth


def expect(records: Iterable[Generated], window_ms: int) -> Expected:
    """Add up. Windows begin at multiples of `window_ms` since 1970, as Spark's do."""
    found = Expected()
    seen: set[str] = set()
    for record in records:
        found.records += 1
        found.checksum += zlib.crc32(record.key + record.value)
        usage = record.usage
        if record.malformed is not None:
            found.refused[record.malformed] += 1
            continue
        if usage.event_id in seen:
            found.repeated += 1
            continue
        seen.add(usage.event_id)
        found.events += 1
        window = usage.event_time_ms - usage.event_time_ms % window_ms
        one = (1, int(usage.kind == CALL), int(usage.dropped), usage.duration_s, usage.bytes)
        for key in ((CELL, usage.cell, window), (SUBSCRIBER, usage.subscriber, window)):
            old = found.aggregates.get(key, (0, 0, 0, 0, 0))
            found.aggregates[key] = (
                old[0] + one[0],
                old[1] + one[1],
                old[2] + one[2],
                old[3] + one[3],
                old[4] + one[4],
            )
    return found
