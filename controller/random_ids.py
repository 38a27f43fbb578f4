"""Random ids, from randomness that is handed in.

Follows `org.apache.kafka.common.Uuid.randomUuid` and `DirectoryId`.
"""

from __future__ import annotations

from collections.abc import Callable

RandomBytes = Callable[[int], bytes]

_RESERVED_IDS = 100
"""Ids below this mean something: unassigned, lost, migrating, the metadata topic."""


def random_uuid(random_bytes: RandomBytes) -> bytes:
    """A version 4 UUID that is none of the reserved ones and does not print with a leading `-`,
    which tools would take for an option."""
    while True:
        drawn = bytearray(random_bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if drawn[0] >> 2 != 62 and int.from_bytes(drawn, "big") >= _RESERVED_IDS:
            return bytes(drawn)
