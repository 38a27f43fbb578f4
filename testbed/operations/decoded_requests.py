"""Requests as clients sent them, decoded: fields by Kafka's names in snake case, and the records of
a Produce one by one.

Never keeps any request: `testbed.sent_requests` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from ottla.testing.frames import Json
from protocol.api_keys import ApiKey, messages_of
from protocol.compression import Codec
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode, read_request_header, skip_header_tags
from protocol.message import Message
from protocol.primitives import ZERO_UUID
from protocol.record_batch import CorruptBatch, iterate_batches
from protocol.records import iterate_records
from testbed.operation_error import OperationError
from testbed.sent_requests import SentRequest

Names = Callable[[bytes], str | None]
"""A function that returns the name of a topic id; None if the broker has no such topic."""


def api_key(name: str) -> ApiKey:
    """Return the API of a name such as `Produce` or `INIT_PRODUCER_ID`, in any case. Raises
    OperationError for an unknown name, with a similar one."""
    by_name = {key.name.replace("_", "").lower(): key for key in ApiKey}
    api = by_name.get(name.replace("_", "").lower())
    if api is None:
        like = did_you_mean(name, [pascal(key) for key in ApiKey])
        raise OperationError("misuse", f"there is no API {name}{like}")
    return api


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return words to add to the message about a wrong name, empty if no known name is similar."""
    close = get_close_matches(name, list(known_names), 1)
    return f"; did you mean {close[0]}?" if close else ""


def pascal(key: ApiKey) -> str:
    """Return Kafka's name of an API, such as `InitProducerId`."""
    return key.name.title().replace("_", "")


def decoded(
    requests: Iterable[SentRequest],
    topic_name: Names,
    api: str | None = None,
    topic: str | None = None,
    client_id: str | None = None,
    after: int = 0,
) -> list[dict[str, Json]]:
    """Return the requests with a number above `after`, of one API, topic or client id if it is
    given, as `shown_request` shows them. Raises OperationError for an unknown API."""
    key = None if api is None else api_key(api)
    shown_requests = []
    for sent in requests:
        if sent.number <= after or (key is not None and int.from_bytes(sent.frame[:2]) != key):
            continue
        if client_id is not None and _client_id(sent) != client_id:
            continue
        shown = shown_request(sent, topic_name)
        if topic is None or _names(shown["request"], topic):
            shown_requests.append(shown)
    return shown_requests


def shown_request(sent: SentRequest, topic_name: Names) -> dict[str, Json]:
    """Return one request as JSON values: its header, sender, time and size, and its fields as
    "request". If it cannot be decoded, "request" is null and "error" says why."""
    shown: dict[str, Json] = {
        "number": sent.number,
        "time_ms": sent.time_ms,
        "connection": sent.connection,
        "principal": sent.principal,
        "size": sent.size,
        "prepared": sent.prepared,
        "api": None,
        "version": None,
        "client_id": None,
        "correlation_id": None,
        "request": None,
        "error": None,
    }
    frame = memoryview(sent.frame)
    try:
        number, version, correlation_id, client_id, at = read_request_header(frame)
        shown |= {"version": version, "client_id": client_id, "correlation_id": correlation_id}
        key = ApiKey(number)
        shown["api"] = pascal(key)
        if sent.size > len(frame):
            shown["error"] = f"{sent.size} bytes: too long to be kept"
            return shown
        message = messages_of(key).request
        if not message.MIN_VERSION <= version <= message.MAX_VERSION:
            shown["error"] = f"version {version} is not known"
            return shown
        if version >= message.FLEXIBLE_FROM:
            at = skip_header_tags(frame, at)
        shown["request"] = _json_value(decode(message, frame, at, version), topic_name)
    except (ProtocolError, ValueError) as error:
        shown["error"] = str(error)
    return shown


def _client_id(sent: SentRequest) -> str | None:
    """Return the request's client id; None if it has none, or if its header cannot be read."""
    try:
        return read_request_header(memoryview(sent.frame))[3]
    except ProtocolError:
        return None


def _json_value(value: Json, topic_name: Names) -> Json:
    """Return a field's value for the test's process: a message as a dict, a list or tuple as a
    list, a view of bytes as bytes. Other values stay. A message's topic ids become
    names by `topic_name`."""
    if isinstance(value, Message):
        return _json_fields(value, topic_name)
    if isinstance(value, list | tuple):
        return [_json_value(item, topic_name) for item in value]
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return value


def _json_fields(message: Message, topic_name: Names) -> dict[str, Json]:
    """Return a message's fields as a dict.

    In place of `records` there are decoded "batches", and an empty topic name is looked up by the
    topic's id.
    """
    fields: dict[str, Json] = {}
    for name in type(message).__slots__:
        value = getattr(message, name)
        if name == "records":
            fields["batches"] = _batches(value)
        else:
            fields[name] = _json_value(value, topic_name)
    topic_id = fields.get("topic_id")
    if topic_id and topic_id != ZERO_UUID:
        for field in ("name", "topic"):
            if fields.get(field) == "":
                fields[field] = topic_name(topic_id)
    return fields


def _batches(records: bytes | memoryview | None) -> list[dict[str, Json]]:
    """Return the batches of a Produce with their records. At a batch that cannot be read, the list
    ends with an entry that has the error."""
    batches: list[dict[str, Json]] = []
    if not records:
        return batches
    try:
        for at, batch in iterate_batches(records):
            shown: dict[str, Json] = {
                "compression": Codec(batch.compression).name.lower(),
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "base_sequence": batch.base_sequence,
                "is_transactional": batch.is_transactional,
                "size": batch.size_in_bytes,
                "records": [],
            }
            batches.append(shown)
            for record in iterate_records(records, at):
                shown["records"].append(
                    {
                        "timestamp": record.timestamp,
                        "key": record.key,
                        "value": record.value,
                        "headers": [[name, value] for name, value in record.headers],
                    }
                )
    except CorruptBatch as error:
        batches.append({"error": str(error), "records": []})
    return batches


def _names(value: Json, topic: str) -> bool:
    """Return whether a decoded request has this name as a topic: in a field `name` or `topic`, or
    as an element of a list, at any depth."""
    if isinstance(value, dict):
        if value.get("name") == topic or value.get("topic") == topic:
            return True
        return any(_names(item, topic) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return any(item == topic or _names(item, topic) for item in value)
    return False
