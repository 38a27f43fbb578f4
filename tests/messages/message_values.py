"""Instances of every message of Kafka's definitions, for the tests of `protocol/messages/`.

Reads the definitions itself, without `protocol.generator.schema`, so that tests find a fault there.
Owns the list of messages and versions, deterministic instances of them, and the JSON form of an
instance that Kafka's `…JsonConverter` classes read and write.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import json
import pkgutil
import random
import sys
import types
import typing
from functools import cache
from pathlib import Path
from typing import Any

import protocol.messages
from protocol.message import Message

DEFINITIONS_DIR = Path(protocol.messages.__file__).parent.parent / "definitions"

KINDS = ("defaults", "random-1", "random-2", "random-3", "nulls", "limits", "long", "long-nested")
"""The kinds of values that `Case.instance` makes.

All defaults; random values, with a quarter of the nullable fields null; null wherever allowed; the
least and greatest of each type; arrays of 130 items at the top or one level below, with strings and
bytes whose lengths are varints of two and three bytes.
"""

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789.-_ \u0000\n"\\éßж中文\U0001f600\ufeff'
LONG_ARRAY = 130


@cache
def covers(versions: str | None, version: int) -> bool:
    """Return whether `version` is in a range of versions as the definitions write it."""
    if versions is None or versions == "none":
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    low, _, high = versions.partition("-")
    return int(low) <= version <= int(high or low)


def exists(field: dict[str, Any], version: int) -> bool:
    """Return whether a version has this field.

    A field without "versions" exists in its tagged versions.
    """
    return covers(field.get("versions", field.get("taggedVersions")), version)


@cache
def _classes() -> dict[str, type]:
    """Return the generated classes with a version range, by message name."""
    classes: dict[str, type] = {}
    for module_info in pkgutil.iter_modules(protocol.messages.__path__):
        module = importlib.import_module(f"protocol.messages.{module_info.name}")
        for name, value in vars(module).items():
            if isinstance(value, type) and hasattr(value, "MIN_VERSION"):
                classes[name] = value
    return classes


@cache
def struct_classes(cls: type) -> dict[str, type | None]:
    """Return, by attribute, the class of a struct or of a list's structs; None for other types."""
    hints = typing.get_type_hints(cls.__init__, vars(sys.modules[cls.__module__]))  # type: ignore[misc]
    classes: dict[str, type | None] = {}
    for name in cls.__slots__:  # type: ignore[attr-defined]
        hint = hints[name]
        if isinstance(hint, types.UnionType):
            hint = next(arm for arm in typing.get_args(hint) if arm is not type(None))
        if typing.get_origin(hint) is list:
            (hint,) = typing.get_args(hint)
        is_struct = isinstance(hint, type) and issubclass(hint, Message)
        classes[name] = hint if is_struct else None
    return classes


@dataclasses.dataclass(frozen=True, eq=False)
class Struct:
    """A struct of the definitions with the class that is generated for it."""

    fields: list[dict[str, Any]]
    cls: type
    common: dict[str, list[dict[str, Any]]]

    @property
    def attributes(self) -> list[str]:
        return list(self.cls.__slots__)  # type: ignore[attr-defined]

    def nested(self, field: dict[str, Any], attribute: str) -> Struct:
        return _nested(self, attribute, field["type"].removeprefix("[]"))

    def at(self, version: int) -> list[tuple[dict[str, Any], str]]:
        """Return the fields that exist in `version`, each with its attribute."""
        return _at(self, version)


@cache
def _nested(struct: Struct, attribute: str, name: str) -> Struct:
    cls = struct_classes(struct.cls)[attribute]
    assert cls is not None, f"{struct.cls.__name__}.{attribute} should hold {name}"
    field = struct.fields[struct.attributes.index(attribute)]
    return Struct(field.get("fields") or struct.common[name], cls, struct.common)


@cache
def _at(struct: Struct, version: int) -> list[tuple[dict[str, Any], str]]:
    pairs = zip(struct.fields, struct.attributes, strict=True)
    return [(field, name) for field, name in pairs if exists(field, version)]


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A message: its definition, and the class that is generated for it."""

    name: str
    definition: dict[str, Any]
    cls: Any
    struct: Struct

    @property
    def versions(self) -> range:
        low, _, high = self.definition["validVersions"].partition("-")
        return range(int(low), int(high or low) + 1)

    def is_flexible(self, version: int) -> bool:
        return covers(self.definition.get("flexibleVersions"), version)

    def instance(self, version: int, kind: str) -> Any:
        """Return a message of this version and kind, with the same values at every run."""
        maker = _Maker(version, kind, random.Random(f"{self.name} {version} {kind}"))
        return maker.struct(self.struct, 0)

    def to_kafka_json(self, message: Any, version: int) -> dict[str, Any]:
        """Return the message as Kafka's JsonConverter writes it, with all tagged fields."""
        return _struct_to_json(self.struct, message, version)


@cache
def cases() -> list[Case]:
    """Return every message, of every definitions file, that has a valid version."""
    all_cases = []
    for path in sorted(DEFINITIONS_DIR.glob("*.json")):
        for definition in json.loads(path.read_text()):
            if definition["validVersions"] == "none":
                continue
            name = definition["name"]
            common = {s["name"]: s["fields"] for s in definition.get("commonStructs", [])}
            _collect_structs(definition["fields"], common)
            cls = _classes()[name]
            all_cases.append(Case(name, definition, cls, Struct(definition["fields"], cls, common)))
    return all_cases


def case(name: str) -> Case:
    """Return the case of the message `name`."""
    return next(c for c in cases() if c.name == name)


def _collect_structs(fields: list[dict[str, Any]], common: dict[str, Any]) -> None:
    # The definitions spell a struct out at its first use, and may only name it at the next.
    for field in fields:
        if "fields" in field:
            common.setdefault(field["type"].removeprefix("[]"), field["fields"])
            _collect_structs(field["fields"], common)


class _Maker:
    """A maker of values for one version; `depth` is the number of structs around a value."""

    def __init__(self, version: int, kind: str, rng: random.Random) -> None:
        self.version = version
        self.kind = kind
        self.rng = rng

    def struct(self, struct: Struct, depth: int) -> Any:
        message = struct.cls()
        for field, attribute in struct.at(self.version):
            nullable = covers(field.get("nullableVersions"), self.version)
            if self.kind == "defaults" and (getattr(message, attribute) is not None or nullable):
                continue
            tagged_struct = field["type"][0].isupper() and covers(
                field.get("taggedVersions"), self.version
            )
            if self.kind == "defaults" and tagged_struct:
                continue  # None, in our classes: not sent
            value = self.field(struct, field, attribute, nullable, depth)
            if tagged_struct and not nullable and value == type(value)():
                value = None
            setattr(message, attribute, value)
        return message

    def field(
        self, struct: Struct, field: dict[str, Any], attribute: str, nullable: bool, depth: int
    ) -> Any:
        if nullable and (self.kind == "nulls" or self.rng.random() < self._null_share()):
            return None
        kind = field["type"]
        is_array = kind.startswith("[]")
        element = kind.removeprefix("[]")
        count = self._array_length(depth) if is_array else 1
        if element[0].isupper():
            nested = struct.nested(field, attribute)
            items = [self.struct(nested, depth + 1) for _ in range(count)]
        else:
            items = [self.primitive(element, depth) for _ in range(count)]
        return items if is_array else items[0]

    def _null_share(self) -> float:
        return 0.25 if self.kind.startswith("random") else 0.0

    def _array_length(self, depth: int) -> int:
        match self.kind:
            case "defaults":
                return 0
            case "long":
                return LONG_ARRAY if depth == 0 else 1
            case "long-nested":
                return LONG_ARRAY if depth == 1 else 1
            case "limits" | "nulls":
                return 2
            case _:
                return self.rng.randrange(4) if depth < 3 else self.rng.randrange(2)

    def primitive(self, kind: str, depth: int) -> Any:
        rng = self.rng
        if kind in INTEGERS:
            low, high = INTEGERS[kind]
            if self.kind == "limits":
                return rng.choice((low, high))
            if self.kind == "defaults":
                return 0
            return rng.choice((rng.randint(low, high), rng.randrange(100)))
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            extremes = (5e-324, -1.7976931348623157e308, -0.0)
            return rng.choice(extremes) if self.kind == "limits" else rng.uniform(-1e6, 1e6)
        if kind == "uuid":
            return rng.randbytes(16)
        if kind == "string":
            return "".join(rng.choices(ALPHABET, k=self._length(200, depth)))
        data = rng.randbytes(self._length(20_000, depth))
        return memoryview(data) if kind == "records" else data

    def _length(self, long: int, depth: int) -> int:
        if self.kind == "defaults":
            return 0
        if self.kind == "limits":
            return self.rng.choice((0, 126, 127, 128))
        if self.kind == "long" and depth == 0:
            return long
        return self.rng.randrange(20)


def _struct_to_json(struct: Struct, message: Any, version: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, attribute in struct.at(version):
        value = getattr(message, attribute)
        element = field["type"].removeprefix("[]")
        unsent = value is None and not covers(field.get("nullableVersions"), version)
        if unsent and covers(field.get("taggedVersions"), version):
            continue

        def convert(item: Any, field: Any = field, at: str = attribute, kind: str = element) -> Any:
            if kind[0].isupper():
                return _struct_to_json(struct.nested(field, at), item, version)
            return _primitive_to_json(kind, item)

        name = field["name"][0].lower() + field["name"][1:]
        if value is None:
            values[name] = None
        elif field["type"].startswith("[]"):
            values[name] = [convert(item) for item in value]
        else:
            values[name] = convert(value)
    return values


def _primitive_to_json(kind: str, value: Any) -> Any:
    if kind == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if kind in ("bytes", "records"):
        return base64.b64encode(value).decode()
    return value
