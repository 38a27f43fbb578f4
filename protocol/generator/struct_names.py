"""The names and types of the classes of one module, which its writers share."""

from __future__ import annotations

from protocol.generator.field_rules import scalar_default
from protocol.generator.schema import FIXED_FORMATS, FIXED_SIZES, FieldSpec, MessageSpec

PYTHON_TYPES = {"bool": "bool", "float64": "float", "uuid": "bytes", "string": "str"}


class StructNames:
    """The class names, annotations and defaults of a module, and its `struct.Struct` constants."""

    def __init__(self, messages: list[MessageSpec]) -> None:
        self.messages = messages
        self.class_names = self._name_classes()
        self.formats: dict[str, str] = {}

    def _name_classes(self) -> dict[int, str]:
        """Return the class name of each struct, by its identity. Structs of different messages
        with the same name get the message's name as a prefix."""
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

    def struct_of(self, fields: list[FieldSpec]) -> tuple[str, int]:
        """Return the name of the `struct.Struct` constant for these fields of fixed size, and their
        size in bytes. Add the constant to `formats`."""
        fmt = "".join(FIXED_FORMATS[f.type] for f in fields)
        name = "_" + fmt.replace("?", "T").replace("16s", "U")
        self.formats[fmt] = name
        return name, sum(FIXED_SIZES[f.type] for f in fields)

    def element_type(self, f: FieldSpec) -> str:
        """Return the annotation of the field's value, or of an array's item, without None."""
        if f.struct:
            return self.class_names[id(f.struct)]
        if f.type == "records":
            return "p.Records"
        return PYTHON_TYPES.get(f.type, "bytes" if f.type == "bytes" else "int")

    def annotation(self, f: FieldSpec) -> str:
        """Return the annotation of the field's attribute, with `| None` if it may be None."""
        kind = self.element_type(f)
        if f.is_array:
            kind = f"list[{kind}]"
        return f"{kind} | None" if self.may_be_none(f) else kind

    def may_be_none(self, f: FieldSpec) -> bool:
        """Return whether the attribute may be None: the field is nullable in any version, or is a
        tagged struct."""
        # A tagged struct that was not sent is None, so that no default is built and compared.
        return bool(f.nullable) or (f.struct is not None and not f.is_array and bool(f.tagged))

    def default(self, f: FieldSpec, in_signature: bool) -> str:
        """Return the Python expression of the default.

        In a signature, NEW stands for a mutable default.
        """
        is_struct = f.struct is not None and not f.is_array
        if f.default == "null" or (is_struct and f.tagged and not f.nullable):
            return "None"
        if f.is_array:
            return "NEW" if in_signature else "[]"
        if f.struct:
            kind = self.class_names[id(f.struct)]
            return "NEW" if in_signature else f"{kind}()"
        return scalar_default(f)
