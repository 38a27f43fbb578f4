"""An access control entry, and the image of all of them.

Owns: which entries can speak about a resource, found without looking at the others. Never judges:
that is `controller.authorization.standard_authorizer`.

Follows Kafka's `StandardAcl`, `AclsImage` and KIP-290 (prefixed patterns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.metadata_records import AccessControlEntryRecord

WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
ANY_HOST = "*"
ALL = 2
"""The operation that stands for each."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class PatternType(IntEnum):
    """How the name of an entry's resource is meant."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an entry says."""

    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One entry. Numbers that this release does not know are kept, and match nothing."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        """As the audit log names it."""
        operation = "ALL" if self.operation == ALL else _name(Operation, self.operation)
        return (
            f"{_name(Permission, self.permission)} {operation} for {self.principal} "
            f"from {self.host} on {_name(Resource, self.resource)}:"
            f"{_name(PatternType, self.pattern)}:{self.name}"
        )


def acl_of(record: AccessControlEntryRecord) -> Acl:
    """What the metadata log keeps, as an entry."""
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def _name(kinds: type[IntEnum], number: int) -> str:
    return next((one.name for one in kinds if one == number), str(number))


Pattern = tuple[int, int, str]
"""Resource type, pattern type and name."""


class AclsImage(NamedTuple):
    """All entries, by their ids and by what they speak about."""

    by_id: Mapping[bytes, Acl] = _NOTHING
    by_pattern: Mapping[Pattern, tuple[Acl, ...]] = _NOTHING
    prefix_lengths: Mapping[tuple[int, int], int] = _NOTHING
    """Resource type and length → how many prefixes of that length there are."""

    def about(self, resource: int, name: str) -> Iterator[Acl]:
        """The entries whose pattern matches the resource."""
        by_pattern = self.by_pattern
        yield from by_pattern.get((resource, PatternType.LITERAL, name), ())
        if name != WILDCARD:
            yield from by_pattern.get((resource, PatternType.LITERAL, WILDCARD), ())
        for kind, length in self.prefix_lengths:
            if kind == resource and length <= len(name):
                yield from by_pattern.get((resource, PatternType.PREFIXED, name[:length]), ())

    def changed(self, changes: Mapping[bytes, Acl | None]) -> AclsImage:
        """The image after `changes`: an entry by its id, or None where it goes."""
        if not changes:
            return self
        by_id = dict(self.by_id)
        about: dict[Pattern, list[Acl]] = {}
        for acl_id, acl in changes.items():
            old = by_id.pop(acl_id, None)
            if old is not None:
                self._touched(about, old).remove(old)
            if acl is not None:
                by_id[acl_id] = acl
                self._touched(about, acl).append(acl)
        by_pattern = dict(self.by_pattern)
        lengths = dict(self.prefix_lengths)
        for pattern, acls in about.items():
            was_there = by_pattern.pop(pattern, None) is not None
            if acls:
                by_pattern[pattern] = tuple(acls)
            _count(lengths, pattern, bool(acls) - was_there)
        return AclsImage(by_id, by_pattern, lengths)

    def _touched(self, about: dict[Pattern, list[Acl]], acl: Acl) -> list[Acl]:
        """All that speaks about the same as `acl`, to be changed."""
        pattern = acl.resource, acl.pattern, acl.name
        if pattern not in about:
            about[pattern] = list(self.by_pattern.get(pattern, ()))
        return about[pattern]


def _count(lengths: dict[tuple[int, int], int], pattern: Pattern, more: int) -> None:
    resource, kind, name = pattern
    if kind != PatternType.PREFIXED or not more:
        return
    length = resource, len(name)
    lengths[length] = lengths.get(length, 0) + more
    if not lengths[length]:
        del lengths[length]
