"""Avro data, decoded by its writer's schema. Needs fastavro (extra `decode`)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from struct import error as StructError

from console.messages.decoding.wire import Undecodable

_FAILURES = (
    ArithmeticError,
    EOFError,
    LookupError,
    RecursionError,
    StructError,
    TypeError,
    ValueError,
)
_NAMED = ("record", "enum", "fixed", "error")
"""The types whose definitions have a name."""


class AvroSchema:
    """An Avro schema, which decodes data: `schema.decode(data)`."""

    def __init__(self, text: str, references: Sequence[str] = ()) -> None:
        """Parse a schema; `references` are the schemas that it names. Raises Undecodable."""
        import fastavro
        from fastavro.schema import SchemaParseException

        self._read = fastavro.schemaless_reader
        try:
            by_name = {_full_name(schema, ""): schema for schema in map(json.loads, references)}
            whole = _with_references(json.loads(text), "", by_name, {})
            if not isinstance(whole, str | list | dict):
                raise TypeError("a schema is an object, a list or a name")
            self._schema = fastavro.parse_schema(whole)
        except (SchemaParseException, *_FAILURES) as error:
            raise Undecodable(f"this is not an Avro schema ({_line(error)})") from None
        self.name = _name_of(self._schema)

    def decode(self, data: bytes) -> object:
        """Return the value that all of the bytes encode. Raises Undecodable."""
        stream = io.BytesIO(data)
        try:
            value = self._read(stream, self._schema, None)
        except _FAILURES as error:
            raise Undecodable(
                f"the value does not match the Avro schema {self.name} ({_line(error)})"
            ) from None
        if stream.tell() != len(data):
            left = len(data) - stream.tell()
            raise Undecodable(
                f"the value does not match the Avro schema {self.name} ({left} bytes are left)"
            )
        return value


def _with_references(
    schema: object, namespace: str, by_name: Mapping[str, object], used: dict[str, None]
) -> object:
    """Return a schema with the definition of each name of `by_name` at its first use."""
    if isinstance(schema, list):
        return [_with_references(branch, namespace, by_name, used) for branch in schema]
    if isinstance(schema, dict):
        namespace = _full_name(schema, namespace).rpartition(".")[0]
        return {
            key: _with_references(value, namespace, by_name, used)
            if key in ("type", "items", "values", "fields")
            else value
            for key, value in schema.items()
        }
    if isinstance(schema, str):
        for name in (f"{namespace}.{schema}", schema):
            if name in by_name and name not in used:
                used[name] = None
                return _with_references(by_name[name], "", by_name, used)
    return schema


def _full_name(schema: object, namespace: str) -> str:
    """Return the full name of a definition, or the namespace and a dot if it defines no name."""
    if not isinstance(schema, dict) or schema.get("type") not in _NAMED:
        return f"{namespace}."
    name = schema["name"]
    if "." in name:
        return str(name)
    own = schema.get("namespace", namespace)
    return f"{own}.{name}" if own else str(name)


def _name_of(schema: object) -> str:
    if isinstance(schema, dict):
        return str(schema.get("name") or schema.get("type"))
    return "union" if isinstance(schema, list) else str(schema)


def _line(error: Exception) -> str:
    text = str(error).split("\n", 1)[0][:100]
    return text or type(error).__name__
