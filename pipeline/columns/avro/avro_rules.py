"""What Avro wants of a schema's names, fields, symbols, sizes and unions.

Each function looks at one piece of a schema and gives a sentence on the first thing that is wrong
with it, None where nothing is. Pure. Source: the Avro specification, sections "Names", "Enums",
"Fixed" and "Unions"; letters of all languages may stand in names, as Avro 1.12 of Java takes them.
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
    """Of a record, an enum or a fixed: `full` is its name with the namespace."""
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
    """Of a record's, which all have a name that is text."""
    names = [str(one["name"]) for one in fields]
    if twice := _twice(names):
        return f"the record {record} has two fields {twice}"
    if wrong := _of_names(names, f"a field of {record}:"):
        return wrong
    for one, name in zip(fields, names, strict=True):
        order = one.get("order", "ignore")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            return f"the order of {record}.{name} is none of {', '.join(_ORDERS)}"
        if wrong := _of_aliases(one, f"{record}.{name}"):
            return wrong
    return None


def of_union(kinds: Sequence[object]) -> str | None:
    """Of the types in a union: each kind once, of those with a name each name once."""
    if any(isinstance(one, list) for one in kinds):
        return f"a union in a union: {_shown(kinds)}"
    if twice := _twice(_kind(one) for one in kinds):
        return f"a union has {twice} twice: {_shown(kinds)}"
    return None


def is_number(value: object) -> TypeGuard[int]:
    """A whole number from 0; JSON's `true` is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _of_symbols(node: Mapping[str, object], full: str) -> str | None:
    symbols = node.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(one, str) for one in symbols):
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
    if not isinstance(aliases, list) or not all(isinstance(one, str) for one in aliases):
        return f"the aliases of {where} are no list of names"
    if node.get("type") not in NAMED:
        return None  # a field's may be any text
    parts = [part for one in aliases for part in one.split(".")]
    return _of_names(parts, f"in an alias of {where}")


def _of_names(names: Iterable[str], where: str) -> str | None:
    for name in names:
        if not name.isidentifier():
            shown = json.dumps(name, ensure_ascii=False)
            return f"{where} {shown} is no name of Avro: letters, digits and _, no digit first"
    return None


def _kind(one: object) -> str:
    if not isinstance(one, dict):
        return str(one)
    return str(one["name"] if one["type"] in NAMED else one["type"])


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


def _shown(kinds: Sequence[object]) -> str:
    return json.dumps(kinds)[:60]
