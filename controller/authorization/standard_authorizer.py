"""Judges by the access control entries in the metadata (`StandardAuthorizer` of Kafka's settings).

A super user may do all. Else an entry that denies refuses, whatever others allow; an entry that
allows is enough; and where no entry speaks about the resource at all,
`allow.everyone.if.no.acl.found` says what holds.

Owns: the rules. Never: the entries (`controller.metadata.acl`), or the log of what was judged.

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
"""Which operations of an entry that allows also allow this one. One that denies implies nothing."""

_SOME_NAME = "hardcode"
"""Of a resource of which nothing is known, as Kafka asks for it."""


class StandardAuthorizer:
    """Judges by the ACLs of the metadata (`controller.authorization.rights.Judge`)."""

    def __init__(
        self,
        acls: Callable[[], AclsImage | None],
        super_users: Collection[str],
        allow_everyone_if_no_acl_found: bool = False,
    ) -> None:
        """`acls()` are those of now; None: they are not known yet, and only super users pass."""
        self._acls = acls
        self._super_users = frozenset(super_users)
        self._default = _DEFAULT_ALLOW if allow_everyone_if_no_acl_found else _DEFAULT_DENY

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Whether `asker` may do that."""
        if asker.principal in self._super_users:
            return _SUPER_USER
        acls = self._acls()
        if acls is None:
            return _NOT_READY
        operation, resource, name = action
        enough = _IMPLIED_BY.get(operation, (operation, ALL))
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
            elif allowing is None and acl.operation in enough:
                allowing = acl
        if allowing is not None:
            return Verdict(True, allowing)
        if self._default.allowed and next(acls.about(resource, name), None) is None:
            return self._default
        return _DEFAULT_DENY

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Whether `asker` may do `operation` to at least one resource of that type: some entry
        allows it, and none that denies covers all that it allows."""
        some = self.judge(asker, Action(operation, resource, _SOME_NAME))
        acls = self._acls()
        if some.allowed or acls is None:
            return some
        allowing: list[Acl] = []
        literals: set[str] = set()
        prefixes: set[str] = set()
        for acl in acls.by_id.values():
            if acl.resource != resource or acl.operation not in (operation, ALL):
                continue
            if not _is_about(acl, asker, acls):
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


def _is_about(acl: Acl, asker: Asker, acls: AclsImage) -> bool:
    if acl.principal not in (asker.principal, WILDCARD_PRINCIPAL):
        return False
    return acl.host in (asker.host, ANY_HOST) or (
        acl.host in acls.addresses and acls.is_for_host(acl, asker.host)
    )


def _is_covered(allowing: Acl, literals: set[str], prefixes: set[str]) -> bool:
    """Whether each name that `allowing` matches is denied."""
    name = allowing.name
    if allowing.pattern == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if name in literals:
            return True
    return any(name[:length] in prefixes for length in range(1, len(name) + 1))
