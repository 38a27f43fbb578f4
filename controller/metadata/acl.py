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
        by_pattern = dict(self.by_pattern)
        lengths = dict(self.prefix_lengths)
        for acl_id, acl in changes.items():
            old = by_id.pop(acl_id, None)
            if old is not None:
                _take_out(by_pattern, lengths, old)
            if acl is not None:
                by_id[acl_id] = acl
                _put_in(by_pattern, lengths, acl)
        return AclsImage(by_id, by_pattern, lengths)


def _put_in(
    by_pattern: dict[Pattern, tuple[Acl, ...]], lengths: dict[tuple[int, int], int], acl: Acl
) -> None:
    key = (acl.resource, acl.pattern, acl.name)
    known = by_pattern.get(key, ())
    by_pattern[key] = (*known, acl)
    if not known and acl.pattern == PatternType.PREFIXED:
        length = acl.resource, len(acl.name)
        lengths[length] = lengths.get(length, 0) + 1


def _take_out(
    by_pattern: dict[Pattern, tuple[Acl, ...]], lengths: dict[tuple[int, int], int], acl: Acl
) -> None:
    key = (acl.resource, acl.pattern, acl.name)
    left = list(by_pattern[key])
    left.remove(acl)
    if left:
        by_pattern[key] = tuple(left)
        return
    del by_pattern[key]
    if acl.pattern == PatternType.PREFIXED:
        length = acl.resource, len(acl.name)
        lengths[length] -= 1
        if not lengths[length]:
            del lengths[length]
