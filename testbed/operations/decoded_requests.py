"""Requests as clients sent them, decoded: Kafka's names of fields, in snake case, and the records
of a Produce one by one.

Never keeps anything: `testbed.sent_requests` does.
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
"""The topic of an id; None where it is not known."""


def api_key(name: str) -> ApiKey:
    """By Kafka's name of an API, such as `Produce` or `INIT_PRODUCER_ID`, in any case."""
    known = {key.name.replace("_", "").lower(): key for key in ApiKey}
    found = known.get(name.replace("_", "").lower())
    if found is None:
        like = did_you_mean(name, [pascal(key) for key in ApiKey])
        raise OperationError("misuse", f"there is no API {name}{like}")
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Words behind a wrong name, where one that is known is like it."""
    close = get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def pascal(key: ApiKey) -> str:
    """Kafka's name of an API."""
    return key.name.title().replace("_", "")


def decoded(
    requests: Iterable[SentRequest],
    topic_name: Names,
    api: str | None = None,
    topic: str | None = None,
    client_id: str | None = None,
    after: int = 0,
) -> list[dict[str, Json]]:
    """Those of an API, of a topic, of a client id, and with a number above `after`."""
    key = None if api is None else api_key(api)
    found = []
    for one in requests:
        if one.number <= after or (key is not None and int.from_bytes(one.frame[:2]) != key):
            continue
        if client_id is not None and _client_id(one) != client_id:
            continue
        shown = shown_request(one, topic_name)
        if topic is None or _names(shown["request"], topic):
            found.append(shown)
    return found


def shown_request(one: SentRequest, topic_name: Names) -> dict[str, Json]:
    """One request; where its bytes are none, "request" is null and "error" says why."""
    shown: dict[str, Json] = {
        "number": one.number,
        "time_ms": one.time_ms,
        "connection": one.connection,
        "principal": one.principal,
        "size": one.size,
        "prepared": one.prepared,
        "api": None,
        "version": None,
        "client_id": None,
        "correlation_id": None,
        "request": None,
        "error": None,
    }
    frame = memoryview(one.frame)
    try:
        number, version, correlation_id, client_id, at = read_request_header(frame)
        shown |= {"version": version, "client_id": client_id, "correlation_id": correlation_id}
        key = ApiKey(number)
        shown["api"] = pascal(key)
        if one.size > len(frame):
            shown["error"] = f"{one.size} bytes: too long to be kept"
            return shown
        message = messages_of(key).request
        if not message.MIN_VERSION <= version <= message.MAX_VERSION:
            shown["error"] = f"version {version} is not known"
            return shown
        if version >= message.FLEXIBLE_FROM:
            at = skip_header_tags(frame, at)
        shown["request"] = _value(decode(message, frame, at, version), topic_name)
    except (ProtocolError, ValueError) as error:
        shown["error"] = str(error)
    return shown


def _client_id(one: SentRequest) -> str | None:
    try:
        return read_request_header(memoryview(one.frame))[3]
    except ProtocolError:
        return None


def _value(value: Json, topic_name: Names) -> Json:
    if isinstance(value, Message):
        return _fields(value, topic_name)
    if isinstance(value, list | tuple):
        return [_value(one, topic_name) for one in value]
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return value


def _fields(message: Message, topic_name: Names) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in type(message).__slots__:
        value = getattr(message, name)
        if name == "records":
            found["batches"] = _batches(value)
        else:
            found[name] = _value(value, topic_name)
    topic_id = found.get("topic_id")
    if topic_id and topic_id != ZERO_UUID:
        for field in ("name", "topic"):
            if found.get(field) == "":
                found[field] = topic_name(topic_id)
    return found


def _batches(records: bytes | memoryview | None) -> list[dict[str, Json]]:
    """The batches of a Produce, as far as they can be read; then what is wrong with the rest."""
    found: list[dict[str, Json]] = []
    if not records:
        return found
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
            found.append(shown)
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
        found.append({"error": str(error), "records": []})
    return found


def _names(value: Json, topic: str) -> bool:
    """Whether a topic of that name is somewhere in a request."""
    if isinstance(value, dict):
        if value.get("name") == topic or value.get("topic") == topic:
            return True
        return any(_names(one, topic) for one in value.values() if isinstance(one, dict | list))
    if isinstance(value, list):
        return any(one == topic or _names(one, topic) for one in value)
    return False
