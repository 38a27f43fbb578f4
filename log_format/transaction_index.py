"""The `.txnindex` of a segment: the aborted transactions whose markers are in the segment.

Owns the file's format. Never decides which records a reader skips, and never opens a file.

Format of Kafka's `TransactionIndex` and `AbortedTxn`: 34 bytes an entry, big-endian: int16 version
(0), int64 producer id, first offset, last offset (the marker's), last stable offset at that time.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

_VERSION = 0
_ENTRY = Struct(">hqqqq")


class AbortedTxn(NamedTuple):
    """An aborted transaction, from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode_transactions(transactions: Iterable[AbortedTxn]) -> bytes:
    """Return the transactions' entries: a file's content, or the bytes to append to it."""
    return b"".join(_ENTRY.pack(_VERSION, *transaction) for transaction in transactions)


def decode_transactions(data: bytes) -> list[AbortedTxn] | None:
    """Return the entries; None: the file is damaged or of another version."""
    if len(data) % _ENTRY.size:
        return None
    entries: list[AbortedTxn] = []
    for version, *fields in _ENTRY.iter_unpack(data):
        entry = AbortedTxn(*fields)
        if version != _VERSION or not 0 <= entry.first_offset <= entry.last_offset:
            return None
        if entries and entry.last_offset <= entries[-1].last_offset:
            return None
        entries.append(entry)
    return entries
