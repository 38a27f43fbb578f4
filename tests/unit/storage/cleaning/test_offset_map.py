"""The map of last offsets: exact for every key, bounded."""

from __future__ import annotations

import sys

from storage.cleaning.offset_map import ENTRY_BYTES, KEY_BYTES_MAX, OffsetMap, digest_of


def test_long_keys_stand_for_themselves_by_their_hash() -> None:
    offsets = OffsetMap(1 << 20, 0.9)
    long, other = b"k" * 500, b"k" * 499 + b"l"
    offsets.by_key[digest_of(long)] = 7
    offsets.by_key[b"short"] = 8
    assert (offsets.get(long), offsets.get(other)) == (7, -1)
    assert (offsets.get(b"short"), offsets.get(b"")) == (8, -1)


def test_no_hash_is_a_short_key() -> None:
    assert len(digest_of(b"x")) > KEY_BYTES_MAX


def test_the_bound_counts_bytes_and_leaves_room_for_one() -> None:
    offsets = OffsetMap(10 * ENTRY_BYTES, 0.5)
    for number in range(5):
        assert not offsets.is_full
        offsets.by_key[bytes([number])] = number
    assert offsets.is_full
    assert not OffsetMap(0, 0.9).is_full


def test_an_entry_takes_no_more_than_is_counted() -> None:
    count = 50_000
    by_key = {b"%031d" % number: (1 << 40) + number for number in range(count)}
    entries = sum(sys.getsizeof(key) + sys.getsizeof(offset) for key, offset in by_key.items())
    assert (entries + sys.getsizeof(by_key)) / count <= ENTRY_BYTES
