"""Access control entries of a cluster, as a command sees them: added, found, removed.

Owns no connection; `call` (`Cluster.call`) gives the answer to a request. Raises Refused where the
cluster says no.

Follows KIP-140 and KIP-290.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from client.access.acl_words import ANY, Pattern, operation_name
from client.refusals import Refused, why
from controller.metadata.acl import Acl, PatternType, Permission
from ottla.plugins.authorizer import Resource
from protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_ALTER, _DESCRIBE = "Alter on the cluster", "Describe on the cluster"

Call = Callable[[Any, Any], Any]
"""`Cluster.call`."""


class Row(NamedTuple):
    """An entry as it is printed."""

    principal: str
    permission: str
    operation: str
    host: str
    resource: str
    pattern: str
    name: str


class Filter(NamedTuple):
    """Which entries are meant; None, or ANY of a number: whatever it is."""

    resource: int = ANY
    name: str | None = None
    pattern: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY


def row(acl: Acl) -> Row:
    """An entry in the words of `kafka-acls`."""
    return Row(
        acl.principal,
        _name(Permission, acl.permission),
        operation_name(acl.operation),
        acl.host,
        _name(Resource, acl.resource),
        _name(PatternType, acl.pattern),
        acl.name,
    )


def add(call: Call, acls: Sequence[Acl]) -> None:
    """Add entries; those that are there already stay. Raises Refused, which tells each one that
    was not added: others were."""
    request = CreateAclsRequest([AclCreation(*acl) for acl in acls])
    refused: dict[str, list[Acl]] = {}
    for acl, result in zip(acls, call(request, CreateAclsResponse).results, strict=True):
        if result.error_code:
            reason = why(result.error_code, result.error_message, _ALTER)
            refused.setdefault(reason, []).append(acl)
    if not refused:
        return
    reasons = [
        reason if len(of) == len(acls) else f"{', '.join(map(str, of))}: {reason}"
        for reason, of in refused.items()
    ]
    raise Refused("; ".join(reasons))


def filters_of(patterns: Mapping[Pattern, Sequence[Acl]]) -> list[Filter]:
    """Of the entries given by resource; all of a resource where none is given."""
    found = []
    for pattern, acls in patterns.items():
        if not acls:
            found.append(Filter(pattern.resource, pattern.name, pattern.pattern))
        found += [Filter(*acl) for acl in acls]
    return found


def find(call: Call, filters: Sequence[Filter]) -> list[Acl]:
    """The entries that one of the filters finds, in order."""
    found: dict[Acl, None] = {}
    for one in filters:
        answer = call(DescribeAclsRequest(*one), DescribeAclsResponse)
        if answer.error_code:
            raise Refused(why(answer.error_code, answer.error_message, _DESCRIBE))
        for resource in answer.resources:
            for entry in resource.acls:
                acl = Acl(
                    resource.resource_type,
                    resource.resource_name,
                    resource.pattern_type,
                    entry.principal,
                    entry.host,
                    entry.operation,
                    entry.permission_type,
                )
                found[acl] = None
    return sorted(found)


def remove(call: Call, filters: Sequence[Filter]) -> list[Acl]:
    """Remove what the filters find; what was removed, in order."""
    request = DeleteAclsRequest([DeleteAclsFilter(*one) for one in filters])
    answer = call(request, DeleteAclsResponse)
    removed: dict[Acl, None] = {}
    for result in answer.filter_results:
        for error in (result, *result.matching_acls):
            if error.error_code:
                raise Refused(why(error.error_code, error.error_message, _ALTER))
        for one in result.matching_acls:
            acl = Acl(
                one.resource_type,
                one.resource_name,
                one.pattern_type,
                one.principal,
                one.host,
                one.operation,
                one.permission_type,
            )
            removed[acl] = None
    return sorted(removed)


def _name(kinds: type[IntEnum], number: int) -> str:
    return next((one.name for one in kinds if one == number), str(number))
