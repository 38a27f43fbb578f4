"""The authorizer that uses the ACLs in the metadata (Kafka's `StandardAuthorizer`).

A super user may do everything. Otherwise a DENY entry wins over all ALLOW entries, and a single
ALLOW entry is enough. If no entry matches the resource, `allow.everyone.if.no.acl.found` decides.

Owns: the rules. Never: holds the entries (`controller.metadata.acl`), or logs verdicts.

Follows Kafka's `StandardAuthorizerData` and `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from controller.authorization.rights import Verdict
from controller.metadata.acl import (
    ALL,
    ANY_HOST,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    AclsImage,
    PatternType,
    Permission,
)
from ottla.plugins.authorizer import Action, Asker, Operation, Resource

_SUPER_USER = Verdict(True, "SuperUser")
_NOT_READY = Verdict(False, "AclsNotLoaded")
_DEFAULT_DENY = Verdict(False, "DefaultDeny")
_DEFAULT_ALLOW = Verdict(True, "DefaultAllow")

_IMPLIED_BY: dict[int, tuple[int, ...]] = {
    Operation.DESCRIBE: (
        Operation.DESCRIBE,
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.ALTER,
        ALL,
    ),
    Operation.DESCRIBE_CONFIGS: (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS, ALL),
}
"""For an operation, the operations of ALLOW entries that allow it. A DENY entry implies no
others."""

_SOME_NAME = "hardcode"
"""The name of a resource that no ACL is expected to name, as Kafka uses it for the same check."""


class StandardAuthorizer:
    """The authorizer by ACLs (`controller.authorization.rights.Judge`)."""

    def __init__(
        self,
        acls: Callable[[], AclsImage | None],
        super_users: Collection[str],
        allow_everyone_if_no_acl_found: bool = False,
    ) -> None:
        """`acls()` returns the present ACLs; None: they are not loaded, and only super users are
        allowed. `allow_everyone_if_no_acl_found` allows every action on a resource that no ACL
        matches."""
        self._acls = acls
        self._super_users = frozenset(super_users)
        self._default = _DEFAULT_ALLOW if allow_everyone_if_no_acl_found else _DEFAULT_DENY

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Return whether `asker` may do `action`, and by which ACL or rule.

        A super user may do everything; without loaded ACLs, no other principal may do anything. A
        matching DENY wins over every ALLOW. An ALLOW of Read, Write, Delete or Alter also allows
        Describe, and that of AlterConfigs allows DescribeConfigs. Without a match the action is
        denied, unless `allow_everyone_if_no_acl_found` is set and the resource has no ACL.
        """
        if asker.principal in self._super_users:
            return _SUPER_USER
        acls = self._acls()
        if acls is None:
            return _NOT_READY
        operation, resource, name = action
        sufficient = _IMPLIED_BY.get(operation, (operation, ALL))
        host, addresses = asker.host, acls.addresses
        allowing: Acl | None = None
        for acl in acls.for_principal(resource, name, asker.principal):
            if acl.host not in (host, ANY_HOST) and not (
                acl.host in addresses and acls.is_for_host(acl, host)
            ):
                continue
            if acl.permission != Permission.ALLOW:
                if acl.operation in (operation, ALL):
                    return Verdict(False, acl)
            elif allowing is None and acl.operation in sufficient:
                allowing = acl
        if allowing is not None:
            return Verdict(True, allowing)
        if self._default.allowed and next(acls.about(resource, name), None) is None:
            return self._default
        return _DEFAULT_DENY

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Return whether `asker` may do `operation` on at least one resource of that type, and by
        which ACL or rule. It may if DENY entries do not cover all names of an ALLOW entry."""
        verdict = self.judge(asker, Action(operation, resource, _SOME_NAME))
        acls = self._acls()
        if verdict.allowed or acls is None:
            return verdict
        allowing: list[Acl] = []
        literals: set[str] = set()
        prefixes: set[str] = set()
        for acl in acls.by_id.values():
            if acl.resource != resource or acl.operation not in (operation, ALL):
                continue
            if not _applies_to(acl, asker, acls):
                continue
            if acl.permission == Permission.ALLOW:
                allowing.append(acl)
            elif acl.pattern == PatternType.PREFIXED:
                prefixes.add(acl.name)
            else:
                literals.add(acl.name)
        if WILDCARD in literals:
            return _DEFAULT_DENY
        for acl in allowing:
            if not _is_covered(acl, literals, prefixes):
                return Verdict(True, acl)
        return _DEFAULT_DENY


def _applies_to(acl: Acl, asker: Asker, acls: AclsImage) -> bool:
    """Return whether an ACL is for this principal and host, both of which may be wildcards."""
    if acl.principal not in (asker.principal, WILDCARD_PRINCIPAL):
        return False
    return acl.host in (asker.host, ANY_HOST) or (
        acl.host in acls.addresses and acls.is_for_host(acl, asker.host)
    )


def _is_covered(allowing: Acl, literals: set[str], prefixes: set[str]) -> bool:
    """Return whether DENY entries for the names `literals` and the `prefixes` match every name that
    the ALLOW entry `allowing` matches. A DENY of all names is checked by the caller."""
    name = allowing.name
    if allowing.pattern == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if name in literals:
            return True
    return any(name[:length] in prefixes for length in range(1, len(name) + 1))
