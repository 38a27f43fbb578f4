"""The writer of one module of `protocol/messages/`: a class for each struct of its messages."""

from __future__ import annotations

from collections.abc import Callable

from protocol.generator.field_rules import INDENT, Lines, attribute, local
from protocol.generator.read_writer import ReadWriter
from protocol.generator.schema import MessageSpec, StructSpec, Versions, holds_arrays
from protocol.generator.struct_names import StructNames
from protocol.generator.write_writer import WriteWriter

Body = Callable[[Lines, StructSpec, Versions, bool], None]

OF_PEERS = ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment")
"""The messages inside the bytes fields of requests, which are read in steps as requests are."""
PASSED_ON = (
    "AlterClientQuotasResponse",
    "AlterConfigsResponse",
    "AlterPartitionReassignmentsResponse",
    "AlterUserScramCredentialsResponse",
    "CreateAclsResponse",
    "CreatePartitionsResponse",
    "CreateTopicsResponse",
    "DeleteAclsResponse",
    "DeleteTopicsResponse",
    "ElectLeadersResponse",
    "IncrementalAlterConfigsResponse",
    "ListPartitionReassignmentsResponse",
    "UpdateFeaturesResponse",
)
"""The controller's responses that a broker forwards to clients, whose requests decide how long they
are."""


class ModuleWriter:
    """The writer of one module of messages."""

    def __init__(self, title: str, messages: list[MessageSpec]) -> None:
        self.title = title
        self.messages = messages
        self.names = StructNames(messages)
        self._read = ReadWriter(self.names)
        self._read_steps = ReadWriter(self.names, in_steps=True)
        self._write = WriteWriter(self.names)

    def source(self) -> str:
        """Return the text of the module."""
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
        """Return the docstring, imports and compiled formats.

        The classes, written before, name the formats.
        """
        sliced = ", SlicedMessage" if self._is_sliced else ""
        head = [
            f'"""{self.title}. Written by protocol/generate.py: do not edit."""',
            "",
            "from __future__ import annotations",
            "",
            "from struct import Struct",
            "from typing import ClassVar",
            "",
            "from protocol import primitives as p",
            f"from protocol.message import NEW, Message{sliced}",
            "",
        ]
        head += [f'{name} = Struct(">{fmt}")' for fmt, name in sorted(self.names.formats.items())]
        return head

    @property
    def _is_sliced(self) -> bool:
        """Whether a message of the module is read in slices, because it has arrays and its peer
        chooses their lengths."""
        return any(_is_read_in_steps(m) and holds_arrays(m.structs[-1]) for m in self.messages)

    def _class(self, out: Lines, message: MessageSpec, struct: StructSpec) -> None:
        """Append a struct's class to `out`; that of the message itself also gets the constants."""
        name = self.names.class_names[id(struct)]
        out.add("")
        out.add("")
        in_steps = _is_read_in_steps(message) and holds_arrays(struct)
        with out.block(f"class {name}({'SlicedMessage' if in_steps else 'Message'}):"):
            if struct is message.structs[-1]:
                self._constants(out, message)
            slots = ", ".join(f'"{attribute(f)}"' for f in struct.fields)
            comma = "," if len(struct.fields) == 1 else ""
            out.add(f"__slots__ = ({slots}{comma})")
            out.add("")
            self._init(out, struct)
            out.add("@classmethod")
            head = f"def read(cls, buf: memoryview, pos: int, version: int) -> tuple[{name}, int]:"
            if in_steps:
                arguments = "cls, buf: memoryview, pos: int, version: int, stop: int"
                head = f"def read_steps({arguments}) -> p.ReadSteps[{name}]:"
            with out.block(head):
                for f in struct.fields:
                    if f.is_array or self.names.may_be_none(f):
                        out.add(f"{local(f)}: {self.names.annotation(f)}")
                read = self._read_steps if in_steps else self._read
                self._per_encoding(out, message, struct, read.body)
            out.add("")
            with out.block("def write(self, out: p.MessageBuffer, version: int) -> None:"):
                if any(f.tagged for f in struct.fields):
                    out.add("tagged: list[tuple[int, p.MessageBuffer]]")
                self._per_encoding(out, message, struct, self._write.body)

    def _init(self, out: Lines, struct: StructSpec) -> None:
        """Append `__init__` to `out`, if the struct has fields."""
        if not struct.fields:
            return
        out.add("def __init__(")
        out.add(INDENT + "self,")
        for f in struct.fields:
            annotation, default = self.names.annotation(f), self.names.default(f, True)
            out.add(f"{INDENT}{attribute(f)}: {annotation} = {default},")
        with out.block(") -> None:"):
            for f in struct.fields:
                name, new = attribute(f), self.names.default(f, False)
                if self.names.default(f, True) == "NEW":
                    out.add(f"self.{name} = {new} if {name} is NEW else {name}")
                else:
                    out.add(f"self.{name} = {name}")
        out.add("")

    def _constants(self, out: Lines, message: MessageSpec) -> None:
        """Append the constants of the message's API key and versions to `out`."""
        flexible = message.flexible.low if message.flexible else 32767
        if message.api_key is not None:
            out.add(f"API_KEY: ClassVar[int] = {message.api_key}")
        out.add(f"MIN_VERSION: ClassVar[int] = {message.versions.low}")
        out.add(f"MAX_VERSION: ClassVar[int] = {message.versions.high}")
        out.add(f"FLEXIBLE_FROM: ClassVar[int] = {flexible}")
        out.add("")

    def _per_encoding(
        self, out: Lines, message: MessageSpec, struct: StructSpec, body: Body
    ) -> None:
        """Append to `out`, by `body`, the code of each encoding, flexible and classic, that the
        message has."""
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


def _is_read_in_steps(message: MessageSpec) -> bool:
    """Return whether a client chooses the lengths of the message's arrays: in requests, in messages
    within them, and in responses that a broker forwards."""
    return message.kind == "request" or message.name in (*OF_PEERS, *PASSED_ON)
