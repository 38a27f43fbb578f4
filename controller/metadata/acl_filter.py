"""The filter of DescribeAcls and DeleteAcls, and the ACLs that match it.

    resource type, operation, permission    a number, or 1 for any
    name, principal                         exactly this text, or None for any
    host                                    this address in any spelling, or exactly this text where
                                            it is no address, or None for any
    pattern type                            LITERAL, PREFIXED: of that type, by exactly that name
                                            ANY: of both types, by exactly that name
                                            MATCH: every pattern that matches that resource name

Owns: the use of the index, so that ACLs that cannot match are not compared if the filter is
specific enough. Never: rejects a filter (`controller.decisions.acl_control`).

Follows KIP-290 and Kafka's `AclBindingFilter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controller.metadata.acl import WILDCARD, Acl, AclsImage, PatternType
from ground.sliced_work import Pace, Steps

ANY = 1
"""The value that matches every resource type, pattern type, operation or permission."""
MATCH = 2
"""The pattern type, of filters only, that matches all patterns of a resource name."""


class AclFilter(NamedTuple):
    """The criteria of a filter."""

    resource: int
    name: str | None
    pattern: int
    principal: str | None
    host: str | None
    """A normalized address (`protocol.ip_address`), another text, or None."""
    operation: int
    permission: int

    def matches(self, acl: Acl, acls: AclsImage) -> bool:
        """Return whether the filter matches `acl`, which is an entry of `acls`."""
        return (
            self.resource in (ANY, acl.resource)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acls.address_of(acl))
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        """Return whether the filter's pattern and name cover those of the ACL. MATCH covers each
        pattern that applies to the name."""
        if self.pattern not in (ANY, MATCH, acl.pattern):
            return False
        if self.name is None:
            return True
        if self.pattern != MATCH:
            return self.name == acl.name
        if acl.pattern == PatternType.LITERAL:
            return acl.name in (self.name, WILDCARD)
        return acl.pattern == PatternType.PREFIXED and self.name.startswith(acl.name)

    def matching(self, acls: AclsImage, pace: Pace) -> Steps[list[Acl]]:
        """Return the list of all entries that the filter matches. The steps yield None when `pace`
        is full."""
        matches: list[Acl] = []
        for acl in self.candidates(acls):
            if pace.is_full():
                yield None
            if self.matches(acl, acls):
                matches.append(acl)
        return matches

    @property
    def scans_all(self) -> bool:
        """Whether the filter has to be compared with all entries, because no index applies."""
        return self.name is None or self.resource == ANY

    def candidates(self, acls: AclsImage) -> Iterable[Acl]:
        """Return the entries that may match, as the index finds them. The caller tests each with
        `matches`."""
        if self.name is None or self.resource == ANY:
            return acls.by_id.values()
        if self.pattern == MATCH:
            return acls.about(self.resource, self.name)
        patterns = PatternType if self.pattern == ANY else (self.pattern,)
        return (
            acl
            for pattern in patterns
            for acl in acls.by_pattern.get((self.resource, pattern, self.name), ())
        )
