"""Messages of Protobuf as JSON, also if a part of a message has no form in JSON.

Protobuf's mapping to JSON rejects a whole message if the descriptors lack the type of an Any, or
if a Timestamp is out of its range. Here such a part is shown by its fields, and the rest as the
mapping has it. Needs protobuf (extra `decode`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_OWN = "google.protobuf."
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class MessageView:
    """The form of messages in JSON; the types of an Any are looked up in `pool`."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def shown(self, message: Message) -> object:
        """Return a message as values of JSON. Raises ValueError for a text that is not UTF-8."""
        mapped, is_whole = self._mapped(message)
        if is_whole:
            return mapped
        kind = message.DESCRIPTOR.full_name
        members: Any = message  # as the descriptor of its type has them
        if kind == f"{_OWN}Struct":
            return {key: self.shown(members.fields[key]) for key in members.fields}
        if kind == f"{_OWN}ListValue":
            return [self.shown(value) for value in members.values]
        if kind == f"{_OWN}Value":
            return next(iter(self._by_field(message).values()), None)
        if kind == f"{_OWN}Any":
            return self._any(message)
        return self._by_field(message)

    def _mapped(self, message: Message) -> tuple[object, bool]:
        """Return a message by Protobuf's mapping, and whether the mapping accepts all of it."""
        from google.protobuf import json_format
        from google.protobuf.message import DecodeError

        try:
            mapped = json_format.MessageToDict(
                message, preserving_proto_field_name=True, descriptor_pool=self._pool
            )
        except (json_format.Error, DecodeError, TypeError, ValueError):
            return None, False
        return mapped, True

    def _any(self, message: Message) -> dict[str, object]:
        """Return an Any by its type, or its URL and bytes if the type is unknown."""
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        packed: Any = message
        try:
            kind = self._pool.FindMessageTypeByName(packed.type_url.rpartition("/")[2])
            content = self.shown(GetMessageClass(kind).FromString(packed.value))
        except (KeyError, DecodeError):
            return self._by_field(message)
        inner = content if isinstance(content, dict) else {"value": content}
        return {"@type": packed.type_url, **inner}

    def _by_field(self, message: Message) -> dict[str, object]:
        """Return the fields that are set, in their order."""
        fields = message.ListFields()
        plain = type(message)()
        plain.CopyFrom(message)
        for field, _ in fields:
            if _holds_messages(field):
                plain.ClearExtension(field) if field.is_extension else plain.ClearField(field.name)
        mapped, is_whole = self._mapped(plain)
        shown: dict[str, object] = {}
        for field, value in fields:
            name = f"[{field.full_name}]" if field.is_extension else field.name
            if _holds_messages(field):
                shown[name] = self._of_messages(value)
            elif is_whole and isinstance(mapped, dict):
                shown[name] = mapped[name]
            else:  # of a type with a JSON of its own, such as a Timestamp out of its range
                shown[name] = _simple(field, value)
        return shown

    def _of_messages(self, value: object) -> object:
        found: Any = value
        if hasattr(value, "ListFields"):
            return self.shown(found)
        if hasattr(value, "items"):
            return {_key(key): self.shown(one) for key, one in found.items()}
        return [self.shown(one) for one in found]


def _holds_messages(field: FieldDescriptor) -> bool:
    """Return whether a field has messages; a map of numbers or texts has none."""
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        kind = kind.fields_by_name["value"].message_type
    return kind is not None


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _simple(field: FieldDescriptor, value: object) -> object:
    """Return a field of one of Protobuf's own types as a value of JSON."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float):
        return _NOT_FINITE.get(str(value), value)
    if isinstance(value, int):
        return str(value) if field.cpp_type == field.CPPTYPE_INT64 else value
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
