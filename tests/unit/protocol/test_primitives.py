from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol import primitives as p
from protocol.errors import ProtocolError

Reader = Callable[[memoryview, int], tuple[Any, int]]


class OnDisk:
    """Records that a test keeps apart, as `storage.log.file_records` does."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read(self) -> bytes:
        return self.data


def read(reader: Reader, data: bytes) -> Any:
    """What `reader` makes of `data`, all of which it must take; with a byte before and after."""
    value, end = reader(memoryview(b"\x7f" + data + b"\x7f"), 1)
    assert end == 1 + len(data)
    return value


def refused(reader: Callable[..., object], data: bytes, *more: int) -> bool:
    try:
        reader(memoryview(data), 0, *more)
    except ProtocolError:
        return True
    return False


VARINTS = {
    0: "00",
    1: "01",
    127: "7f",
    128: "8001",
    300: "ac02",
    16_383: "ff7f",
    16_384: "808001",
    2**32 - 1: "ffffffff0f",
}


@pytest.mark.parametrize("value", VARINTS)
def test_unsigned_varints(value: int) -> None:
    assert p.uvarint(value).hex() == VARINTS[value]
    assert read(p.read_uvarint, bytes.fromhex(VARINTS[value])) == value


def test_a_varint_may_be_padded_but_not_longer_than_five_bytes() -> None:
    assert read(p.read_uvarint, b"\x81\x80\x80\x80\x00") == 1
    assert refused(p.read_uvarint, b"\x81\x80\x80\x80\x80\x00")


def test_bits_of_a_varint_beyond_32_are_dropped() -> None:
    assert read(p.read_uvarint, b"\xff\xff\xff\xff\x7f") == 2**32 - 1
    assert read(p.read_uvarint, b"\x82\x80\x80\x80\x70") == 2


STRINGS: list[tuple[Reader, Callable[..., bytes], str | None, bytes]] = [
    (p.read_string, p.string, "", b"\0\0"),
    (p.read_string, p.string, "Öl", b"\0\x03\xc3\x96l"),
    (p.read_nullable_string, p.nullable_string, "a", b"\0\x01a"),
    (p.read_nullable_string, p.nullable_string, None, b"\xff\xff"),
    (p.read_compact_string, p.compact_string, "", b"\x01"),
    (p.read_compact_string, p.compact_string, "Öl", b"\x04\xc3\x96l"),
    (p.read_compact_string, p.compact_string, "x" * 200, b"\xc9\x01" + b"x" * 200),
    (p.read_compact_nullable_string, p.compact_nullable_string, "a", b"\x02a"),
    (
        p.read_compact_nullable_string,
        p.compact_nullable_string,
        "x" * 127,
        b"\x80\x01" + b"x" * 127,
    ),
    (p.read_compact_nullable_string, p.compact_nullable_string, None, b"\0"),
]


@pytest.mark.parametrize(("reader", "writer", "value", "data"), STRINGS)
def test_strings(
    reader: Reader, writer: Callable[..., bytes], value: str | None, data: bytes
) -> None:
    assert writer(value) == data
    assert read(reader, data) == value


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (p.read_string, b"\0\x02a"),  # one byte short
        (p.read_string, b"\xff\xff"),  # null
        (p.read_string, b"\x80\0"),
        (p.read_nullable_string, b"\0\x02a"),
        (p.read_compact_string, b"\x03a"),
        (p.read_compact_string, b"\0"),  # null
        (p.read_compact_nullable_string, b"\x03a"),
        (p.read_compact_string, b"\xff\xff\xff\xff\x0fa"),
        (p.read_compact_nullable_string, b"\x80\x80\x80\x80\x08a"),  # 2^31 - 1
    ],
)
def test_a_wrong_string_length_is_refused(reader: Reader, data: bytes) -> None:
    assert refused(reader, data)


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (p.read_nullable_string, b"\xff\xfe"),
        (p.read_nullable_string, b"\x80\0"),
        (p.read_compact_nullable_string, b"\xff\xff\xff\xff\x0f"),
        (p.read_compact_nullable_string, b"\x81\x80\x80\x80\x08"),
        (p.read_nullable_records, b"\xff\xff\xff\xfe"),
        (p.read_nullable_bytes, b"\x80\0\0\0"),
        (p.read_compact_nullable_records, b"\xff\xff\xff\xff\x0f"),
        (p.read_compact_nullable_bytes, b"\x81\x80\x80\x80\x08"),
    ],
)
def test_every_negative_length_is_null(reader: Reader, data: bytes) -> None:
    assert read(reader, data) is None


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    data, replaced = b"caf\xe9 \xed\xa0\x80", "caf\ufffd \ufffd"
    classic, compact = len(data).to_bytes(2) + data, bytes([len(data) + 1]) + data
    assert read(p.read_string, classic) == read(p.read_nullable_string, classic) == replaced
    assert read(p.read_compact_string, compact) == replaced
    assert read(p.read_compact_nullable_string, compact) == replaced


@pytest.mark.parametrize("reader", [p.read_compact_string, p.read_compact_nullable_string])
def test_a_compact_string_is_as_long_at_most_as_a_classic_one(reader: Reader) -> None:
    longest = p.uvarint(32_767 + 1) + b"x" * 32_767
    assert len(read(reader, longest)) == 32_767
    assert refused(reader, p.uvarint(32_768 + 1) + b"x" * 32_768)


@pytest.mark.parametrize("writer", [p.string, p.compact_string])
def test_no_string_is_written_that_could_not_be_read(writer: Callable[[str], bytes]) -> None:
    assert len(writer("\ufffd" * 10_922)) > 32_766
    with pytest.raises(p.StringTooLong, match="32769 bytes is too long"):
        writer("\ufffd" * 10_923)


BYTES: list[tuple[Reader, bytes | None, bytes]] = [
    (p.read_bytes, b"ab", b"\0\0\0\x02ab"),
    (p.read_nullable_bytes, b"", b"\0\0\0\0"),
    (p.read_nullable_bytes, None, b"\xff\xff\xff\xff"),
    (p.read_compact_bytes, b"ab", b"\x03ab"),
    (p.read_compact_nullable_bytes, b"x" * 127, b"\x80\x01" + b"x" * 127),
    (p.read_compact_nullable_bytes, None, b"\0"),
]


@pytest.mark.parametrize(("reader", "value", "data"), BYTES)
def test_bytes_are_copied(reader: Reader, value: bytes | None, data: bytes) -> None:
    found = read(reader, data)
    assert found == value
    assert found is None or type(found) is bytes


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (p.read_records, b"\0\0\0\x02ab"),
        (p.read_nullable_records, b"\0\0\0\x02ab"),
        (p.read_compact_records, b"\x03ab"),
        (p.read_compact_nullable_records, b"\x03ab"),
    ],
)
def test_records_are_a_view_of_what_was_received(reader: Reader, data: bytes) -> None:
    received = bytearray(data)
    records, _ = reader(memoryview(received), 0)
    received[-1] = ord("z")
    assert bytes(records) == b"az"


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (p.read_bytes, b"\xff\xff\xff\xff"),  # null
        (p.read_bytes, b"\0\0\0\x02a"),
        (p.read_records, b"\xff\xff\xff\xff"),  # null
        (p.read_nullable_records, b"\0\0\0\x02a"),
        (p.read_records, b"\xff\xff\xff\xfe"),
        (p.read_compact_bytes, b"\0"),  # null
        (p.read_compact_records, b"\0"),  # null
        (p.read_compact_nullable_records, b"\x03a"),
        (p.read_compact_bytes, b"\xff\xff\xff\xff\x0fa"),
        (p.read_compact_nullable_bytes, b"\x80\x80\x80\x80\x08a"),  # 2^31 - 1
    ],
)
def test_a_wrong_length_of_bytes_is_refused(reader: Reader, data: bytes) -> None:
    assert refused(reader, data)


@pytest.mark.parametrize(
    ("writer", "head", "null"),
    [(p.write_records, "00000002", "ffffffff"), (p.write_compact_records, "03", "00")],
)
def test_records_are_written_copied_or_spliced(
    writer: Callable[[p.MessageBuffer, p.Records | None], None], head: str, null: str
) -> None:
    for records in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
        out = p.MessageBuffer()
        writer(out, records)
        assert out.parts() == [bytes.fromhex(head) + b"ab"]
    out, on_disk = p.MessageBuffer(), OnDisk(b"ab")
    writer(out, on_disk)
    assert out.parts() == [bytes.fromhex(head), on_disk]
    out = p.MessageBuffer()
    writer(out, None)
    assert bytes(out).hex() == null


def test_a_buffer_keeps_slices_apart_and_in_their_place() -> None:
    out, first, second, last = p.MessageBuffer(), OnDisk(b"11"), OnDisk(b"222"), OnDisk(b"4")
    out += b"a"
    out.splice(first)
    out.splice(second)
    out += b"bc"
    out.splice(last)
    assert out.parts() == [b"a", first, second, b"bc", last]
    assert out.joined() == b"a11222bc4"
    assert out.total_size() == 9


def test_a_buffer_without_slices_is_one_part_and_an_empty_one_none() -> None:
    out = p.MessageBuffer()
    assert (out.parts(), out.joined(), out.total_size()) == ([], b"", 0)
    out += b"abc"
    assert (out.parts(), out.joined(), out.total_size()) == ([b"abc"], b"abc", 3)


def test_array_lengths() -> None:
    assert p.array_length(2) == b"\0\0\0\x02"
    assert p.array_length(-1) == b"\xff\xff\xff\xff"
    items = memoryview(bytes(200))
    assert p.read_array_length(memoryview(b"\0\0\0\x02" + bytes(8)), 0, 4) == (2, 4)
    assert p.read_array_length(memoryview(b"\xff\xff\xff\xff"), 0, 4) == (-1, 4)
    assert p.read_compact_array_length(memoryview(b"\x03" + bytes(8)), 0, 4) == (2, 1)
    assert p.read_compact_array_length(memoryview(b"\0"), 0, 4) == (-1, 1)
    long = memoryview(p.uvarint(201) + items)
    assert p.read_compact_array_length(long, 0, 1) == (200, 2)


def test_an_array_length_is_held_against_the_bytes_that_are_there() -> None:
    assert refused(p.read_array_length, b"\0\0\0\x02" + bytes(7), 4)
    assert refused(p.read_array_length, b"\x7f\xff\xff\xff" + bytes(7), 1)
    assert refused(p.read_compact_array_length, b"\x03" + bytes(7), 4)
    assert refused(p.read_compact_array_length, b"\x80\x80\x80\x80\x08" + bytes(7), 1)


def test_every_negative_array_length_is_null() -> None:
    assert p.read_array_length(memoryview(b"\xff\xff\xff\xfe"), 0, 4)[0] < 0
    assert p.read_array_length(memoryview(b"\x80\0\0\0"), 0, 4)[0] < 0
    assert p.read_compact_array_length(memoryview(b"\xff\xff\xff\xff\x0f"), 0, 4) == (-1, 5)
    assert p.read_compact_array_length(memoryview(b"\x81\x80\x80\x80\x08"), 0, 4) == (-1, 5)


def test_a_null_array_is_refused_where_it_may_not_be_null() -> None:
    with pytest.raises(ProtocolError, match="array that may not be null"):
        p.refuse_null_array()


def test_tagged_fields_are_written_with_their_sizes_and_passed_over() -> None:
    one, two = p.MessageBuffer(), p.MessageBuffer()
    one += b"abc"
    two += b"d" * 130
    out = p.MessageBuffer()
    p.write_tagged_fields(out, [(0, one), (300, two)])
    assert bytes(out) == b"\x02" + b"\0\x03abc" + b"\xac\x02\x82\x01" + b"d" * 130
    assert p.skip_tagged_fields(memoryview(bytes(out) + b"next"), 0) == len(out)
    assert p.read_tag(memoryview(out), 1) == (0, 3, 3)


def test_a_tagged_field_that_is_passed_over_and_ends_behind_the_bytes_is_refused() -> None:
    assert refused(p.skip_tagged_fields, b"\x02\0\x01a\x01\x02b")
    assert refused(p.skip_tagged_fields, b"\x01\0\xff\xff\xff\xff\x0fa")


def test_unknown_tagged_fields_with_long_varints_are_passed_over() -> None:
    tags = (1, 127, 128, 16_383, 16_384, 2**31)
    out = p.uvarint(3 * len(tags))
    for tag in tags:
        for size in (0, 127, 16_384):
            out += p.uvarint(tag) + p.uvarint(size) + bytes(size)
    assert p.skip_tagged_fields(memoryview(out + b"next"), 0) == len(out)
    for cut in (1, 16_384, 16_385, len(out) - 1):
        with pytest.raises((ProtocolError, IndexError)):
            p.skip_tagged_fields(memoryview(out)[:-cut], 0)


def test_a_negative_count_of_tagged_fields_is_refused() -> None:
    assert refused(p.read_tag_count, b"\x80\x80\x80\x80\x08")
    assert refused(p.skip_tagged_fields, b"\xff\xff\xff\xff\x0fnext")


def test_more_than_ten_thousand_tagged_fields_are_refused_as_in_kafka() -> None:
    most = p.uvarint(p.TAGGED_FIELDS_MAX) + b"\x05\0" * p.TAGGED_FIELDS_MAX
    assert p.skip_tagged_fields(memoryview(most), 0) == len(most)
    more = p.uvarint(p.TAGGED_FIELDS_MAX + 1) + b"\x05\0" * (p.TAGGED_FIELDS_MAX + 1)
    assert refused(p.skip_tagged_fields, more)
    assert refused(p.read_tag_count, b"\xff\xff\xff\xff\x07")


def test_an_array_of_more_than_a_million_items_is_refused_as_in_kafka() -> None:
    most, more = (bytes(count) for count in (p.ARRAY_LENGTH_MAX, p.ARRAY_LENGTH_MAX + 1))
    assert p.read_array_length(memoryview(len(most).to_bytes(4) + most), 0, 1)[0] == len(most)
    compact = p.uvarint(len(most) + 1) + most
    assert p.read_compact_array_length(memoryview(compact), 0, 1)[0] == len(most)
    for data in (len(more).to_bytes(4) + more, p.uvarint(len(more) + 1) + more):
        reader = p.read_array_length if data[:1] == b"\0" else p.read_compact_array_length
        with pytest.raises(ProtocolError, match="array length 1000001 is over the limit"):
            reader(memoryview(data), 0, 1)


def test_uuids_for_people() -> None:
    text = "AAAAAAAAAAAAAAAAAAAAAQ"  # Kafka's METADATA_TOPIC_ID
    assert p.uuid_to_string(bytes(15) + b"\x01") == text
    assert p.uuid_from_string(text) == bytes(15) + b"\x01"
    assert p.uuid_to_string(b"\xff" * 16) == "_" * 21 + "w"
    assert p.uuid_to_string(p.ZERO_UUID) == "A" * 22


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 24])
def test_what_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a UUID"):
        p.uuid_from_string(text)
