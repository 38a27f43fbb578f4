"""The writer of the body of `read`: straight-line code for one encoding of a struct.

If a struct of a request, or of some responses, has arrays, it has `read_steps` instead: a generator
that yields after each slice of the frame, because the peer chooses the length of an array, and the
event loop has other connections to serve. `stop` is the position at which the slice ends.
"""

from __future__ import annotations

from protocol.generator.field_rules import (
    Lines,
    attribute,
    is_fixed,
    least_size,
    local,
    reader,
    runs,
    version_condition,
)
from protocol.generator.schema import (
    FIXED_FORMATS,
    FIXED_SIZES,
    FieldSpec,
    StructSpec,
    Versions,
    holds_arrays,
)
from protocol.generator.struct_names import StructNames

UNREAD_TYPES = ("bytes", "records")
"""The types whose bytes are passed on unread, and do not count for a slice."""


class ReadWriter:
    """The writer of the `read` methods of one module, or of its `read_steps` methods."""

    def __init__(self, names: StructNames, in_steps: bool = False) -> None:
        self.names = names
        self._in_steps = in_steps

    def body(self, out: Lines, struct: StructSpec, context: Versions, flexible: bool) -> None:
        """Append to `out` the code that reads a struct in these versions and returns it with its
        end."""
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
        out.add(f"return cls({names}), pos" + (", stop" if self._in_steps else ""))

    def _assign_defaults(self, out: Lines, fields: list[FieldSpec]) -> None:
        """Append to `out` the lines that set the fields' local variables to their defaults."""
        for f in fields:
            out.add(f"{local(f)} = {self.names.default(f, False)}")

    def _read_run(self, out: Lines, run: list[FieldSpec], versions: Versions, flex: bool) -> None:
        """Append to `out` the code that reads a run: fixed-size fields at once, or a single other
        field."""
        if is_fixed(run[0]):
            name, size = self.names.struct_of(run)
            targets = ", ".join(local(f) for f in run)
            if len(run) == 1:
                targets = f"({targets},)"
            out.add(f"{targets} = {name}.unpack_from(buf, pos)")
            out.add(f"pos += {size}")
        else:
            self._read_field(out, run[0], versions, flex)

    def _read_field(self, out: Lines, f: FieldSpec, versions: Versions, flex: bool) -> None:
        """Append to `out` the code that reads a field, which may be nullable in some of the
        versions only."""
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
            name, size = self.names.struct_of([f])
            out.add(f"({local(f)},) = {name}.unpack_from(buf, pos)")
            out.add(f"pos += {size}")
        else:
            out.add(f"{local(f)}, pos = p.{reader(f, bool(nullable), compact)}(buf, pos)")
            if self._in_steps and f.type in UNREAD_TYPES:
                out.add(f"stop += p.unread_bytes({local(f)})")

    def _read_struct(self, out: Lines, f: FieldSpec, versions: Versions) -> None:
        """Append to `out` the code that reads a struct, or None if the field is nullable in these
        versions and its first byte says null."""
        if not f.nullable & versions:
            self._read_class(out, f, local(f))
            return
        if f.tagged:  # a varint says whether the struct is present; elsewhere a signed byte does
            out.add("n, pos = p.read_uvarint(buf, pos)")
        else:
            out.add("pos += 1")
        with out.block("if n == 0:" if f.tagged else "if buf[pos - 1] > 127:"):
            out.add(f"{local(f)} = None")
        with out.block("else:"):
            self._read_class(out, f, local(f))

    def _read_class(self, out: Lines, f: FieldSpec, target: str) -> None:
        """Append to `out` the code that reads a struct of the field's class into the variable
        `target`."""
        assert f.struct is not None
        kind = self.names.class_names[id(f.struct)]
        if not self._in_steps:
            out.add(f"{target}, pos = {kind}.read(buf, pos, version)")
        elif holds_arrays(f.struct):
            out.add(f"{target}, pos, stop = yield from {kind}.read_steps(buf, pos, version, stop)")
        else:
            out.add(f"{target}, pos = {kind}.read(buf, pos, version)")
            for inner in f.struct.fields:
                if inner.type in UNREAD_TYPES:
                    out.add(f"stop += p.unread_bytes({target}.{attribute(inner)})")

    def _read_array(self, out: Lines, f: FieldSpec, versions: Versions, compact: bool) -> None:
        """Append to `out` the code that reads an array. That code rejects null where null is
        invalid."""
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
        """Append to `out` the code that reads an array's `n` items; if in steps, it yields after
        each slice."""
        if f.type in FIXED_FORMATS and f.type != "uuid":
            if self._in_steps:
                code, size = FIXED_FORMATS[f.type], FIXED_SIZES[f.type]
                call = f'p.read_numbers(buf, pos, n, "{code}", {size}, stop)'
                out.add(f"{local(f)}, pos, stop = yield from {call}")
                return
            items = f'Struct(f">{{n}}{FIXED_FORMATS[f.type]}").unpack_from(buf, pos)'
            out.add(f"{local(f)} = list({items})")
            out.add(f"pos += n * {FIXED_SIZES[f.type]}")
            return
        out.add(f"{local(f)} = []")
        with out.block("for _ in range(n):"):
            if self._in_steps:
                with out.block("if pos > stop:"):
                    out.add("yield")
                    out.add("stop = pos + p.SLICE_BYTES")
            if f.struct:
                self._read_class(out, f, f"item_{local(f)}")
            elif f.type == "uuid":
                out.add(f"item_{local(f)} = bytes(buf[pos : pos + 16])")
                out.add("pos += 16")
            else:
                out.add(f"item_{local(f)}, pos = p.{reader(f, False, compact)}(buf, pos)")
            out.add(f"{local(f)}.append(item_{local(f)})")

    def _read_tags(self, out: Lines, tagged: list[FieldSpec], context: Versions) -> None:
        """Append to `out` the code that reads these tagged fields and skips others."""
        if not tagged:
            with out.block("if buf[pos]:"):
                out.add("pos = p.skip_tagged_fields(buf, pos)")
            with out.block("else:"):
                out.add("pos += 1")
            return
        out.add("tags, pos = p.read_tag_count(buf, pos)")
        with out.block("for _ in range(tags):"):
            out.add("tag, pos, size = p.read_tag(buf, pos)")
            word = "if"
            for f in tagged:
                condition = version_condition(f.tagged & context, context)
                extra = f" and {condition}" if condition else ""
                with out.block(f"{word} tag == {f.tag}{extra}:"):
                    self._read_field(out, f, f.tagged & context, True)
                word = "elif"
            with out.block("else:"):
                out.add("pos = p.skip_tag(buf, pos, size)")
