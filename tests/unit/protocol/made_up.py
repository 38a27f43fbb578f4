"""Messages that no Kafka has: small definitions made into classes as the generator makes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from protocol.generator.module_writer import ModuleWriter
from protocol.generator.schema import FieldSpec, MessageSpec, parse_message
from protocol.primitives import MessageBuffer

Definition = dict[str, Any]


def field(name: str, kind: str, versions: str | None = "0+", **more: Any) -> Definition:
    """A field; None for `versions` where only `taggedVersions` says them."""
    said = {} if versions is None else {"versions": versions}
    return {"name": name, "type": kind, **said, **more}


def definition(
    name: str, *fields: Definition, valid: str = "0-3", flexible: str = "none", **more: Any
) -> Definition:
    """A message as Kafka's definitions say it."""
    said = {"type": "data", "name": name, "validVersions": valid, "flexibleVersions": flexible}
    return {**said, "fields": list(fields), **more}


def parsed(*fields: Definition, **more: Any) -> MessageSpec:
    """A message `Made` of these fields."""
    return parse_message(definition("Made", *fields, **more))


def parsed_field(spec: Definition, **more: Any) -> FieldSpec:
    """The one field of a message."""
    return parsed(spec, **more).structs[-1].fields[0]


def source(*definitions: Definition) -> str:
    """The text of a module with these messages."""
    return ModuleWriter("Made up", [parse_message(d) for d in definitions]).source()


def classes(*definitions: Definition) -> SimpleNamespace:
    """What the module defines."""
    namespace: dict[str, Any] = {}
    exec(compile(source(*definitions), "made_up_messages.py", "exec"), namespace)
    return SimpleNamespace(**namespace)


def made(*fields: Definition, **more: Any) -> Any:
    """The class of a message `Made` of these fields."""
    return classes(definition("Made", *fields, **more)).Made


def written(message: Any, version: int) -> str:
    """Its bytes in hex."""
    out = MessageBuffer()
    message.write(out, version)
    return out.joined().hex()


def read(cls: Any, data: str, version: int) -> Any:
    """The message in bytes given in hex, all of which belong to it."""
    buf = bytes.fromhex(data)
    message, end = cls.read(memoryview(b"\x7f" + buf + b"\x7f"), 1, version)
    assert end == 1 + len(buf)
    return message
