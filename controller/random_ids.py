"""Random ids, from a source of randomness that the caller passes.

Follows `org.apache.kafka.common.Uuid.randomUuid` and `DirectoryId`.
"""

from __future__ import annotations

from collections.abc import Callable

RandomBytes = Callable[[int], bytes]

_RESERVED_IDS = 100
"""Smaller ids have meanings in Kafka: unassigned, lost, migrating, the metadata topic."""


def random_uuid(random_bytes: RandomBytes) -> bytes:
    """Return a version 4 UUID that is not reserved. Its text does not begin with `-`, which tools
    would read as an option."""
    while True:
        drawn = bytearray(random_bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if drawn[0] >> 2 != 62 and int.from_bytes(drawn, "big") >= _RESERVED_IDS:
            return bytes(drawn)
