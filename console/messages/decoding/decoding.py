"""Which schema explains a value, and what it says then: the one place that chooses.

Topics of the cluster's own have their decoders; a value with a schema's id goes to the registry;
else the files that the command was given count, for a topic or for all. What is not explained stays
as it is, with the reason where one was meant to.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from broker.config.start_error import StartError
from client.records.decoders import NONE, decode_by, decoder_of
from command.admin.decode_options import DecodeOptions
from console.answers import ABSENT
from console.endpoints import Console
from console.messages.decoding.avro import AvroSchema
from console.messages.decoding.protobuf import ProtoFiles
from console.messages.decoding.registry import AVRO, PROTOBUF, Registry, Schema
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
    BytesShown,
    DecodedRecord,
    Limits,
    RecordShown,
    record_shown,
    text_shown,
)
from ottla.launcher import needs_packages
from protocol.records import Record

DECODED_BYTES_MAX = 1024 * 1024
"""Of a value; a larger one is saved and looked at elsewhere."""
_PARSED_MAX = 200
_FIRST_ID = 1
"""Registries count from here: a smaller id is not asked for."""


class Decodes(Protocol):
    """A schema or a message."""

    name: str

    def decode(self, data: bytes) -> object:
        """Raises Undecodable."""


class Explained(NamedTuple):
    """A value and what explained it."""

    value: object
    schema: str


class Decoding:
    """`console.state(Decoding).shown(topic, partition, record, limits)`."""

    def __init__(self, console: Console) -> None:
        """Raises StartError where a file is not what it should be."""
        options = console.options.decode
        _check_installed(options)
        self._avro = _by_topic(options.avro, _avro_file)
        files = None if options.descriptors is None else _proto_file(options.descriptors)
        self._messages: dict[str, Decodes] = {}
        if files is not None:
            self._messages = _by_topic(options.messages, files.message)
        self._registry = None if options.registry is None else Registry(options.registry)
        self._lock = Lock()
        self._parsed: OrderedDict[tuple[int, tuple[int, ...]], Decodes] = OrderedDict()

    def shown(
        self, topic: str, partition: int, record: Record, limits: Limits = LISTED
    ) -> RecordShown:
        """The record, with `decoded` where something explains it."""
        shown = record_shown(partition, record, limits)
        kind = decoder_of(f"{topic}-0", "")
        most = limits.data_bytes
        decoded = (
            self._own(kind, record, most) if kind != NONE else self._by_schema(topic, record, most)
        )
        return shown if decoded is None else replace(shown, decoded=decoded)

    def _own(self, kind: str, record: Record, most: int) -> DecodedRecord | None:
        found = decode_by(kind)(record)
        if found is None:
            return None
        key, value = (
            ABSENT if said is None or data is None else _text(said, len(data), most)
            for said, data in ((found.key, record.key), (found.value, record.value))
        )
        return DecodedRecord(f"Kafka's own {kind}", key, value)

    def _by_schema(self, topic: str, record: Record, most: int) -> DecodedRecord | None:
        decoded = DecodedRecord()
        for name, data in (("key", record.key), ("value", record.value)):
            if not data or len(data) > DECODED_BYTES_MAX:
                continue
            try:
                found = self._explained(topic, data, is_key=name == "key")
            except Undecodable as error:
                if name == "value":
                    decoded = replace(decoded, problem=str(error))
                continue
            if found is None:
                continue
            text = _text(found.value, len(data), most)
            if name == "key":
                decoded = replace(decoded, key=text, schema=found.schema)
            else:
                decoded = replace(decoded, value=text, schema=found.schema)
        return None if decoded == DecodedRecord() else decoded

    def _explained(self, topic: str, data: bytes, *, is_key: bool) -> Explained | None:
        """None where nothing is meant to explain it. Raises Undecodable."""
        of_topic = None if is_key else self._file_of(topic)
        frame = framed(data) if self._registry is not None else None
        if frame is None or self._registry is None:
            return None if of_topic is None else Explained(_by_file(of_topic, data), of_topic.name)
        try:
            return self._registered(self._registry, *frame)
        except Undecodable as error:
            found = _without_registry(error, frame.schema_id, data, of_topic)
            if found is None:
                raise
            return found

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
                return Explained(json.loads(payload), f"JSON Schema {schema_id}")
            except ValueError:
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


def _without_registry(
    error: Undecodable, schema_id: int, data: bytes, of_topic: Decodes | None
) -> Explained | None:
    """What the files make of it where the registry does not explain it; a number of 8 bytes begins
    with a zero byte as well."""
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
            files = [b64decode(one, validate=True) for one in (*schema.references, schema.text)]
        except ValueError:
            raise Undecodable(
                "the registry returns no Protobuf descriptors: give a file of descriptors with "
                "--proto-descriptors, and the message in it with --proto-message"
            ) from None
        return ProtoFiles(files).message_at(indexes)
    return AvroSchema(schema.text, schema.references)


def _by_file(schema: Decodes, data: bytes) -> object:
    """By the whole value, or by what is behind the id of a registry that is not asked."""
    try:
        return schema.decode(data)
    except Undecodable:
        if framed(data) is None:
            raise
    payload = data[HEAD_SIZE:]
    if not isinstance(schema, AvroSchema):
        _, payload = message_indexes(payload)
    return schema.decode(payload)


def _text(value: object, size: int, most: int) -> BytesShown:
    return text_shown(json.dumps(value, ensure_ascii=False, default=_plain), size, most)


def _plain(value: object) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


# --- options -------------------------------------------------------------------------------------


def _by_topic(said: tuple[str, ...], make: Callable[[str], Decodes]) -> dict[str, Decodes]:
    """`TOPIC=WHAT` each, or WHAT alone for all topics, under "". Raises StartError."""
    found = {}
    for one in said:
        topic, equals, what = one.partition("=")
        try:
            found[topic if equals else ""] = make(what if equals else one)
        except Undecodable as error:
            raise StartError(f"{one}: {error}") from None
    return found


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
