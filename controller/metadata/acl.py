"""An access control entry, and the image of all of them.

Owns: which entries can speak about a resource, found without looking at the others; and which
addresses their hosts are, while the hosts stay as they were written. Never judges: that is
`controller.authorization.standard_authorizer`.

Follows Kafka's `StandardAcl`, `AclsImage` and KIP-290 (prefixed patterns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ottla.plugins.authorizer import Operation, Resource
from protocol.ip_address import is_for, one_spelling
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
    """An access control entry. Numbers that this release does not know are kept, and match nothing;
    a permission that is neither of the two denies, as in Kafka."""

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


PatternForWhom = tuple[int, int, str, str]
"""The same, and a principal."""


class AclsImage(NamedTuple):
    """All entries, by their ids, by what they speak about, and by that and for whom."""

    by_id: Mapping[bytes, Acl] = _NOTHING
    by_pattern: Mapping[Pattern, tuple[Acl, ...]] = _NOTHING
    by_whom: Mapping[PatternForWhom, tuple[Acl, ...]] = _NOTHING
    prefix_lengths: Mapping[tuple[int, int], int] = _NOTHING
    """Resource type and length → how many prefixes of that length there are."""
    addresses: Mapping[str, str] = _NOTHING
    """Host of an entry → its one spelling, of those that may have others: IPv6 addresses. So none
    is parsed while a request waits."""

    def address_of(self, acl: Acl) -> str:
        """Return the host of one of the entries, in the spelling in which hosts are compared."""
        return self.addresses.get(acl.host, acl.host)

    def is_for_host(self, acl: Acl, host: str) -> bool:
        """Tell whether one of the entries is for clients at `host`, an address in its one spelling.

        A denial reaches the address in each zone: a request that was passed on has lost its zone,
        and must not slip past the denial.
        """
        address = self.addresses.get(acl.host, acl.host)
        if address in (host, ANY_HOST):
            return True
        if "%" not in address and "%" not in host:  # most of them, and this is quick
            return False
        return is_for(address, host, any_zone=acl.permission == Permission.DENY)

    def about(self, resource: int, name: str) -> Iterator[Acl]:
        """The entries whose pattern matches the resource."""
        by_pattern = self.by_pattern
        for pattern in self._matching(resource, name):
            yield from by_pattern.get(pattern, ())

    def for_whom(self, resource: int, name: str, principal: str) -> Iterator[Acl]:
        """Those of `about` that are for this principal or for everybody. However many there are for
        others, they are not looked at."""
        by_whom = self.by_whom
        for resource_type, kind, named in self._matching(resource, name):
            yield from by_whom.get((resource_type, kind, named, principal), ())
            yield from by_whom.get((resource_type, kind, named, WILDCARD_PRINCIPAL), ())

    def _matching(self, resource: int, name: str) -> Iterator[Pattern]:
        """The patterns that match the resource, also such as nobody speaks about."""
        yield resource, PatternType.LITERAL, name
        if name != WILDCARD:
            yield resource, PatternType.LITERAL, WILDCARD
        for kind, length in self.prefix_lengths:
            if kind == resource and length <= len(name):
                yield resource, PatternType.PREFIXED, name[:length]

    def changed(self, changes: Mapping[bytes, Acl | None]) -> AclsImage:
        """The image after `changes`: an entry by its id, or None where it goes."""
        if not changes:
            return self
        by_id = dict(self.by_id)
        about: dict[Pattern, list[Acl]] = {}
        for_whom: dict[PatternForWhom, list[Acl]] = {}
        for acl_id, acl in changes.items():
            old = by_id.pop(acl_id, None)
            if old is not None:
                _touched(about, self.by_pattern, _pattern(old)).remove(old)
                _touched(for_whom, self.by_whom, _pattern_for_whom(old)).remove(old)
            if acl is not None:
                by_id[acl_id] = acl
                _touched(about, self.by_pattern, _pattern(acl)).append(acl)
                _touched(for_whom, self.by_whom, _pattern_for_whom(acl)).append(acl)
        lengths = dict(self.prefix_lengths)
        for pattern, acls in about.items():
            _count(lengths, pattern, bool(acls) - (pattern in self.by_pattern))
        by_pattern, by_whom = _with(self.by_pattern, about), _with(self.by_whom, for_whom)
        addresses = self._addresses_after(changes, by_id)
        return AclsImage(by_id, by_pattern, by_whom, lengths, addresses)

    def _addresses_after(
        self, changes: Mapping[bytes, Acl | None], by_id: Mapping[bytes, Acl]
    ) -> Mapping[str, str]:
        addresses = dict(self.addresses)
        for acl in changes.values():
            if acl is not None and ":" in acl.host and acl.host not in addresses:
                addresses[acl.host] = one_spelling(acl.host)
        replaced = (self.by_id[acl_id] for acl_id in changes if acl_id in self.by_id)
        if any(acl.host in self.addresses for acl in replaced):
            hosts = {acl.host for acl in by_id.values()}
            return {host: address for host, address in addresses.items() if host in hosts}
        return addresses


_Key = TypeVar("_Key")


def _pattern(acl: Acl) -> Pattern:
    return acl.resource, acl.pattern, acl.name


def _pattern_for_whom(acl: Acl) -> PatternForWhom:
    return acl.resource, acl.pattern, acl.name, acl.principal


def _touched(
    changed: dict[_Key, list[Acl]], before: Mapping[_Key, tuple[Acl, ...]], key: _Key
) -> list[Acl]:
    """The entries under a key, to be changed."""
    if key not in changed:
        changed[key] = list(before.get(key, ()))
    return changed[key]


def _with(
    before: Mapping[_Key, tuple[Acl, ...]], changed: Mapping[_Key, list[Acl]]
) -> Mapping[_Key, tuple[Acl, ...]]:
    """What was changed in the place of what was there; nothing stands under a key without any."""
    after = dict(before)
    for key, acls in changed.items():
        after.pop(key, None)
        if acls:
            after[key] = tuple(acls)
    return after


def _count(lengths: dict[tuple[int, int], int], pattern: Pattern, more: int) -> None:
    resource, kind, name = pattern
    if kind != PatternType.PREFIXED or not more:
        return
    length = resource, len(name)
    lengths[length] = lengths.get(length, 0) + more
    if not lengths[length]:
        del lengths[length]
