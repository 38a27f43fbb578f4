"""The choice of a decoder for each key and value, and the decoded data.

Kafka's internal topics have decoders of their own. A value that begins with a schema id is decoded
by the schema registry. Any other value is decoded by the schema files of the command line, for one
topic or for all. A value that no decoder applies to stays bytes; if a decoder applies and fails,
`problem` has the reason.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from broker.config.start_error import StartError
from client.records.decoders import METADATA, NONE, OFFSETS, TRANSACTIONS, decode_by, decoder_of
from client.records.decoding import values_of
from command.admin.decode_options import DecodeOptions
from console.answers import ABSENT, Absent
from console.endpoints import Console
from console.messages.decoding.avro import AvroSchema
from console.messages.decoding.decoded_parts import DecodedParts, JsonText, text_of
from console.messages.decoding.protobuf import ProtoFiles
from console.messages.decoding.record_types import type_name
from console.messages.decoding.registry import AVRO, PROTOBUF, Registry, Schema
from console.messages.decoding.registry_login import login_in_file
from console.messages.decoding.wire import (
    HEAD_SIZE,
    Undecodable,
    UnknownSchema,
    framed,
    message_indexes,
    number,
)
from console.messages.shown import (
    LISTED,
    DecodedRecord,
    Limits,
    RecordShown,
    record_shown,
    text_shown,
)
from ottla.launcher import needs_packages
from protocol.record_batch import RecordBatchHeader
from protocol.records import Record

DECODED_BYTES_MAX = 1024 * 1024
"""The size of the largest key or value that is decoded."""
_PARSED_MAX = 200
_FIRST_ID = 1
"""The lowest id that a registry gives to a schema; lower ids are not looked up."""


class Decodes(Protocol):
    """An Avro schema or a Protobuf message type."""

    name: str

    def decode(self, data: bytes) -> object:
        """Return the data as plain Python values. Raises Undecodable."""


class Explained(NamedTuple):
    """A decoded value, and the name of the schema that decoded it."""

    value: object
    schema: str


class Decoding:
    """The decoders of a console process, for all topics."""

    def __init__(self, console: Console) -> None:
        """Read the schema files. Raises StartError if a file is no valid schema."""
        options = console.options.decode
        _check_installed(options)
        self._avro = _by_topic(options.avro, _avro_file)
        files = None if options.descriptors is None else _proto_file(options.descriptors)
        self._messages: dict[str, Decodes] = {}
        if files is not None:
            self._messages = _by_topic(options.messages, files.message)
        self._registry = _registry_of(options)
        self._internal = {kind: decode_by(kind) for kind in (OFFSETS, TRANSACTIONS, METADATA)}
        self._lock = Lock()
        self._parsed: OrderedDict[tuple[int, tuple[int, ...]], Decodes] = OrderedDict()

    def shown(
        self, topic: str, partition: int, record: Record, limits: Limits = LISTED
    ) -> RecordShown:
        """Return the record for the page, with `decoded` if a decoder applies to it."""
        shown = record_shown(partition, record, limits)
        parts = self.parts(topic, record)
        if parts is None:
            return shown
        key, value = (
            ABSENT
            if part is ABSENT or data is None
            else text_shown(text_of(part), len(data), limits.data_bytes)
            for part, data in ((parts.key, record.key), (parts.value, record.value))
        )
        return replace(shown, decoded=DecodedRecord(parts.schema, key, value, parts.problem))

    def decoder_of(self, topic: str) -> TopicDecoder | None:
        """Return the decoder of a topic's records; None: no record of the topic is decoded."""
        is_internal = decoder_of(f"{topic}-0", "") != NONE
        if is_internal or self._file_of(topic) is not None:
            return TopicDecoder(self, topic, is_by_frame=False)
        return None if self._registry is None else TopicDecoder(self, topic, is_by_frame=True)

    def parts(self, topic: str, record: Record) -> DecodedParts | None:
        """Return the decoded key and value of a record; None if no decoder applies to it."""
        kind = decoder_of(f"{topic}-0", "")
        if kind != NONE:
            decoded = self._internal[kind](record)
            if decoded is None:
                return None
            key, value = (ABSENT if part is None else part for part in (decoded.key, decoded.value))
            name = type_name(kind, key)
            own = f"Kafka's own {kind}"
            return DecodedParts(own if name is None else f"{name}, {own}", key, value)
        key, key_schema, _ = self._part(topic, record.key, is_key=True)
        value, schema, problem = self._part(topic, record.value, is_key=False)
        parts = DecodedParts(key_schema if schema is ABSENT else schema, key, value, problem)
        return None if parts == DecodedParts() else parts

    def _part(
        self, topic: str, data: bytes | None, *, is_key: bool
    ) -> tuple[object, str | Absent, str | Absent]:
        """Return the decoded data, the name of its schema, and the reason why it is not decoded,
        each if there is one."""
        if not data or len(data) > DECODED_BYTES_MAX:
            return ABSENT, ABSENT, ABSENT
        try:
            explained = self._explained(topic, data, is_key=is_key)
        except Undecodable as error:
            return ABSENT, ABSENT, str(error)
        return (ABSENT, ABSENT, ABSENT) if explained is None else (*explained, ABSENT)

    def _explained(self, topic: str, data: bytes, *, is_key: bool) -> Explained | None:
        """Return the decoded data; None if no decoder applies. Raises Undecodable."""
        of_topic = None if is_key else self._file_of(topic)
        frame = framed(data) if self._registry is not None else None
        if frame is None or self._registry is None:
            return None if of_topic is None else Explained(_by_file(of_topic, data), of_topic.name)
        try:
            return self._registered(self._registry, *frame)
        except Undecodable as error:
            explained = _without_registry(error, frame.schema_id, data, of_topic)
            if explained is None:
                raise
            return explained

    def _file_of(self, topic: str) -> Decodes | None:
        for schemas in (self._avro, self._messages):
            schema = schemas.get(topic) or schemas.get("")
            if schema is not None:
                return schema
        return None

    def _registered(self, registry: Registry, schema_id: int, payload: bytes) -> Explained:
        if schema_id < _FIRST_ID:
            raise UnknownSchema(f"the registry has no schema {schema_id}")
        schema = registry.schema(schema_id)
        indexes: tuple[int, ...] = ()
        if schema.kind == PROTOBUF:
            indexes, payload = message_indexes(payload)
        elif schema.kind != AVRO:
            try:
                return Explained(_json_text(payload), f"JSON Schema {schema_id}")
            except (ValueError, RecursionError):
                raise Undecodable(
                    f"the value is not JSON, but schema {schema_id} is a JSON Schema"
                ) from None
        with self._lock:
            parsed = self._parsed.get((schema_id, indexes))
            if parsed is None:
                parsed = _parsed(schema, indexes)
                self._parsed[schema_id, indexes] = parsed
                if len(self._parsed) > _PARSED_MAX:
                    self._parsed.popitem(last=False)
        return Explained(parsed.decode(payload), f"{parsed.name}, schema {schema_id}")


@dataclass(frozen=True, slots=True)
class TopicDecoder:
    """The decoder of one topic's records."""

    decoding: Decoding
    topic: str
    is_by_frame: bool
    """Whether only keys and values that begin with a schema id are decoded."""

    def parts(self, record: Record) -> DecodedParts | None:
        """Return the decoded key and value; None if no decoder applies to the record."""
        return self.decoding.parts(self.topic, record)

    def applies_to(self, header: RecordBatchHeader, body: bytes) -> bool:
        """Return whether a record in a batch's unpacked body may be decoded. Raises CorruptBatch.

        Without this check, each topic of a console with a schema registry would be searched slowly.
        """
        if not self.is_by_frame:
            return True
        keys: list[bytes | None] = []
        values = values_of(body, header.record_count, keys)
        return any(data and framed(data) is not None for data in (*values, *keys))


def _without_registry(
    error: Undecodable, schema_id: int, data: bytes, of_topic: Decodes | None
) -> Explained | None:
    """Return a value that the registry cannot decode, decoded by the topic's file or as a number.

    A number of eight bytes may begin with a zero byte, too. None if neither applies.
    """
    if of_topic is not None:
        with suppress(Undecodable):
            return Explained(_by_file(of_topic, data), of_topic.name)
    whole = number(data) if isinstance(error, UnknownSchema) else None
    return (
        None
        if whole is None
        else Explained(whole, f"a number: the registry has no schema {schema_id}")
    )


def _parsed(schema: Schema, indexes: tuple[int, ...]) -> Decodes:
    if schema.kind == PROTOBUF:
        try:
            files = [b64decode(text, validate=True) for text in (*schema.references, schema.text)]
        except ValueError:
            raise Undecodable(
                "the registry returns no Protobuf descriptors: give a file of descriptors with "
                "--proto-descriptors, and the message in it with --proto-message"
            ) from None
        return ProtoFiles(files).message_at(indexes)
    return AvroSchema(schema.text, schema.references)


def _json_text(payload: bytes) -> JsonText:
    """Return valid JSON as its text. Raises ValueError, RecursionError."""
    text = payload.decode()
    json.loads(text)
    return JsonText(text)


def _by_file(schema: Decodes, data: bytes) -> object:
    """Return the decoded value; a value with a schema id in front may be decoded without the id.

    Raises Undecodable.
    """
    try:
        return schema.decode(data)
    except Undecodable:
        if framed(data) is None:
            raise
    payload = data[HEAD_SIZE:]
    if not isinstance(schema, AvroSchema):
        _, payload = message_indexes(payload)
    return schema.decode(payload)


# --- options -------------------------------------------------------------------------------------


def _by_topic(options: tuple[str, ...], make: Callable[[str], Decodes]) -> dict[str, Decodes]:
    """Return the result of `make` for each option `TOPIC=WHAT`, by topic.

    An option without a topic is for all topics, under the key "".

    Raises StartError.
    """
    decoders = {}
    for option in options:
        topic, equals, source = option.partition("=")
        try:
            decoders[topic if equals else ""] = make(source if equals else option)
        except Undecodable as error:
            raise StartError(f"{option}: {error}") from None
    return decoders


def _avro_file(path: str) -> Decodes:
    try:
        return AvroSchema(_read(path).decode())
    except UnicodeDecodeError:
        raise Undecodable("this is not an Avro schema: it is not text") from None


def _proto_file(path: str) -> ProtoFiles:
    try:
        return ProtoFiles.of_set(_read(path))
    except Undecodable as error:
        raise StartError(f"{path}: {error}") from None


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}") from None


def _registry_of(options: DecodeOptions) -> Registry | None:
    """Return the registry of the options, None without one. Raises StartError."""
    login = None
    if options.registry_config is not None:
        if options.registry is None:
            raise StartError("--registry-config needs --registry, the URL of the registry")
        login = login_in_file(options.registry_config)
    return None if options.registry is None else Registry(options.registry, login)


def _check_installed(options: DecodeOptions) -> None:
    needs = {
        ("fastavro", "fastavro"): bool(options.avro or options.registry),
        ("google.protobuf", "protobuf"): bool(options.descriptors or options.registry),
    }
    missing = [
        package
        for (module, package), is_needed in needs.items()
        if is_needed and not _is_installed(module)
    ]
    if missing:
        raise StartError(needs_packages("decoding values needs", *missing))
    if options.messages and options.descriptors is None:
        raise StartError("--proto-message needs --proto-descriptors, the file with the message")
    if options.descriptors is not None and not options.messages:
        raise StartError(
            "--proto-descriptors needs --proto-message, the message type of the values"
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of the package around it
        return False
