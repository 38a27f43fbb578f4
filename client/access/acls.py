"""Access control entries of a cluster: added, searched and removed.

Owns no connection; `call` (`ClusterClient.call`) returns the response to a request. Raises Refused
if the cluster rejects a request.

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
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_ALTER, _DESCRIBE = "Alter on the cluster", "Describe on the cluster"
_NO_RANGES = (
    "a host can be a range of addresses from metadata.version 4.4-IV1 on: raise the cluster's with "
    "kafka-features upgrade --release-version 4.4, or name single addresses"
)

Call = Callable[[Any, Any], Any]
"""The type of `ClusterClient.call`."""


class AclRow(NamedTuple):
    """An access control entry as `ottla acl list` prints it."""

    principal: str
    permission: str
    operation: str
    host: str
    resource: str
    pattern: str
    name: str


class Filter(NamedTuple):
    """A filter of access control entries. None and ANY match every value."""

    resource: int = ANY
    name: str | None = None
    pattern: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY


def row(acl: Acl) -> AclRow:
    """Return an entry as a row, with the names that `kafka-acls` prints."""
    return AclRow(
        acl.principal,
        _name(Permission, acl.permission),
        operation_name(acl.operation),
        acl.host,
        _name(Resource, acl.resource),
        _name(PatternType, acl.pattern),
        acl.name,
    )


def add(call: Call, acls: Sequence[Acl]) -> None:
    """Add entries; entries that exist already are left as they are.

    Raises Refused if the cluster rejected some. The error names the rejected entries; the others
    were added.
    """
    request = CreateAclsRequest([AclCreation(*acl) for acl in acls])
    refused: dict[str, list[Acl]] = {}
    for acl, result in zip(acls, call(request, CreateAclsResponse).results, strict=True):
        if result.error_code:
            is_range = result.error_code == ErrorCode.UNSUPPORTED_VERSION
            reason = (
                _NO_RANGES if is_range else why(result.error_code, result.error_message, _ALTER)
            )
            refused.setdefault(reason, []).append(acl)
    if not refused:
        return
    reasons = [
        reason
        if len(refused_acls) == len(acls)
        else f"{', '.join(map(str, refused_acls))}: {reason}"
        for reason, refused_acls in refused.items()
    ]
    raise Refused("; ".join(reasons))


def filters_of(patterns: Mapping[Pattern, Sequence[Acl]]) -> list[Filter]:
    """Return a filter for each entry. A pattern without entries gets a filter for all its
    entries."""
    filters = []
    for pattern, acls in patterns.items():
        if not acls:
            filters.append(Filter(pattern.resource, pattern.name, pattern.pattern))
        filters += [Filter(*acl) for acl in acls]
    return filters


def find(call: Call, filters: Sequence[Filter]) -> list[Acl]:
    """Return the entries that match any of the filters, sorted. Raises Refused."""
    acls: dict[Acl, None] = {}
    for acl_filter in filters:
        answer = call(DescribeAclsRequest(*acl_filter), DescribeAclsResponse)
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
                acls[acl] = None
    return sorted(acls)


def remove(call: Call, filters: Sequence[Filter]) -> list[Acl]:
    """Remove the entries that match any of the filters. Return the removed entries, sorted.

    Raises Refused.
    """
    request = DeleteAclsRequest([DeleteAclsFilter(*acl_filter) for acl_filter in filters])
    answer = call(request, DeleteAclsResponse)
    removed: dict[Acl, None] = {}
    for result in answer.filter_results:
        for error in (result, *result.matching_acls):
            if error.error_code:
                raise Refused(why(error.error_code, error.error_message, _ALTER))
        for matching in result.matching_acls:
            acl = Acl(
                matching.resource_type,
                matching.resource_name,
                matching.pattern_type,
                matching.principal,
                matching.host,
                matching.operation,
                matching.permission_type,
            )
            removed[acl] = None
    return sorted(removed)


def _name(kinds: type[IntEnum], number: int) -> str:
    """Return the name of the member of `kinds` with this number; the number as text if no member
    has it."""
    return next((kind.name for kind in kinds if kind == number), str(number))
