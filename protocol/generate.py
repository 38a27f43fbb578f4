"""Writes `protocol/messages/` from Kafka's definitions: `python -m protocol.generate [--check]`.

One module an API (request and response), one a family of records. A message is a slotted class
with the fields of all its versions; `read` and `write` are straight-line code with a branch for
flexible versions and one for each range in which a field exists. Neighbouring fields of fixed size
are read and written by one `struct.Struct`.
"""

from __future__ import annotations

import argparse
import json
import keyword
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol.schema import (
    FIXED_FORMATS,
    FIXED_SIZES,
    FieldSpec,
    MessageSpec,
    StructSpec,
    Versions,
    parse_message,
    snake_case,
)

HERE = Path(__file__).parent
FAMILIES = {
    "consumer-protocol.json": "consumer_protocol",
    "metadata-records.json": "metadata_records",
    "group-records.json": "group_records",
    "transaction-records.json": "transaction_records",
    "share-records.json": "share_records",
    "raft-records.json": "raft_records",
    "storage-records.json": "storage_records",
}
PYTHON_TYPES = {"bool": "bool", "float64": "float", "uuid": "bytes", "string": "str"}
# Names that `read` and `write` use themselves.
RESERVED = {"buf", "pos", "version", "cls", "self", "n", "out", "tag", "tags", "end", "tagged"}
INDENT = "    "


class Lines:
    """Source lines with an indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, line: str) -> None:
        self.lines.append(INDENT * self.depth + line if line else "")

    def block(self, head: str) -> _Block:
        self.add(head)
        return _Block(self)


class _Block:
    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __enter__(self) -> None:
        self.lines.depth += 1

    def __exit__(self, *exc: object) -> None:
        self.lines.depth -= 1


def version_condition(versions: Versions, context: Versions) -> str | None:
    """The test that a version of `context` lies in `versions`; None where it always does."""
    if versions.covers(context):
        return None
    if versions.low == versions.high:
        return f"version == {versions.low}"
    if versions.low <= context.low:
        return f"version <= {versions.high}"
    if versions.high >= context.high:
        return f"version >= {versions.low}"
    return f"{versions.low} <= version <= {versions.high}"


class ModuleWriter:
    """The source of one module of messages."""

    def __init__(self, title: str, messages: list[MessageSpec]) -> None:
        self.title = title
        self.messages = messages
        self.class_names = self._name_classes()
        self.formats: dict[str, str] = {}

    def _name_classes(self) -> dict[int, str]:
        """Struct (by identity) → class name: prefixed by the message's where two share a name."""
        owners: dict[str, set[str]] = {}
        for message in self.messages:
            for struct in message.structs:
                owners.setdefault(struct.name, set()).add(message.name)
        names: dict[int, str] = {}
        for message in self.messages:
            for struct in message.structs:
                shared = len(owners[struct.name]) > 1 and struct.name != message.name
                names[id(struct)] = message.name + struct.name if shared else struct.name
        return names

    def source(self) -> str:
        body = Lines()
        for message in self.messages:
            for struct in message.structs:
                self._class(body, message, struct)
        if [m.kind for m in self.messages] in (["request", "response"], ["header", "header"]):
            body.add("")
            body.add("")
            body.add(f"REQUEST = {self.messages[0].name}")
            body.add(f"RESPONSE = {self.messages[1].name}")
        return "\n".join(self._head() + body.lines) + "\n"

    def _head(self) -> list[str]:
        head = [
            f'"""{self.title}. Written by protocol/generate.py: do not edit."""',
            "",
            "from __future__ import annotations",
            "",
            "from struct import Struct",
            "from typing import ClassVar",
            "",
            "from protocol import primitives as p",
            "from protocol.message import NEW, Message",
            "",
        ]
        head += [f'{name} = Struct(">{fmt}")' for fmt, name in sorted(self.formats.items())]
        return head

    def _struct_of(self, fields: list[FieldSpec]) -> tuple[str, int]:
        fmt = "".join(FIXED_FORMATS[f.type] for f in fields)
        name = "_" + fmt.replace("?", "T").replace("16s", "U")
        self.formats[fmt] = name
        return name, sum(FIXED_SIZES[f.type] for f in fields)

    # --- the class ---------------------------------------------------------------------------

    def _class(self, out: Lines, message: MessageSpec, struct: StructSpec) -> None:
        name = self.class_names[id(struct)]
        out.add("")
        out.add("")
        with out.block(f"class {name}(Message):"):
            if struct is message.structs[-1]:
                self._constants(out, message)
            slots = ", ".join(f'"{attribute(f)}"' for f in struct.fields)
            comma = "," if len(struct.fields) == 1 else ""
            out.add(f"__slots__ = ({slots}{comma})")
            out.add("")
            self._init(out, struct)
            out.add("@classmethod")
            head = f"def read(cls, buf: memoryview, pos: int, version: int) -> tuple[{name}, int]:"
            with out.block(head):
                for f in struct.fields:
                    if f.is_array or self._may_be_none(f):
                        out.add(f"{local(f)}: {self._annotation(f)}")
                self._per_encoding(out, message, struct, self._read_body)
            out.add("")
            with out.block("def write(self, out: p.MessageBuffer, version: int) -> None:"):
                if any(f.tagged for f in struct.fields):
                    out.add("tagged: list[tuple[int, p.MessageBuffer]]")
                self._per_encoding(out, message, struct, self._write_body)

    def _init(self, out: Lines, struct: StructSpec) -> None:
        if not struct.fields:
            return
        out.add("def __init__(")
        out.add(INDENT + "self,")
        for f in struct.fields:
            out.add(f"{INDENT}{attribute(f)}: {self._annotation(f)} = {self._default(f, True)},")
        with out.block(") -> None:"):
            for f in struct.fields:
                name, new = attribute(f), self._default(f, False)
                if self._default(f, True) == "NEW":
                    out.add(f"self.{name} = {new} if {name} is NEW else {name}")
                else:
                    out.add(f"self.{name} = {name}")
        out.add("")

    def _constants(self, out: Lines, message: MessageSpec) -> None:
        flexible = message.flexible.low if message.flexible else 32767
        if message.api_key is not None:
            out.add(f"API_KEY: ClassVar[int] = {message.api_key}")
        out.add(f"MIN_VERSION: ClassVar[int] = {message.versions.low}")
        out.add(f"MAX_VERSION: ClassVar[int] = {message.versions.high}")
        out.add(f"FLEXIBLE_FROM: ClassVar[int] = {flexible}")
        out.add("")

    def _per_encoding(
        self, out: Lines, message: MessageSpec, struct: StructSpec, body: Any
    ) -> None:
        classic = message.versions
        if message.flexible:
            classic = Versions(message.versions.low, message.flexible.low - 1)
        if message.flexible and classic:
            with out.block(f"if version >= {message.flexible.low}:"):
                body(out, struct, message.flexible, True)
            body(out, struct, classic, False)
        elif message.flexible:
            body(out, struct, message.flexible, True)
        else:
            body(out, struct, classic, False)

    def _element_type(self, f: FieldSpec) -> str:
        if f.struct:
            return self.class_names[id(f.struct)]
        if f.type == "records":
            return "p.Records"
        return PYTHON_TYPES.get(f.type, "bytes" if f.type == "bytes" else "int")

    def _annotation(self, f: FieldSpec) -> str:
        kind = self._element_type(f)
        if f.is_array:
            kind = f"list[{kind}]"
        return f"{kind} | None" if self._may_be_none(f) else kind

    def _may_be_none(self, f: FieldSpec) -> bool:
        # A tagged struct that was not sent is None: no default has to be built and compared.
        return bool(f.nullable) or (f.struct is not None and not f.is_array and bool(f.tagged))

    def _default(self, f: FieldSpec, in_signature: bool) -> str:
        is_struct = f.struct is not None and not f.is_array
        if f.default == "null" or (is_struct and f.tagged and not f.nullable):
            return "None"
        if f.is_array:
            return "NEW" if in_signature else "[]"
        if f.struct:
            kind = self.class_names[id(f.struct)]
            return "NEW" if in_signature else f"{kind}()"
        return _scalar_default(f)

    # --- read --------------------------------------------------------------------------------

    def _read_body(self, out: Lines, struct: StructSpec, context: Versions, flexible: bool) -> None:
        for versions, run in runs(struct, context):
            condition = version_condition(versions, context)
            if not versions:
                self._assign_defaults(out, run)
            elif condition is None:
                self._read_run(out, run, versions, flexible)
            else:
                with out.block(f"if {condition}:"):
                    self._read_run(out, run, versions, flexible)
                with out.block("else:"):
                    self._assign_defaults(out, run)
        tagged = [f for f in struct.fields if f.tagged & context]
        self._assign_defaults(out, tagged)
        if flexible:
            self._read_tags(out, tagged, context)
        names = ", ".join(local(f) for f in struct.fields)
        out.add(f"return cls({names}), pos")

    def _assign_defaults(self, out: Lines, fields: list[FieldSpec]) -> None:
        for f in fields:
            out.add(f"{local(f)} = {self._default(f, False)}")

    def _read_run(self, out: Lines, run: list[FieldSpec], versions: Versions, flex: bool) -> None:
        if is_fixed(run[0]):
            name, size = self._struct_of(run)
            targets = ", ".join(local(f) for f in run)
            if len(run) == 1:
                targets = f"({targets},)"
            out.add(f"{targets} = {name}.unpack_from(buf, pos)")
            out.add(f"pos += {size}")
        else:
            self._read_field(out, run[0], versions, flex)

    def _read_field(self, out: Lines, f: FieldSpec, versions: Versions, flex: bool) -> None:
        nullable = f.nullable & versions
        compact = flex and not f.always_classic
        if f.is_array:
            self._read_array(out, f, versions, compact)
        elif f.struct:
            self._read_struct(out, f, versions)
        elif nullable and not nullable.covers(versions):
            with out.block(f"if {version_condition(nullable, versions)}:"):
                out.add(f"{local(f)}, pos = p.{reader(f, True, compact)}(buf, pos)")
            with out.block("else:"):
                out.add(f"{local(f)}, pos = p.{reader(f, False, compact)}(buf, pos)")
        elif is_fixed(f):
            name, size = self._struct_of([f])
            out.add(f"({local(f)},) = {name}.unpack_from(buf, pos)")
            out.add(f"pos += {size}")
        else:
            out.add(f"{local(f)}, pos = p.{reader(f, bool(nullable), compact)}(buf, pos)")

    def _read_struct(self, out: Lines, f: FieldSpec, versions: Versions) -> None:
        kind = self.class_names[id(f.struct)]
        if not f.nullable & versions:
            out.add(f"{local(f)}, pos = {kind}.read(buf, pos, version)")
            return
        if f.tagged:  # here a varint says whether it is there, in place of a signed byte
            out.add("n, pos = p.read_uvarint(buf, pos)")
        else:
            out.add("pos += 1")
        with out.block("if n == 0:" if f.tagged else "if buf[pos - 1] > 127:"):
            out.add(f"{local(f)} = None")
        with out.block("else:"):
            out.add(f"{local(f)}, pos = {kind}.read(buf, pos, version)")

    def _read_array(self, out: Lines, f: FieldSpec, versions: Versions, compact: bool) -> None:
        kind = "compact_" if compact else ""
        size = least_size(f, versions, compact)
        out.add(f"n, pos = p.read_{kind}array_length(buf, pos, {size})")
        nullable = f.nullable & versions
        if not nullable:
            with out.block("if n < 0:"):
                out.add("p.refuse_null_array()")
        elif not nullable.covers(versions):
            with out.block(f"if n < 0 and not ({version_condition(nullable, versions)}):"):
                out.add("p.refuse_null_array()")
        if nullable:
            with out.block("if n < 0:"):
                out.add(f"{local(f)} = None")
            with out.block("else:"):
                self._read_items(out, f, compact)
        else:
            self._read_items(out, f, compact)

    def _read_items(self, out: Lines, f: FieldSpec, compact: bool) -> None:
        if f.type in FIXED_FORMATS and f.type != "uuid":
            items = f'Struct(f">{{n}}{FIXED_FORMATS[f.type]}").unpack_from(buf, pos)'
            out.add(f"{local(f)} = list({items})")
            out.add(f"pos += n * {FIXED_SIZES[f.type]}")
            return
        out.add(f"{local(f)} = []")
        with out.block("for _ in range(n):"):
            if f.struct:
                kind = self.class_names[id(f.struct)]
                out.add(f"item_{local(f)}, pos = {kind}.read(buf, pos, version)")
            elif f.type == "uuid":
                out.add(f"item_{local(f)} = bytes(buf[pos : pos + 16])")
                out.add("pos += 16")
            else:
                out.add(f"item_{local(f)}, pos = p.{reader(f, False, compact)}(buf, pos)")
            out.add(f"{local(f)}.append(item_{local(f)})")

    def _read_tags(self, out: Lines, tagged: list[FieldSpec], context: Versions) -> None:
        if not tagged:
            with out.block("if buf[pos]:"):
                out.add("pos = p.skip_tagged_fields(buf, pos)")
            with out.block("else:"):
                out.add("pos += 1")
            return
        out.add("tags, pos = p.read_uvarint(buf, pos)")
        with out.block("for _ in range(tags):"):
            out.add("tag, pos, end = p.read_tag(buf, pos)")
            word = "if"
            for f in tagged:
                condition = version_condition(f.tagged & context, context)
                extra = f" and {condition}" if condition else ""
                with out.block(f"{word} tag == {f.tag}{extra}:"):
                    self._read_field(out, f, f.tagged & context, True)
                    out.add(f"p.check_tag_end({f.tag}, pos, end)")
                word = "elif"
            with out.block("else:"):
                out.add("pos = end")

    # --- write -------------------------------------------------------------------------------

    def _write_body(
        self, out: Lines, struct: StructSpec, context: Versions, flexible: bool
    ) -> None:
        wrote = False
        for versions, run in runs(struct, context):
            if not versions:
                continue
            wrote = True
            condition = version_condition(versions, context)
            if condition is None:
                self._write_run(out, run, versions, flexible, "out")
            else:
                with out.block(f"if {condition}:"):
                    self._write_run(out, run, versions, flexible, "out")
        if flexible:
            self._write_tags(out, [f for f in struct.fields if f.tagged & context], context)
            if out.depth > 2:  # inside `if version >= flexible`
                out.add("return")
        elif not wrote:
            out.add("return")

    def _write_run(
        self, out: Lines, run: list[FieldSpec], versions: Versions, flex: bool, to: str
    ) -> None:
        if is_fixed(run[0]):
            name, _ = self._struct_of(run)
            values = ", ".join("self." + attribute(f) for f in run)
            out.add(f"{to} += {name}.pack({values})")
        else:
            self._write_field(out, run[0], versions, flex, to)

    def _write_field(
        self, out: Lines, f: FieldSpec, versions: Versions, flex: bool, to: str
    ) -> None:
        value = "self." + attribute(f)
        nullable = f.nullable & versions
        compact = flex and not f.always_classic
        if f.is_array:
            self._write_array(out, f, bool(nullable), compact, to)
        elif f.struct:
            self._write_struct(out, f, bool(nullable), to)
        elif f.type == "records":
            out.add(f"p.write_{'compact_' if compact else ''}records({to}, {value})")
        elif is_fixed(f):
            name, _ = self._struct_of([f])
            out.add(f"{to} += {name}.pack({value})")
        else:
            self._write_variable(out, f, bool(nullable), compact, to)

    def _write_variable(
        self, out: Lines, f: FieldSpec, nullable: bool, compact: bool, to: str
    ) -> None:
        value = "self." + attribute(f)
        if f.type == "bytes":
            out.add(f"p.write_{'compact_' if compact else ''}records({to}, {value})")
            return
        if f.nullable and not nullable:
            out.add(f"assert {value} is not None")
        writer = ("compact_" if compact else "") + ("nullable_" if nullable else "") + "string"
        out.add(f"{to} += p.{writer}({value})")

    def _write_struct(self, out: Lines, f: FieldSpec, nullable: bool, to: str) -> None:
        value = "self." + attribute(f)
        if not nullable:
            if self._may_be_none(f):
                out.add(f"assert {value} is not None")
            out.add(f"{value}.write({to}, version)")
            return
        with out.block(f"if {value} is None:"):
            null = "\\0" if f.tagged else "\\xff"
            out.add(f'{to} += b"{null}"')
        with out.block("else:"):
            out.add(f'{to} += b"\\x01"')
            out.add(f"{value}.write({to}, version)")

    def _write_array(
        self, out: Lines, f: FieldSpec, nullable: bool, compact: bool, to: str
    ) -> None:
        value = "self." + attribute(f)
        length = "p.uvarint(len({0}) + 1)" if compact else "p.array_length(len({0}))"
        null = 'b"\\0"' if compact else "p.array_length(-1)"
        if nullable:
            with out.block(f"if {value} is None:"):
                out.add(f"{to} += {null}")
            with out.block("else:"):
                self._write_items(out, f, length.format(value), compact, to)
        else:
            if f.nullable:
                out.add(f"assert {value} is not None")
            self._write_items(out, f, length.format(value), compact, to)

    def _write_items(self, out: Lines, f: FieldSpec, length: str, compact: bool, to: str) -> None:
        value = "self." + attribute(f)
        out.add(f"{to} += {length}")
        if f.type in FIXED_FORMATS and f.type != "uuid":
            out.add(f'{to} += Struct(f">{{len({value})}}{FIXED_FORMATS[f.type]}").pack(*{value})')
            return
        item = f"item_{local(f)}"
        with out.block(f"for {item} in {value}:"):
            if f.struct:
                out.add(f"{item}.write({to}, version)")
            elif f.type == "uuid":
                out.add(f"{to} += {item}")
            elif f.type == "string":
                out.add(f"{to} += p.{'compact_' if compact else ''}string({item})")
            else:
                raise ValueError(f"no writer for an array of {f.type}")

    def _write_tags(self, out: Lines, tagged: list[FieldSpec], context: Versions) -> None:
        if not tagged:
            out.add('out += b"\\0"')
            return
        out.add("tagged = []")
        for f in sorted(tagged, key=lambda f: f.tag or 0):
            condition = self._is_not_default(f)
            versions = version_condition(f.tagged & context, context)
            if versions:
                condition = f"{versions} and {condition}"
            with out.block(f"if {condition}:"):
                out.add("value = p.MessageBuffer()")
                self._write_field(out, f, f.tagged & context, True, "value")
                out.add(f"tagged.append(({f.tag}, value))")
        with out.block("if tagged:"):
            out.add("p.write_tagged_fields(out, tagged)")
        with out.block("else:"):
            out.add('out += b"\\0"')

    def _is_not_default(self, f: FieldSpec) -> str:
        value = "self." + attribute(f)
        default = self._default(f, False)
        if f.struct and not f.is_array and f.default != "null":
            test = "is None or" if f.nullable else "is not None and"
            return f"{value} {test} {value} != {self.class_names[id(f.struct)]}()"
        if default == "None":
            return f"{value} is not None"
        if default == "[]":
            return f"{value} is None or len({value})" if f.nullable else value
        return f"{value} != {default}"


# --- facts about fields --------------------------------------------------------------------------


def attribute(f: FieldSpec) -> str:
    name = f.attribute
    return name + "_" if keyword.iskeyword(name) else name


def local(f: FieldSpec) -> str:
    name = attribute(f)
    return name + "_" if name in RESERVED else name


def is_fixed(f: FieldSpec) -> bool:
    return f.type in FIXED_FORMATS and not f.is_array


def reader(f: FieldSpec, nullable: bool, compact: bool) -> str:
    return f"read_{'compact_' if compact else ''}{'nullable_' if nullable else ''}{f.type}"


def least_size(f: FieldSpec, context: Versions, flexible: bool) -> int:
    """The least number of bytes that one element of `f` takes in any version of `context`.

    An array length is held against it: so a short frame cannot ask for a long list.
    """
    if f.struct:
        return max(least_struct_size(f.struct, context, flexible), 1)
    if f.type in FIXED_SIZES:
        return FIXED_SIZES[f.type]
    if flexible:
        return 1
    return 2 if f.type == "string" else 4


def least_struct_size(struct: StructSpec, context: Versions, flexible: bool) -> int:
    """The least number of bytes of a struct: empty strings, empty arrays, no tagged fields."""
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
    """The untagged fields in order, neighbours of fixed size and equal versions together."""
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


def _scalar_default(f: FieldSpec) -> str:
    default = f.default
    if f.type == "string":
        return repr(default or "").replace("'", '"')
    if f.type in ("bytes", "records"):
        return 'b""'
    if f.type == "uuid":
        return "p.ZERO_UUID"
    if f.type == "bool":
        return "True" if str(default).lower() == "true" else "False"
    if f.type == "float64":
        return repr(float(default or 0))
    return str(int(str(default or 0), 0))


# --- modules -------------------------------------------------------------------------------------


def modules() -> dict[str, str]:
    """File name → source, of everything in `protocol/messages/`."""
    requests = json.loads((HERE / "definitions" / "requests.json").read_text())
    by_api: dict[int | None, list[MessageSpec]] = {}
    for definition in requests:
        spec = parse_message(definition)
        by_api.setdefault(spec.api_key, []).append(spec)
    sources: dict[str, str] = {}
    for key, messages in by_api.items():
        messages.sort(key=lambda m: m.name)  # …Request before …Response
        if key is None:
            sources["headers.py"] = ModuleWriter("Request and response headers", messages).source()
            continue
        api = messages[0].name.removesuffix("Request")
        title = f"{api} (API key {key})"
        sources[snake_case(api) + ".py"] = ModuleWriter(title, messages).source()
    for file, module in FAMILIES.items():
        definitions = json.loads((HERE / "definitions" / file).read_text())
        title = f"The messages of {file}"
        sources[module + ".py"] = ModuleWriter(
            title, [parse_message(d) for d in definitions]
        ).source()
    return sources


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    folder = HERE / "messages"
    wrong = []
    sources = modules()
    for name, source in sources.items():
        path = folder / name
        if path.exists() and path.read_text() == source:
            continue
        wrong.append(name)
        if not check:
            path.write_text(source)
    for path in folder.glob("*.py"):
        if path.name != "__init__.py" and path.name not in sources:
            wrong.append(path.name)
            if not check:
                path.unlink()
    if check and wrong:
        print(f"not what the generator writes: {', '.join(wrong)}; run python -m protocol.generate")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
