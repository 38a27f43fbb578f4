"""An access control entry, and the image of all of them.

Owns: the index that finds the entries for a resource without a scan of all entries. It also owns
the normalized addresses of the hosts, and the ranges that hosts describe; the hosts themselves stay
as they were written. Never evaluates entries: `controller.authorization.standard_authorizer` does.

Follows Kafka's `StandardAcl`, `AclsImage` and KIP-290 (prefixed patterns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ottla.plugins.authorizer import Operation, Resource
from protocol.address_range import AddressRange, address_range
from protocol.ip_address import canonical_address, matches_client
from protocol.messages.metadata_records import AccessControlEntryRecord

WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
ANY_HOST = "*"
ALL = 2
"""The number that means every operation, as the operation of an entry."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class PatternType(IntEnum):
    """The way in which an entry's name matches resources."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """The effect of an entry on the operations that it matches."""

    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """An access control entry. Numbers that this release does not know are kept, and match nothing.
    An unknown permission denies, as in Kafka."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        """Return the entry as the audit log shows it, such as `ALLOW READ for User:alice from * on
        TOPIC:LITERAL:orders`."""
        operation = "ALL" if self.operation == ALL else _name(Operation, self.operation)
        return (
            f"{_name(Permission, self.permission)} {operation} for {self.principal} "
            f"from {self.host} on {_name(Resource, self.resource)}:"
            f"{_name(PatternType, self.pattern)}:{self.name}"
        )


def acl_of(record: AccessControlEntryRecord) -> Acl:
    """Return the entry that a record of the metadata log contains."""
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
    """Return the name of the member of `kinds` with this number; the number as text if no member
    has it."""
    return next((kind.name for kind in kinds if kind == number), str(number))


Pattern = tuple[int, int, str]
"""The resource type, pattern type and name of an entry."""


PatternAndPrincipal = tuple[int, int, str, str]
"""The resource type, pattern type, name and principal of an entry."""


class AclsImage(NamedTuple):
    """All entries: by id, by pattern, and by pattern and principal."""

    by_id: Mapping[bytes, Acl] = _NOTHING
    by_pattern: Mapping[Pattern, tuple[Acl, ...]] = _NOTHING
    by_principal: Mapping[PatternAndPrincipal, tuple[Acl, ...]] = _NOTHING
    prefix_lengths: Mapping[tuple[int, int], int] = _NOTHING
    """The number of prefixed patterns, by resource type and the length of the prefix."""
    addresses: Mapping[str, str | AddressRange] = _NOTHING
    """The range of each host that describes one, and the normalized address of each host that may
    be written in several ways (IPv6), by the host as the entry has it. So no request waits while a
    host is parsed, and an entry for a host that is not here is compared as text alone."""

    def address_of(self, acl: Acl) -> str:
        """Return the normalized address of an entry's host, for comparisons; the host itself if it
        is a range, or not in `addresses`."""
        address = self.addresses.get(acl.host)
        return address if isinstance(address, str) else acl.host

    def is_for_host(self, acl: Acl, host: str) -> bool:
        """Return whether an entry applies to clients at `host`, a normalized address.

        An entry for a range applies to its addresses in every zone. A DENY entry for one address
        does too: a forwarded request has lost its zone, and must not escape the denial.
        """
        address = self.addresses.get(acl.host, acl.host)
        if isinstance(address, AddressRange):
            return address.includes(host)
        if address in (host, ANY_HOST):
            return True
        if "%" not in address and "%" not in host:  # the common case, tested first for speed
            return False
        return matches_client(address, host, any_zone=acl.permission == Permission.DENY)

    def about(self, resource: int, name: str) -> Iterator[Acl]:
        """Yield the entries whose pattern matches the resource: its own name, a prefix of the name,
        or `*`."""
        by_pattern = self.by_pattern
        for pattern in self._matching(resource, name):
            yield from by_pattern.get(pattern, ())

    def for_principal(self, resource: int, name: str, principal: str) -> Iterator[Acl]:
        """Yield those entries of `about` that apply to the principal or to `User:*`, without
        looking at the entries of other principals."""
        by_principal = self.by_principal
        for resource_type, kind, pattern_name in self._matching(resource, name):
            yield from by_principal.get((resource_type, kind, pattern_name, principal), ())
            yield from by_principal.get((resource_type, kind, pattern_name, WILDCARD_PRINCIPAL), ())

    def _matching(self, resource: int, name: str) -> Iterator[Pattern]:
        """Yield all patterns that match the resource, also those without an entry."""
        yield resource, PatternType.LITERAL, name
        if name != WILDCARD:
            yield resource, PatternType.LITERAL, WILDCARD
        for kind, length in self.prefix_lengths:
            if kind == resource and length <= len(name):
                yield resource, PatternType.PREFIXED, name[:length]

    def changed(self, changes: Mapping[bytes, Acl | None]) -> AclsImage:
        """Return the image after `changes`: the new entry of each id, or None to remove it."""
        if not changes:
            return self
        by_id = dict(self.by_id)
        about: dict[Pattern, list[Acl]] = {}
        for_principal: dict[PatternAndPrincipal, list[Acl]] = {}
        for acl_id, acl in changes.items():
            old = by_id.pop(acl_id, None)
            if old is not None:
                _mutable(about, self.by_pattern, _pattern(old)).remove(old)
                _mutable(for_principal, self.by_principal, _pattern_and_principal(old)).remove(old)
            if acl is not None:
                by_id[acl_id] = acl
                _mutable(about, self.by_pattern, _pattern(acl)).append(acl)
                _mutable(for_principal, self.by_principal, _pattern_and_principal(acl)).append(acl)
        lengths = dict(self.prefix_lengths)
        for pattern, acls in about.items():
            _count_prefix(lengths, pattern, bool(acls) - (pattern in self.by_pattern))
        by_pattern, by_principal = (
            _merged(self.by_pattern, about),
            _merged(self.by_principal, for_principal),
        )
        addresses = self._addresses_after(changes, by_id)
        return AclsImage(by_id, by_pattern, by_principal, lengths, addresses)

    def _addresses_after(
        self, changes: Mapping[bytes, Acl | None], by_id: Mapping[bytes, Acl]
    ) -> Mapping[str, str | AddressRange]:
        """Return the ranges and the normalized IPv6 addresses of the hosts in `by_id`, by the host
        as written. `by_id` has all ACLs after `changes`."""
        addresses = dict(self.addresses)
        for acl in changes.values():
            if acl is None or acl.host in addresses:
                continue
            address = _range_of(acl.host) or (
                canonical_address(acl.host) if ":" in acl.host else None
            )
            if address is not None:
                addresses[acl.host] = address
        replaced = (self.by_id[acl_id] for acl_id in changes if acl_id in self.by_id)
        if any(acl.host in self.addresses for acl in replaced):
            hosts = {acl.host for acl in by_id.values()}
            return {host: address for host, address in addresses.items() if host in hosts}
        return addresses


def _range_of(host: str) -> AddressRange | None:
    """Return the range that a host describes, None if it describes none. A host with a slash that
    is no range matches no client."""
    if "/" not in host:
        return None
    try:
        return address_range(host)
    except ValueError:
        return None


_Key = TypeVar("_Key")


def _pattern(acl: Acl) -> Pattern:
    return acl.resource, acl.pattern, acl.name


def _pattern_and_principal(acl: Acl) -> PatternAndPrincipal:
    return acl.resource, acl.pattern, acl.name, acl.principal


def _mutable(
    changed: dict[_Key, list[Acl]], before: Mapping[_Key, tuple[Acl, ...]], key: _Key
) -> list[Acl]:
    """Return the list of `key` in `changed`. If `changed` lacks the key, first copy its entries
    from `before` into it."""
    if key not in changed:
        changed[key] = list(before.get(key, ()))
    return changed[key]


def _merged(
    before: Mapping[_Key, tuple[Acl, ...]], changed: Mapping[_Key, list[Acl]]
) -> Mapping[_Key, tuple[Acl, ...]]:
    """Return `before` with the lists in `changed`; a key without entries is removed."""
    after = dict(before)
    for key, acls in changed.items():
        after.pop(key, None)
        if acls:
            after[key] = tuple(acls)
    return after


def _count_prefix(lengths: dict[tuple[int, int], int], pattern: Pattern, more: int) -> None:
    """Add `more`, which may be negative, to the number of prefixed patterns of this length in
    `lengths`. Remove a number that becomes 0, and ignore other patterns."""
    resource, kind, name = pattern
    if kind != PatternType.PREFIXED or not more:
        return
    length = resource, len(name)
    lengths[length] = lengths.get(length, 0) + more
    if not lengths[length]:
        del lengths[length]
