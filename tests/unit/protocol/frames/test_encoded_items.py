"""Arrays whose items are written before their message: the same bytes."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.frames.encoded_items import KEPT_PIECES, PART_BYTES, EncodedItems, Items
from protocol.frames.message_codec import encode_response, response_parts
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.primitives import SHARED_BYTES, MessageBuffer


def groups(count: int) -> list[ListedGroup]:
    return [ListedGroup(f"group-{number}", "consumer", "Stable") for number in range(count)]


@pytest.mark.parametrize("version", [0, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, KEPT_PIECES, KEPT_PIECES + 1, 3 * KEPT_PIECES])
def test_items_are_written_as_in_one_go(count: int, version: int) -> None:
    items = Items[ListedGroup](version)
    for one in groups(count):
        items.add(one)
    array = items.array()
    assert len(items) == len(array) == count
    assert isinstance(array, EncodedItems) == (count > KEPT_PIECES)
    answer = ListGroupsResponse(groups=array)
    expected = ListGroupsResponse(groups=groups(count))
    for _ in range(2):  # what is written can be written again
        out = encode_response(answer, version, 7)
        assert out.joined() == encode_response(expected, version, 7).joined()


def test_what_is_written_already_keeps_its_place() -> None:
    plain = groups(4)
    items = Items[ListedGroup](5)
    items.add(plain[0])
    out = MessageBuffer()
    for one in plain[1:3]:
        one.write(out, 5)
    items.add_encoded(bytes(out), 2)
    items.add(plain[3])
    assert len(items) == 4
    answer = encode_response(ListGroupsResponse(groups=items.array()), 5, 7)
    assert answer.joined() == encode_response(ListGroupsResponse(groups=plain), 5, 7).joined()


@pytest.mark.parametrize("count", [0, 1, KEPT_PIECES + 1])
@pytest.mark.parametrize("behind", [0, 1, KEPT_PIECES + 1])
def test_an_array_is_joined_to_another(count: int, behind: int) -> None:
    plain = groups(count + behind + 1)
    items, others = Items[ListedGroup](5), Items[ListedGroup](5)
    for one in plain[:count]:
        items.add(one)
    for one in plain[count:-1]:
        others.add(one)
    items.join(others)
    items.add(plain[-1])
    assert len(items) == len(plain)
    answer = encode_response(ListGroupsResponse(groups=items.array()), 5, 7)
    assert answer.joined() == encode_response(ListGroupsResponse(groups=plain), 5, 7).joined()


def test_long_arrays_are_sent_from_where_they_are() -> None:
    data = b"x" * SHARED_BYTES
    for number in (1, 2):
        parts: Any = response_parts(ListGroupsResponse(groups=EncodedItems(9, [data])), 0, number)
        assert [one for one in parts if one is data] == [data]
        whole = b"".join(parts)
        assert whole[:8] == (len(whole) - 4).to_bytes(4, "big") + number.to_bytes(4, "big")
    short = response_parts(ListGroupsResponse(groups=EncodedItems(9, [data[1:]])), 0, 1)
    assert isinstance(short, MessageBuffer)


@pytest.mark.parametrize("topics", [3, 200])
@pytest.mark.parametrize("partitions", [1, KEPT_PIECES + 1, 3000])
def test_arrays_within_arrays(topics: int, partitions: int) -> None:
    """Short and long ones, as parts that are sent from where they are."""
    outer = Items[OffsetFetchResponseTopics](9)
    plain = []
    for number in range(topics):
        inner = Items[OffsetFetchResponsePartitions](9)
        told = [OffsetFetchResponsePartitions(index, number) for index in range(partitions)]
        for one in told:
            inner.add(one)
        array = inner.array()
        assert inner.pieces == (partitions if partitions <= KEPT_PIECES else 0)
        topic = OffsetFetchResponseTopics(f"t{number}", partitions=array)
        outer.add(topic, 1 + inner.pieces)
        plain.append(OffsetFetchResponseTopics(f"t{number}", partitions=told))

    def answer(array: list[OffsetFetchResponseTopics]) -> MessageBuffer:
        groups = [OffsetFetchResponseGroup("g", array)]
        return encode_response(OffsetFetchResponse(groups=groups), 9, 7)

    written, expected = answer(outer.array()), answer(plain)
    assert written.joined() == expected
    assert written.total_size() == len(expected)
    copied = len(written)
    assert copied <= 4 * PART_BYTES or copied == len(expected) < 8 * PART_BYTES
