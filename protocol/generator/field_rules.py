"""The rules by which fields become source: their names, their runs, their versions.

Pure functions over `protocol.generator.schema`, and `Lines`, the source that is written. Only
`protocol.generate` and its writers use them. Never writes a file.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator

from protocol.generator.schema import FIXED_FORMATS, FIXED_SIZES, FieldSpec, StructSpec, Versions

# Names of variables in the generated `read` and `write`.
RESERVED = {
    "buf",
    "pos",
    "version",
    "cls",
    "self",
    "n",
    "out",
    "tag",
    "tags",
    "size",
    "tagged",
    "stop",
}
INDENT = "    "


class Lines:
    """The lines of source that are written, with the current indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, line: str) -> None:
        """Append the line with the current indentation; an empty line gets none."""
        self.lines.append(INDENT * self.depth + line if line else "")

    def block(self, head: str) -> _Block:
        """Append the line `head`. Within a `with` of the result, lines are indented by a level
        more."""
        self.add(head)
        return _Block(self)


class _Block:
    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __enter__(self) -> None:
        """Indent the next lines by a level more."""
        self.lines.depth += 1

    def __exit__(self, *exc: object) -> None:
        """Indent the next lines by a level less."""
        self.lines.depth -= 1


def version_condition(versions: Versions, context: Versions) -> str | None:
    """Return the condition, in source, that a version of `context` is in `versions`; None: all of
    `context` is."""
    if versions.covers(context):
        return None
    if versions.low == versions.high:
        return f"version == {versions.low}"
    if versions.low <= context.low:
        return f"version <= {versions.high}"
    if versions.high >= context.high:
        return f"version >= {versions.low}"
    return f"{versions.low} <= version <= {versions.high}"


def attribute(f: FieldSpec) -> str:
    """Return the attribute's name, with `_` after a Python keyword."""
    name = f.attribute
    return name + "_" if keyword.iskeyword(name) else name


def local(f: FieldSpec) -> str:
    """Return the local variable's name, with `_` after a name that the generated code uses."""
    name = attribute(f)
    return name + "_" if name in RESERVED else name


def is_fixed(f: FieldSpec) -> bool:
    """Return whether the field has a fixed size: a number, a bool or a UUID, and no array."""
    return f.type in FIXED_FORMATS and not f.is_array


def reader(f: FieldSpec, nullable: bool, compact: bool) -> str:
    """Return the name of the function of `protocol.primitives` that reads the field's type."""
    return f"read_{'compact_' if compact else ''}{'nullable_' if nullable else ''}{f.type}"


def least_size(f: FieldSpec, context: Versions, flexible: bool) -> int:
    """Return the least number of bytes of one element of `f` in any version of `context`.

    The generated code checks array lengths by it, so that a short frame cannot cause a long list.
    """
    if f.struct:
        return max(least_struct_size(f.struct, context, flexible), 1)
    if f.type in FIXED_SIZES:
        return FIXED_SIZES[f.type]
    if flexible:
        return 1
    return 2 if f.type == "string" else 4


def least_struct_size(struct: StructSpec, context: Versions, flexible: bool) -> int:
    """Return the least number of bytes of a struct: with empty strings, empty arrays and no tagged
    fields."""
    size = 1 if flexible else 0
    for f in struct.fields:
        if f.tagged & context or not f.versions.covers(context):
            continue
        compact = flexible and not f.always_classic
        if f.is_array:
            size += 1 if compact else 4
        elif f.struct and f.nullable & context:
            size += 1
        else:
            size += least_size(f, context, compact)
    return size


def runs(struct: StructSpec, context: Versions) -> Iterator[tuple[Versions, list[FieldSpec]]]:
    """Yield the fields not tagged in `context`, in order, as runs with their versions in `context`,
    an empty range if they do not exist there. Neighbours of fixed size and equal versions form one
    run, every other field a run of its own."""
    run: list[FieldSpec] = []
    run_versions = Versions(1, 0)
    for f in struct.fields:
        if f.tagged & context:
            continue
        versions = f.versions & context
        if run and is_fixed(f) and is_fixed(run[0]) and versions == run_versions:
            run.append(f)
            continue
        if run:
            yield run_versions, run
        run, run_versions = [f], versions
    if run:
        yield run_versions, run


def scalar_default(f: FieldSpec) -> str:
    """Return the Python literal of a scalar field's default."""
    default = f.default
    if f.type == "string":
        return json.dumps(default or "")
    if f.type in ("bytes", "records"):
        return 'b""'
    if f.type == "uuid":
        return "p.ZERO_UUID"
    if f.type == "bool":
        return "True" if str(default).lower() == "true" else "False"
    if f.type == "float64":
        return repr(float(default or 0))
    return str(int(str(default or 0), 0))
