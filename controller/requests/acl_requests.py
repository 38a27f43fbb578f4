"""CreateAcls 1-3 and DeleteAcls 1-3 as commands, and DescribeAcls 1-3 from an image.

v2: flexible versions. v3: the resource type USER (KIP-373).

Rights: Describe on the cluster to see ACLs, Alter to change them; otherwise each ACL and each
filter of the request gets CLUSTER_AUTHORIZATION_FAILED. Without an authorizer they get
SECURITY_DISABLED.
A broker answers DescribeAcls from its own image, a controller from the committed one.

Owns: the form of the responses. Never: checks an ACL or a filter
(`controller.decisions.acl_control`).
Follows Kafka's `AclApis`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from controller.authorization.rights import Rights
from controller.decisions.acl_control import Created, Deleted, fault_of_description
from controller.decisions.decision import Decision, DecisionView
from controller.metadata.acl import Acl, AclsImage, Pattern
from controller.metadata.acl_filter import AclFilter
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, map_in_slices, map_parts_in_slices
from controller.requests.rights import CLUSTER_DENIED, RequestSender, if_allowed
from ground.sliced_work import Pace, Steps, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import Items
from protocol.ip_address import canonical_address
from protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

Respond = Callable[[Any], None]

_DISABLED = ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
_DISABLED_HERE = ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
"""Kafka's text, which says "broker" on a controller too."""


class VersionedSender(RequestSender, Protocol):
    """The sender of a request, with the version that its response has to have."""

    @property
    def api_version(self) -> int: ...


class AclRequests:
    """The handlers of the three requests."""

    def __init__(self, controller: QuorumController, long: LongRequests) -> None:
        self._controller = controller
        self._long = long

    def describe(
        self, context: VersionedSender, request: DescribeAclsRequest, respond: Respond
    ) -> None:
        """Respond at once with the committed ACLs that match the request's filter. Needs Describe
        on the cluster; without an authorizer, the response is SECURITY_DISABLED."""
        acls = self._controller.committed_image.acls
        version = context.api_version
        respond(in_one_go(described_acls(acls, context.rights, request, version)))

    def create(self, context: RequestSender, request: CreateAclsRequest, respond: Respond) -> None:
        """Create ACLs, and respond after the commit, with a result for each. Needs Alter on the
        cluster; without an authorizer, each result is SECURITY_DISABLED."""

        def decide(view: DecisionView) -> Steps[Decision[Created]]:
            """Return the decision that creates the ACLs of the request."""
            acls = yield from map_in_slices(request.creations, _acl_to_create)
            return (yield from self._controller.acls.create(view, acls))

        def answer(outcome: Created | ApiError) -> Steps[CreateAclsResponse]:
            """Return the response: the result of each ACL, or the error in `outcome` for every
            ACL."""
            if isinstance(outcome, ApiError):
                return (yield from refused_creations(request, outcome))
            return CreateAclsResponse(results=(yield from map_in_slices(outcome, _creation_result)))

        if context.rights.unlimited:
            self._long.respond_with("create ACLs", _DISABLED, answer, respond)
            return
        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("create ACLs", allowed, answer, respond)

    def delete(self, context: RequestSender, request: DeleteAclsRequest, respond: Respond) -> None:
        """Delete the ACLs that match the request's filters, and respond after the commit, with the
        removed ACLs of each filter. Needs Alter on the cluster; without an authorizer, each result
        is SECURITY_DISABLED."""

        def decide(view: DecisionView) -> Steps[Decision[Deleted]]:
            """Return the decision that deletes the ACLs that match the filters of the request."""
            filters = yield from map_in_slices(request.filters, _filter)
            return (yield from self._controller.acls.delete(view, filters))

        def answer(outcome: Deleted | ApiError) -> Steps[DeleteAclsResponse]:
            """Return the response: the ACLs that each filter removed, or the error in `outcome` for
            every filter."""
            if isinstance(outcome, ApiError):
                return (yield from refused_deletions(request, outcome))
            results = yield from map_parts_in_slices(
                outcome, _matches_or_none, _removed_acl, _filter_result
            )
            return DeleteAclsResponse(filter_results=results)

        if context.rights.unlimited:
            self._long.respond_with("delete ACLs", _DISABLED, answer, respond)
            return
        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("delete ACLs", allowed, answer, respond)


def described_acls(
    acls: AclsImage, rights: Rights, request: DescribeAclsRequest, version: int
) -> Steps[DescribeAclsResponse]:
    """Return the response with the ACLs of an image that match the request's filter, grouped by
    pattern, in slices. It is an error if the filter is invalid, or if the client may not see
    ACLs."""
    acl_filter = _filter(request)
    error = _access_error(rights) or fault_of_description(acl_filter)
    if error is not None:
        return DescribeAclsResponse(error_code=error.code, error_message=error.message)
    pace = Pace()
    by_pattern: dict[Pattern, list[AclDescription]] = {}
    for acl in acl_filter.candidates(acls):
        if pace.is_full():
            yield None
        if not acl_filter.matches(acl, acls):
            continue
        by_pattern.setdefault((acl.resource, acl.pattern, acl.name), []).append(
            AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
        )
    resources = Items[DescribeAclsResource](version)
    for (resource, pattern, name), descriptions in by_pattern.items():
        if pace.is_full(1 + len(descriptions)):
            yield None
        resources.add(
            DescribeAclsResource(resource, name, pattern, descriptions), 1 + len(descriptions)
        )
    return DescribeAclsResponse(resources=resources.array())


def _access_error(rights: Rights) -> ApiError | None:
    """Return the error if no ACL may be shown: SECURITY_DISABLED without an authorizer,
    CLUSTER_AUTHORIZATION_FAILED without Describe on the cluster. None otherwise."""
    if rights.unlimited:
        return _DISABLED_HERE
    return None if rights.allows_on_cluster(Operation.DESCRIBE) else CLUSTER_DENIED


def refused_creations(request: CreateAclsRequest, error: ApiError) -> Steps[CreateAclsResponse]:
    """Return the response with `error` for every ACL."""
    results = yield from map_in_slices(request.creations, lambda _: _creation_result(error))
    return CreateAclsResponse(results=results)


def refused_deletions(request: DeleteAclsRequest, error: ApiError) -> Steps[DeleteAclsResponse]:
    """Return the response with `error` for every filter."""
    results = yield from map_in_slices(request.filters, lambda _: _filter_result(error, []))
    return DeleteAclsResponse(filter_results=results)


def _creation_result(error: ApiError | None) -> AclCreationResult:
    """Return the result of an ACL's creation: `error`, or success if it is None."""
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error.code, error.message)


def _matches_or_none(matches: Sequence[Acl] | ApiError) -> Sequence[Acl]:
    """Return the ACLs that a filter matched; none if the filter had an error."""
    return () if isinstance(matches, ApiError) else matches


def _filter_result(
    matches: Sequence[Acl] | ApiError, removed: list[DeleteAclsMatchingAcl]
) -> DeleteAclsFilterResult:
    """Return the result of a filter: the error in `matches`, or the ACLs in `removed`."""
    if isinstance(matches, ApiError):
        return DeleteAclsFilterResult(matches.code, matches.message)
    return DeleteAclsFilterResult(ErrorCode.NONE, None, removed)


def _removed_acl(acl: Acl) -> DeleteAclsMatchingAcl:
    """Return the part of a response for a removed ACL."""
    return DeleteAclsMatchingAcl(
        ErrorCode.NONE,
        None,
        acl.resource,
        acl.name,
        acl.pattern,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


def _acl_to_create(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _filter(request: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """Return the filter of a request. If its host is an address, write it as ACLs have it, so that
    equal addresses match."""
    return AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        None if request.host_filter is None else canonical_address(request.host_filter),
        request.operation,
        request.permission_type,
    )
