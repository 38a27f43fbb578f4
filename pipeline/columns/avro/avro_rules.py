"""Avro's rules for a schema's names, fields, symbols, sizes and unions.

Each function checks one part of a schema, and returns a sentence on the first error there, None
without an error. Pure. Source: the Avro specification, sections "Names", "Enums", "Fixed" and
"Unions"; letters of all languages are allowed in names, as in Avro 1.12 of Java.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

NAMED = ("record", "enum", "fixed", "error")
PRIMITIVES = ("null", "boolean", "bytes", "double", "float", "int", "long", "string")
_ORDERS = ("ascending", "descending", "ignore")


def of_named(node: Mapping[str, object], full: str) -> str | None:
    """Check a record, an enum or a fixed, except the fields; `full` is its name with the
    namespace."""
    kind = node["type"]
    if full in PRIMITIVES:
        return f"the {kind} {full} has the name of a type of Avro's own"
    if wrong := _of_names(full.split("."), f"in the name of the {kind} {full}"):
        return wrong
    if wrong := _of_aliases(node, full):
        return wrong
    if kind == "enum":
        return _of_symbols(node, full)
    if kind == "fixed" and not is_number(node.get("size")):
        return f"the fixed {full} has no size: a whole number of bytes"
    return None


def of_fields(fields: Sequence[Mapping[str, object]], record: str) -> str | None:
    """Check the fields of a record, which all have a name that is text."""
    names = [str(field["name"]) for field in fields]
    if twice := _twice(names):
        return f"the record {record} has two fields {twice}"
    if wrong := _of_names(names, f"a field of {record}:"):
        return wrong
    for field, name in zip(fields, names, strict=True):
        order = field.get("order", "ignore")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            return f"the order of {record}.{name} is none of {', '.join(_ORDERS)}"
        if wrong := _of_aliases(field, f"{record}.{name}"):
            return wrong
    return None


def of_union(kinds: Sequence[object]) -> str | None:
    """Check the types in a union: each kind is there once, and each name of named types once."""
    if any(isinstance(kind, list) for kind in kinds):
        return f"a union in a union: {_shown(kinds)}"
    if twice := _twice(_kind(kind) for kind in kinds):
        return f"a union has {twice} twice: {_shown(kinds)}"
    return None


def is_number(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number from 0; JSON's `true` is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _of_symbols(node: Mapping[str, object], full: str) -> str | None:
    symbols = node.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        return f"the enum {full} has no symbols: a list of names"
    if twice := _twice(symbols):
        return f"the enum {full} has the symbol {twice} twice"
    if wrong := _of_names(symbols, f"a symbol of {full}:"):
        return wrong
    if "default" in node and node["default"] not in symbols:
        return f"the default of the enum {full} is none of its symbols"
    return None


def _of_aliases(node: Mapping[str, object], where: str) -> str | None:
    aliases = node.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        return f"the aliases of {where} are no list of names"
    if node.get("type") not in NAMED:
        return None  # a field's may be any text
    parts = [part for alias in aliases for part in alias.split(".")]
    return _of_names(parts, f"in an alias of {where}")


def _of_names(names: Iterable[str], where: str) -> str | None:
    for name in names:
        if not name.isidentifier():
            shown = json.dumps(name, ensure_ascii=False)
            return f"{where} {shown} is no name of Avro: letters, digits and _, no digit first"
    return None


def _kind(kind: object) -> str:
    if not isinstance(kind, dict):
        return str(kind)
    return str(kind["name"] if kind["type"] in NAMED else kind["type"])


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


def _shown(kinds: Sequence[object]) -> str:
    return json.dumps(kinds)[:60]
