"""The `.txnindex` of a segment: the aborted transactions whose markers lie in it.

Owns: the file's format. Never: decides what a reader is to skip, or keeps a file open.

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
    """One aborted transaction, from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode_transactions(transactions: Iterable[AbortedTxn]) -> bytes:
    """The file's content, or the bytes to add to it."""
    return b"".join(_ENTRY.pack(_VERSION, *one) for one in transactions)


def decode_transactions(data: bytes) -> list[AbortedTxn] | None:
    """The entries; None when the file is damaged or of another version."""
    if len(data) % _ENTRY.size:
        return None
    found: list[AbortedTxn] = []
    for version, *fields in _ENTRY.iter_unpack(data):
        entry = AbortedTxn(*fields)
        if version != _VERSION or not 0 <= entry.first_offset <= entry.last_offset:
            return None
        if found and entry.last_offset <= found[-1].last_offset:
            return None
        found.append(entry)
    return found
