"""Arrays whose items are written before their message: the same bytes."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.frames.encoded_items import KEPT_ITEMS, EncodedItems, Items
from protocol.frames.message_codec import encode_response, response_parts
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.primitives import SHARED_BYTES, MessageBuffer


def groups(count: int) -> list[ListedGroup]:
    return [ListedGroup(f"group-{number}", "consumer", "Stable") for number in range(count)]


@pytest.mark.parametrize("version", [0, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, KEPT_ITEMS, KEPT_ITEMS + 1, 3 * KEPT_ITEMS])
def test_items_are_written_as_in_one_go(count: int, version: int) -> None:
    items = Items[ListedGroup](version)
    for one in groups(count):
        items.add(one)
    array = items.array()
    assert len(items) == len(array) == count
    assert isinstance(array, EncodedItems) == (count > KEPT_ITEMS)
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


def test_long_arrays_are_sent_from_where_they_are() -> None:
    data = b"x" * SHARED_BYTES
    for number in (1, 2):
        parts: Any = response_parts(ListGroupsResponse(groups=EncodedItems(9, data)), 0, number)
        assert [one for one in parts if one is data] == [data]
        whole = b"".join(parts)
        assert whole[:8] == (len(whole) - 4).to_bytes(4, "big") + number.to_bytes(4, "big")
    short = response_parts(ListGroupsResponse(groups=EncodedItems(9, data[1:])), 0, 1)
    assert isinstance(short, MessageBuffer)
