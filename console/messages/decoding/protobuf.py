"""Protobuf data, decoded by a message of a descriptor. Needs protobuf (extra `decode`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from console.messages.decoding.message_view import MessageView
from console.messages.decoding.wire import Undecodable

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

_KNOWN_TYPES = (
    "any",
    "api",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
)


class ProtoFiles:
    """The message types of files that may import each other."""

    def __init__(self, files: Iterable[bytes]) -> None:
        """Parse FileDescriptorProtos in any order; `message_at` looks into the last.

        Raises Undecodable.
        """
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError

        parsed = []
        try:
            parsed = [descriptor_pb2.FileDescriptorProto.FromString(data) for data in files]
        except DecodeError:
            raise Undecodable("this is not a Protobuf descriptor") from None
        self._pool = descriptor_pool.DescriptorPool()
        self._last = parsed[-1].name if parsed else ""
        self._add({file.name: file for file in parsed})

    @classmethod
    def of_set(cls, data: bytes) -> ProtoFiles:
        """Parse a file that `protoc --descriptor_set_out` wrote. Raises Undecodable."""
        from google.protobuf import descriptor_pb2
        from google.protobuf.message import DecodeError

        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(data).file
        except DecodeError:
            raise Undecodable("this is not a descriptor set that protoc wrote") from None
        return cls([file.SerializeToString() for file in files])

    def message(self, name: str) -> ProtoMessage:
        """Return the message type with this full name. Raises Undecodable."""
        try:
            return ProtoMessage(self._pool, self._pool.FindMessageTypeByName(name))
        except KeyError:
            raise Undecodable(f"the descriptors have no message {name}") from None

    def message_at(self, indexes: Sequence[int]) -> ProtoMessage:
        """Return the message type at this place in the last file. Raises Undecodable."""
        file = self._pool.FindFileByName(self._last)
        level = list(file.message_types_by_name.values())
        kind = None
        for index in indexes:
            if not 0 <= index < len(level):
                raise Undecodable(f"the schema has no message number {index}")
            kind = level[index]
            level = list(kind.nested_types)
        return ProtoMessage(self._pool, kind)

    def _add(self, files: dict[str, FileDescriptorProto]) -> None:
        """Add the files, each after those that it imports. Raises Undecodable."""
        well_known = _well_known()
        added: set[str] = set()

        def add(name: str) -> None:
            if name in added:
                return
            added.add(name)
            file = files.get(name) or well_known.get(name)
            if file is None:
                raise Undecodable(f"the descriptors lack {name}: run protoc with --include_imports")
            for needed in file.dependency:
                add(needed)
            try:
                self._pool.Add(file)
            except TypeError as error:
                raise Undecodable(f"{name} is not a valid Protobuf file ({error})") from None

        for name in files:
            add(name)


class ProtoMessage:
    """A message type, which decodes data: `message.decode(data)`."""

    def __init__(self, pool: DescriptorPool, descriptor: Descriptor) -> None:
        from google.protobuf.message_factory import GetMessageClass

        self._pool = pool
        self._class = GetMessageClass(descriptor)
        self.name = str(descriptor.full_name)

    def decode(self, data: bytes) -> object:
        """Return the fields that are set in a message, by their names. Raises Undecodable."""
        from google.protobuf.message import DecodeError

        try:
            return MessageView(self._pool).shown(self._class.FromString(data))
        except RecursionError:
            raise Undecodable("the messages of the value are nested too deeply") from None
        except (DecodeError, ValueError):
            raise Undecodable(
                f"the value does not match the Protobuf message {self.name}"
            ) from None


def _well_known() -> dict[str, FileDescriptorProto]:
    from importlib import import_module

    from google.protobuf import descriptor_pb2

    files = {}
    for name in _KNOWN_TYPES:
        module = import_module(f"google.protobuf.{name}_pb2")
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        files[file.name] = file
    return files
