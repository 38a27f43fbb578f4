"""DescribeAcls 1-3 of an image, CreateAcls 1-3 and DeleteAcls 1-3 as commands.

v2: flexible versions. v3: the resource type USER (KIP-373).

Rights: Describe on the cluster to see them, Alter to change them; CLUSTER_AUTHORIZATION_FAILED
otherwise, for each ACL and each filter of the request. Where nothing is authorized they are
SECURITY_DISABLED in the same places. A broker answers DescribeAcls from its own image, a controller
from what is committed.

Owns: the form of the answers. Never: checks an ACL or a filter
(`controller.decisions.acl_control`).
Follows Kafka's `AclApis`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from controller.authorization.rights import Rights
from controller.decisions.acl_control import Created, Deleted, fault_of_description
from controller.decisions.decision import Decision, View
from controller.metadata.acl import Acl, AclsImage, Pattern
from controller.metadata.acl_filter import AclFilter
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, made_of_each, made_of_parts
from controller.requests.rights import CLUSTER_DENIED, Sender, if_allowed
from ground.sliced_work import Pace, Steps, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import Items
from protocol.ip_address import one_spelling
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
"""In Kafka's words, which say so on a controller too."""


class Reader(Sender, Protocol):
    """Whoever sent a request, and in which form it reads the answer."""

    @property
    def api_version(self) -> int: ...


class AclRequests:
    """Handlers of the three requests."""

    def __init__(self, controller: QuorumController, long: LongRequests) -> None:
        self._controller = controller
        self._long = long

    def describe(self, context: Reader, request: DescribeAclsRequest, respond: Respond) -> None:
        """Answer a DescribeAcls request."""
        acls = self._controller.committed_image.acls
        version = context.api_version
        respond(in_one_go(described_acls(acls, context.rights, request, version)))

    def create(self, context: Sender, request: CreateAclsRequest, respond: Respond) -> None:
        """Answer a CreateAcls request."""

        def decide(view: View) -> Steps[Decision[Created]]:
            acls = yield from made_of_each(request.creations, _acl)
            return (yield from self._controller.acls.create(view, acls))

        def answer(outcome: Created | ApiError) -> Steps[CreateAclsResponse]:
            if isinstance(outcome, ApiError):
                return (yield from refused_creations(request, outcome))
            return CreateAclsResponse(results=(yield from made_of_each(outcome, _created)))

        if context.rights.unlimited:
            self._long.settle("create ACLs", _DISABLED, answer, respond)
            return
        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("create ACLs", allowed, answer, respond)

    def delete(self, context: Sender, request: DeleteAclsRequest, respond: Respond) -> None:
        """Answer a DeleteAcls request."""

        def decide(view: View) -> Steps[Decision[Deleted]]:
            filters = yield from made_of_each(request.filters, _filter)
            return (yield from self._controller.acls.delete(view, filters))

        def answer(outcome: Deleted | ApiError) -> Steps[DeleteAclsResponse]:
            if isinstance(outcome, ApiError):
                return (yield from refused_deletions(request, outcome))
            results = yield from made_of_parts(outcome, _removed_by, _removed, _deleted)
            return DeleteAclsResponse(filter_results=results)

        if context.rights.unlimited:
            self._long.settle("delete ACLs", _DISABLED, answer, respond)
            return
        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("delete ACLs", allowed, answer, respond)


def described_acls(
    acls: AclsImage, rights: Rights, request: DescribeAclsRequest, version: int
) -> Steps[DescribeAclsResponse]:
    """ACLs by what they speak about, as they are in that image."""
    wanted = _filter(request)
    refused = _refused(rights) or fault_of_description(wanted)
    if refused is not None:
        return DescribeAclsResponse(error_code=refused.code, error_message=refused.message)
    pace = Pace()
    by_pattern: dict[Pattern, list[AclDescription]] = {}
    for acl in wanted.candidates(acls):
        if pace.is_full():
            yield None
        if not wanted.matches(acl, acls):
            continue
        by_pattern.setdefault((acl.resource, acl.pattern, acl.name), []).append(
            AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
        )
    resources = Items[DescribeAclsResource](version)
    for (resource, pattern, name), some in by_pattern.items():
        if pace.is_full(1 + len(some)):
            yield None
        resources.add(DescribeAclsResource(resource, name, pattern, some), 1 + len(some))
    return DescribeAclsResponse(resources=resources.array())


def _refused(rights: Rights) -> ApiError | None:
    """Why no ACL is told of."""
    if rights.unlimited:
        return _DISABLED_HERE
    return None if rights.allows_on_cluster(Operation.DESCRIBE) else CLUSTER_DENIED


def refused_creations(request: CreateAclsRequest, error: ApiError) -> Steps[CreateAclsResponse]:
    """The answer that says `error` for every ACL."""
    results = yield from made_of_each(request.creations, lambda _: _created(error))
    return CreateAclsResponse(results=results)


def refused_deletions(request: DeleteAclsRequest, error: ApiError) -> Steps[DeleteAclsResponse]:
    """The answer that says `error` for every filter."""
    results = yield from made_of_each(request.filters, lambda _: _deleted(error, []))
    return DeleteAclsResponse(filter_results=results)


def _created(error: ApiError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error.code, error.message)


def _removed_by(meant: Sequence[Acl] | ApiError) -> Sequence[Acl]:
    return () if isinstance(meant, ApiError) else meant


def _deleted(
    meant: Sequence[Acl] | ApiError, removed: list[DeleteAclsMatchingAcl]
) -> DeleteAclsFilterResult:
    if isinstance(meant, ApiError):
        return DeleteAclsFilterResult(meant.code, meant.message)
    return DeleteAclsFilterResult(ErrorCode.NONE, None, removed)


def _removed(acl: Acl) -> DeleteAclsMatchingAcl:
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


def _acl(one: AclCreation) -> Acl:
    return Acl(
        one.resource_type,
        one.resource_name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def _filter(one: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        one.resource_type_filter,
        one.resource_name_filter,
        one.pattern_type_filter,
        one.principal_filter,
        None if one.host_filter is None else one_spelling(one.host_filter),
        one.operation,
        one.permission_type,
    )
