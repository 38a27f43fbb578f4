"""Answers that say an error: made from the request alone, or put into an answer that there is.

`refusing` makes the answer to a request that is not carried out. Where only the real answer knows
all that was asked for (`places.Real`), the request is carried out, which changes nothing, and
`put_into` sets the error there. Whether a version can say it is found by writing and reading it.
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
from testbed.faults.places import Real, Refused, Top, Way
from testbed.faults.subjects import NameOf, topic_of

Refusal = Callable[[Any, ErrorCode], Any]
Concerns = Callable[[str | None], bool]

TEXT = "asked for by a test"
"""What an answer says beside its error, where it has room for it."""

_CODES = ("error_code", "partition_error_code")
_TOPICS = ("responses", "topics")
_RENAMED = {"partition_index": "partition", "user": "name", "partition_id": "partition_index"}
"""Fields of an answer, by the names that requests have for them."""
_OF_SCALARS = ("partition_index", "partition_id", "name")
"""Fields that an element of a plain list stands for."""
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
"""What an answer goes on to say of something that has an error."""
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
    """The answer that says `error` in this way; None where this version cannot say it so, or the
    request is about nothing. Raises ProtocolError where a refusal closes the connection."""
    assert not isinstance(way, Real), "what Real is put into comes from the API"
    response: Message
    if isinstance(way, Refused):
        response = refusal(request, error)
    elif isinstance(way, Top):
        response = _failing(messages_of(api).response(), error)
    else:
        response = _mirror(messages_of(api).response, request, way.path, error)
    return response if says(api, version, response, error) else None


def put_into(
    response: Message,
    path: tuple[str, ...],
    error: ErrorCode,
    concerns: Concerns,
    name_of: NameOf,
) -> int:
    """Set `error` in what lies at `path` and belongs to a topic that `concerns` means, which says
    nothing else then; how many there were."""
    count = 0
    for owner in list(_at(response, path[:-1])):
        items = getattr(owner, path[-1], None) or []
        for index, item in enumerate(items):
            topic = owner if len(path) > 1 and path[-2] in _TOPICS else item
            if concerns(topic_of(topic, name_of)):
                items[index] = _failed(item, error)
                count += 1
    return count


def has(response: Message, path: tuple[str, ...]) -> bool:
    """Whether an answer has anything at `path`."""
    return any(True for _ in _at(response, path))


def says(api: ApiKey, version: int, response: Message, error: ErrorCode) -> bool:
    """Whether `response` still says `error` when it has been on the wire in this version."""
    frame = encode_response(response, version, 0).joined()
    _, read = decode_response(api, memoryview(frame)[4:], version)
    return any(code == error for _, code in errors_in(read))


def errors_in(message: Message, path: str = "") -> Iterator[tuple[str, int]]:
    """All errors of an answer, with the fields that lead to them: `topics.partitions`."""
    for field in message.__slots__:
        value = getattr(message, field)
        if field in _CODES and value:
            yield path, value
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, Message):
                    yield from errors_in(one, f"{path}.{field}" if path else field)


def joined(first: Message, second: Message) -> Message:
    """One answer from the answers to two halves of a request."""
    lists = {
        field: [*getattr(first, field), *getattr(second, field)]
        for field in first.__slots__
        if isinstance(getattr(first, field), list)
    }
    return replace(first, **lists)


def _at(message: Message, path: Sequence[str]) -> Iterator[Message]:
    """The messages at the end of these lists."""
    if not path:
        yield message
        return
    for one in getattr(message, path[0], None) or ():
        yield from _at(one, path[1:])


def _failing(message: Message, error: ErrorCode) -> Message:
    """The same message with this error."""
    said: dict[str, Any] = {
        field: int(error) if field in _CODES else TEXT
        for field in message.__slots__
        if field in _CODES or field == "error_message"
    }
    return replace(message, **said)


def _failed(item: Message, error: ErrorCode) -> Message:
    """What an answer says of `item` when that has this error."""
    kept = {field: getattr(item, field) for field in item.__slots__ if field in _KEPT}
    unknown = {field: _NOTHING_KNOWN[field] for field in item.__slots__ if field in _NOTHING_KNOWN}
    return _failing(type(item)(**{**kept, **unknown}), error)


def _mirror(made: type[Message], asked: object, path: Sequence[str], error: ErrorCode) -> Message:
    """A message of class `made` about what `asked` is about; the error stands at the end of
    `path`."""
    fields: dict[str, Any] = {}
    if isinstance(asked, Message):
        for field in made.__slots__:
            name = field if hasattr(asked, field) else _RENAMED.get(field, field)
            value = getattr(asked, name, None)
            if value is not None and not isinstance(value, list):
                fields[field] = value
    else:
        fields[next(field for field in made.__slots__ if field in _OF_SCALARS)] = asked
    if not path:
        return _failing(made(**fields), error)
    answered, _, listed = path[0].partition("<")
    item = _item_class(made, answered)
    sources = getattr(asked, listed or answered, None) or ()
    fields[answered] = [_mirror(item, one, path[1:], error) for one in sources]
    return made(**fields)


def _item_class(message: type[Message], field: str) -> type[Message]:
    """The class of what a message lists in this field."""
    hints = typing.get_type_hints(message.__init__, vars(sys.modules[message.__module__]))
    hint = hints[field]
    if isinstance(hint, types.UnionType):
        hint = next(arm for arm in typing.get_args(hint) if arm is not type(None))
    (item,) = typing.get_args(hint)
    assert issubclass(item, Message), f"{message.__name__}.{field} lists no messages"
    return typing.cast(type[Message], item)
