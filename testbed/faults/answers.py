"""Responses with an error: made from the request alone, or from the real response.

`refusing` makes the response to a request that is not carried out. If only the real response names
all that was asked for (`places.RealAnswer`), the request is carried out, which changes nothing, and
`put_into` sets the error there. Whether a version has a field for the error is found by encoding
and decoding the response.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_response
from protocol.message import Message, replace
from testbed.faults.places import OwnError, RealAnswer, Top, Way
from testbed.faults.subjects import NameOf, topic_of

Refusal = Callable[[Any, ErrorCode], Any]
Concerns = Callable[[str | None], bool]

TEXT = "asked for by a test"
"""The message of the error, in responses that have a field for it."""

_CODES = ("error_code", "partition_error_code")
_TOPICS = ("responses", "topics")
_RENAMED = {"partition_index": "partition", "user": "name", "partition_id": "partition_index"}
"""Fields of a response, each with the request's name for the same value."""
_OF_SCALARS = ("partition_index", "partition_id", "name")
"""The field of a response's item that takes the element of a request's plain list."""
_KEPT = frozenset(
    {
        "name",
        "topic",
        "topic_id",
        "is_internal",
        "partition_index",
        "log_dir",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    }
)
"""The fields of an item that keep their values when the item has an error."""
_NOTHING_KNOWN: dict[str, Any] = {
    "leader_id": -1,
    "high_watermark": -1,
    "last_stable_offset": -1,
    "log_start_offset": -1,
    "committed_offset": -1,
    "committed_leader_epoch": -1,
}


def refusing(
    way: Way, api: ApiKey, version: int, request: Message, error: ErrorCode, refusal: Refusal
) -> Message | None:
    """Return the response that has `error` in this way; None if this version cannot express it, or
    the request names nothing. `refusal` makes the API's own error response. Raises ProtocolError if
    it closes the connection instead."""
    assert not isinstance(way, RealAnswer), "what Real is put into comes from the API"
    response: Message
    if isinstance(way, OwnError):
        response = refusal(request, error)
    elif isinstance(way, Top):
        response = _failing(messages_of(api).response(), error)
    else:
        response = _mirror(messages_of(api).response, request, way.path, error)
    return response if keeps_error(api, version, response, error) else None


def put_into(
    response: Message,
    path: tuple[str, ...],
    error: ErrorCode,
    concerns: Concerns,
    name_of: NameOf,
) -> int:
    """Replace the items at `path` whose topic `concerns` accepts by items with `error`, without
    their other contents. Changes `response`, and returns how many items were replaced."""
    count = 0
    for owner in list(_at(response, path[:-1])):
        items = getattr(owner, path[-1], None) or []
        for index, item in enumerate(items):
            topic = owner if len(path) > 1 and path[-2] in _TOPICS else item
            if concerns(topic_of(topic, name_of)):
                items[index] = _failed(item, error)
                count += 1
    return count


def has_items(response: Message, path: tuple[str, ...]) -> bool:
    """Return whether a response has at least one item in the lists that `path` names."""
    return any(True for _ in _at(response, path))


def keeps_error(api: ApiKey, version: int, response: Message, error: ErrorCode) -> bool:
    """Return whether `response` still has `error` after encoding and decoding in this version."""
    frame = encode_response(response, version, 0).joined()
    _, read = decode_response(api, memoryview(frame)[4:], version)
    return any(code == error for _, code in errors_in(read))


def errors_in(message: Message, path: str = "") -> Iterator[tuple[str, int]]:
    """Yield the errors of a response, without NONE: the lists that lead to each
    (`topics.partitions`, empty at the top), and its code."""
    for field in message.__slots__:
        value = getattr(message, field)
        if field in _CODES and value:
            yield path, value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Message):
                    yield from errors_in(item, f"{path}.{field}" if path else field)


def joined(first: Message, second: Message) -> Message:
    """Return one response made of the responses to two halves of a request: each list has the items
    of both, the other fields are those of `first`."""
    lists = {
        field: [*getattr(first, field), *getattr(second, field)]
        for field in first.__slots__
        if isinstance(getattr(first, field), list)
    }
    return replace(first, **lists)


def _at(message: Message, path: Sequence[str]) -> Iterator[Message]:
    """Yield the messages to which these fields lead, each a list in the message before; `message`
    itself if the path is empty."""
    if not path:
        yield message
        return
    for item in getattr(message, path[0], None) or ():
        yield from _at(item, path[1:])


def _failing(message: Message, error: ErrorCode) -> Message:
    """Return a copy of the message with this error code, and with TEXT as its error message if it
    has one."""
    fields: dict[str, Any] = {
        field: int(error) if field in _CODES else TEXT
        for field in message.__slots__
        if field in _CODES or field == "error_message"
    }
    return replace(message, **fields)


def _failed(item: Message, error: ErrorCode) -> Message:
    """Return a new item like `item` with this error: its names, ids and replicas are kept, offsets
    and the leader are -1, all other fields have their defaults."""
    kept = {field: getattr(item, field) for field in item.__slots__ if field in _KEPT}
    unknown = {field: _NOTHING_KNOWN[field] for field in item.__slots__ if field in _NOTHING_KNOWN}
    return _failing(type(item)(**{**kept, **unknown}), error)


def _mirror(
    message_class: type[Message], requested: object, path: Sequence[str], error: ErrorCode
) -> Message:
    """Return a message of class `message_class` with the fields that `requested` has too. The lists
    of `path` get an item for each requested one; the items at its end have the error."""
    fields: dict[str, Any] = {}
    if isinstance(requested, Message):
        for field in message_class.__slots__:
            name = field if hasattr(requested, field) else _RENAMED.get(field, field)
            value = getattr(requested, name, None)
            if value is not None and not isinstance(value, list):
                fields[field] = value
    else:
        fields[next(field for field in message_class.__slots__ if field in _OF_SCALARS)] = requested
    if not path:
        return _failing(message_class(**fields), error)
    answered, _, listed = path[0].partition("<")
    item = _item_class(message_class, answered)
    sources = getattr(requested, listed or answered, None) or ()
    fields[answered] = [_mirror(item, source, path[1:], error) for source in sources]
    return message_class(**fields)


def _item_class(message: type[Message], field: str) -> type[Message]:
    """Return the class of the messages that this field lists."""
    hints = typing.get_type_hints(message.__init__, vars(sys.modules[message.__module__]))
    hint = hints[field]
    if isinstance(hint, types.UnionType):
        hint = next(arm for arm in typing.get_args(hint) if arm is not type(None))
    (item,) = typing.get_args(hint)
    assert issubclass(item, Message), f"{message.__name__}.{field} lists no messages"
    return typing.cast(type[Message], item)
