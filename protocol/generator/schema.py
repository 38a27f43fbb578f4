"""Kafka's message definitions as typed specs, from which `protocol.generate` writes the messages.

The definitions (`protocol/definitions/*.json`) are those of Kafka: fields with the versions in
which they exist, are nullable, are tagged. A range is `a-b`, `a+`, a single number or `none`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

LAST_VERSION = 32767

FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included; empty if `low > high`."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str | None) -> Versions:
        """Return the versions of `3`, `3-5` or `3+`; of None or `none`, an empty range."""
        if text is None or text == "none":
            return cls(1, 0)
        if text.endswith("+"):
            return cls(int(text[:-1]), LAST_VERSION)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __bool__(self) -> bool:
        """Return whether the range has any version."""
        return self.low <= self.high

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.low, other.low), min(self.high, other.high))

    def covers(self, other: Versions) -> bool:
        return self.low <= other.low and other.high <= self.high


@dataclass(slots=True)
class FieldSpec:
    """A field of a struct. `type` is the element's type if `is_array`."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: Any
    always_classic: bool  # flexibleVersions: none (the request header's client id)
    struct: StructSpec | None = None

    @property
    def attribute(self) -> str:
        return snake_case(self.name)


@dataclass(slots=True)
class StructSpec:
    """A message, or a struct within one."""

    name: str
    versions: Versions
    fields: list[FieldSpec] = field(default_factory=list)


def holds_arrays(struct: StructSpec) -> bool:
    """Return whether a struct, or a struct within it, has a field that is an array."""
    return any(f.is_array or (f.struct and holds_arrays(f.struct)) for f in struct.fields)


@dataclass(slots=True)
class MessageSpec:
    """A message with the structs that it is made of, innermost first and itself last."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    structs: list[StructSpec]


def snake_case(name: str) -> str:
    """Return a name of Kafka's in Python's form: `TopicId` as `topic_id`, `V3AndBelowTopics` as
    `v3_and_below_topics`."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def parse_message(definition: dict[str, Any]) -> MessageSpec:
    """Return the spec of one entry of a definitions file."""
    versions = Versions.parse(definition["validVersions"])
    parser = _StructParser(versions, definition.get("commonStructs", []))
    top = parser.struct(definition["name"], definition["fields"])
    return MessageSpec(
        name=definition["name"],
        kind=definition["type"],
        api_key=definition.get("apiKey"),
        versions=versions,
        flexible=Versions.parse(definition.get("flexibleVersions")) & versions,
        structs=[*parser.structs, top],
    )


class _StructParser:
    def __init__(self, versions: Versions, common: list[dict[str, Any]]) -> None:
        self.versions = versions
        self.common = {struct["name"]: struct for struct in common}
        self.structs: list[StructSpec] = []
        self.by_name: dict[str, StructSpec] = {}

    def struct(self, name: str, fields: list[dict[str, Any]]) -> StructSpec:
        """Return the spec of a struct. Append the structs within it, but not itself, to
        `structs`."""
        return StructSpec(name, self.versions, [self.field(f) for f in fields])

    def field(self, f: dict[str, Any]) -> FieldSpec:
        """Return the spec of a field, with that of its struct, if any."""
        is_array = f["type"].startswith("[]")
        element = f["type"].removeprefix("[]")
        spec = FieldSpec(
            name=f["name"],
            type=element,
            is_array=is_array,
            versions=Versions.parse(f.get("versions", f.get("taggedVersions"))) & self.versions,
            nullable=Versions.parse(f.get("nullableVersions")) & self.versions,
            tagged=Versions.parse(f.get("taggedVersions")) & self.versions,
            tag=f.get("tag"),
            default=f.get("default"),
            always_classic=f.get("flexibleVersions") == "none",
        )
        if element[0].isupper():
            spec.struct = self.nested(element, f.get("fields"))
        return spec

    def nested(self, name: str, fields: list[dict[str, Any]] | None) -> StructSpec:
        """Return the struct of this name. At its first use, parse it and append it to `structs`;
        without `fields`, it is a common struct of the message."""
        if name not in self.by_name:
            parsed = self.struct(name, fields or self.common[name]["fields"])
            self.by_name[name] = parsed
            self.structs.append(parsed)
        return self.by_name[name]
