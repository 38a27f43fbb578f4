"""The writer of the body of `write`: straight-line code for one encoding of a struct."""

from __future__ import annotations

from protocol.generator.field_rules import (
    Lines,
    attribute,
    is_fixed,
    local,
    runs,
    version_condition,
)
from protocol.generator.schema import FIXED_FORMATS, FieldSpec, StructSpec, Versions
from protocol.generator.struct_names import StructNames


class WriteWriter:
    """The writer of one module's `write` methods."""

    def __init__(self, names: StructNames) -> None:
        self.names = names

    def body(self, out: Lines, struct: StructSpec, context: Versions, flexible: bool) -> None:
        """Append to `out` the code that writes a struct in these versions."""
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
        """Append to `out` the code that writes a run: fixed-size fields at once, or a single other
        field. `to` is the generated code's variable of the buffer."""
        if is_fixed(run[0]):
            name, _ = self.names.struct_of(run)
            values = ", ".join("self." + attribute(f) for f in run)
            out.add(f"{to} += {name}.pack({values})")
        else:
            self._write_field(out, run[0], versions, flex, to)

    def _write_field(
        self, out: Lines, f: FieldSpec, versions: Versions, flex: bool, to: str
    ) -> None:
        """Append to `out` the code that writes a field to the variable `to`."""
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
            name, _ = self.names.struct_of([f])
            out.add(f"{to} += {name}.pack({value})")
        else:
            self._write_variable(out, f, bool(nullable), compact, to)

    def _write_variable(
        self, out: Lines, f: FieldSpec, nullable: bool, compact: bool, to: str
    ) -> None:
        """Append to `out` the code that writes a string or bytes to the variable `to`.

        Where null is invalid, the code asserts that a string is not None.
        """
        value = "self." + attribute(f)
        if f.type == "bytes":
            out.add(f"p.write_{'compact_' if compact else ''}records({to}, {value})")
            return
        if f.nullable and not nullable:
            out.add(f"assert {value} is not None")
        writer = ("compact_" if compact else "") + ("nullable_" if nullable else "") + "string"
        out.add(f"{to} += p.{writer}({value})")

    def _write_struct(self, out: Lines, f: FieldSpec, nullable: bool, to: str) -> None:
        """Append to `out` the code that writes a struct, after a byte that is null's if `nullable`.

        Where null is invalid, the code asserts that the struct is not None.
        """
        value = "self." + attribute(f)
        if not nullable:
            if self.names.may_be_none(f):
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
        """Append to `out` the code that writes an array to the variable `to`.

        Where null is invalid, the code asserts that the array is not None.
        """
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
        """Append to `out` the code that writes an array's length, the expression `length`, and its
        items.

        Raises ValueError at an item type without a writer.
        """
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
        """Append to `out` the code that writes the tagged fields that differ from their
        defaults."""
        if not tagged:
            out.add('out += b"\\0"')
            return
        out.add("tagged = []")
        for f in sorted(tagged, key=lambda f: f.tag or 0):
            condition = self._differs_from_default(f)
            versions = version_condition(f.tagged & context, context)
            if versions:
                grouped = f"({condition})" if " or " in condition else condition
                condition = f"{versions} and {grouped}"
            with out.block(f"if {condition}:"):
                out.add("value = p.MessageBuffer()")
                self._write_field(out, f, f.tagged & context, True, "value")
                out.add(f"tagged.append(({f.tag}, value))")
        with out.block("if tagged:"):
            out.add("p.write_tagged_fields(out, tagged)")
        with out.block("else:"):
            out.add('out += b"\\0"')

    def _differs_from_default(self, f: FieldSpec) -> str:
        """Return the Python condition that the field's value is not its default."""
        value = "self." + attribute(f)
        default = self.names.default(f, False)
        if f.struct and not f.is_array and f.default != "null":
            test = "is None or" if f.nullable else "is not None and"
            return f"{value} {test} {value} != {self.names.class_names[id(f.struct)]}()"
        if default == "None":
            return f"{value} is not None"
        if default == "[]":
            return f"{value} is None or len({value})" if f.nullable else value
        return f"{value} != {default}"
