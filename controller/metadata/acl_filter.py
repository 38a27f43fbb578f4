"""Which ACLs a filter of DescribeAcls or DeleteAcls means.

    resource type, operation, permission    a number, or 1 for any
    name, principal                         exactly this text, or None for any
    host                                    this address in any spelling, or exactly this text where
                                            it is no address, or None for any
    pattern type                            LITERAL, PREFIXED: of that type, by exactly that name
                                            ANY: of both types, by exactly that name
                                            MATCH: whatever speaks about a resource of that name

Owns: that an ACL which cannot be meant is not looked at where the filter says enough. Never:
refuses a filter (`controller.decisions.acl_control`).

Follows KIP-290 and Kafka's `AclBindingFilter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controller.metadata.acl import WILDCARD, Acl, AclsImage, PatternType
from ground.sliced_work import Pace, Steps

ANY = 1
"""Of a resource type, a pattern type, an operation or a permission: each of them."""
MATCH = 2
"""A pattern type of filters only."""


class AclFilter(NamedTuple):
    """What some ACLs have in common."""

    resource: int
    name: str | None
    pattern: int
    principal: str | None
    host: str | None
    """An address in its one spelling (`protocol.ip_address`)."""
    operation: int
    permission: int

    def matches(self, acl: Acl, acls: AclsImage) -> bool:
        """Whether the filter means `acl`, which is one of `acls`."""
        return (
            self.resource in (ANY, acl.resource)
            and self._means_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acls.address_of(acl))
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _means_pattern(self, acl: Acl) -> bool:
        if self.pattern not in (ANY, MATCH, acl.pattern):
            return False
        if self.name is None:
            return True
        if self.pattern != MATCH:
            return self.name == acl.name
        if acl.pattern == PatternType.LITERAL:
            return acl.name in (self.name, WILDCARD)
        return acl.pattern == PatternType.PREFIXED and self.name.startswith(acl.name)

    def found_in(self, acls: AclsImage, pace: Pace) -> Steps[list[Acl]]:
        """All that the filter means."""
        found: list[Acl] = []
        for acl in self.candidates(acls):
            if pace.is_full():
                yield None
            if self.matches(acl, acls):
                found.append(acl)
        return found

    @property
    def looks_at_all(self) -> bool:
        """Whether it says too little to know where to look."""
        return self.name is None or self.resource == ANY

    def candidates(self, acls: AclsImage) -> Iterable[Acl]:
        """All that it may mean: `matches` says which it does."""
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
