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

from controller.decisions.acl_control import Created, Deleted, fault_of_description
from controller.decisions.decision import Decision, View
from controller.metadata.acl import Acl, AclsImage, Pattern
from controller.metadata.acl_filter import AclFilter
from controller.quorum_controller import QuorumController
from controller.requests.rights import CLUSTER_DENIED, Sender, if_allowed
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
from protocol.rights import Rights
from storage.log.sliced_work import Pace, Steps, in_one_go

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

    def __init__(self, controller: QuorumController) -> None:
        self._controller = controller

    def describe(self, context: Reader, request: DescribeAclsRequest, respond: Respond) -> None:
        """Answer a DescribeAcls request."""
        acls = self._controller.committed_image.acls
        version = context.api_version
        respond(in_one_go(described_acls(acls, context.rights, request, version)))

    def create(self, context: Sender, request: CreateAclsRequest, respond: Respond) -> None:
        """Answer a CreateAcls request."""
        if context.rights.unlimited:
            respond(refused_creations(request, _DISABLED))
            return
        acls = [_acl(one) for one in request.creations]

        def decide(view: View) -> Decision[Created]:
            return self._controller.acls.create(view, acls)

        def reply(outcome: Created | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(refused_creations(request, outcome))
            else:
                respond(CreateAclsResponse(results=[_created(error) for error in outcome]))

        self._controller.submit("create ACLs", if_allowed(context, Operation.ALTER, decide), reply)

    def delete(self, context: Sender, request: DeleteAclsRequest, respond: Respond) -> None:
        """Answer a DeleteAcls request."""
        if context.rights.unlimited:
            respond(refused_deletions(request, _DISABLED))
            return
        filters = [_filter(one) for one in request.filters]

        def decide(view: View) -> Decision[Deleted]:
            return self._controller.acls.delete(view, filters)

        def reply(outcome: Deleted | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(refused_deletions(request, outcome))
            else:
                respond(DeleteAclsResponse(filter_results=[_deleted(one) for one in outcome]))

        self._controller.submit("delete ACLs", if_allowed(context, Operation.ALTER, decide), reply)


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


def refused_creations(request: CreateAclsRequest, error: ApiError) -> CreateAclsResponse:
    """The answer that says `error` for every ACL."""
    return CreateAclsResponse(results=[_created(error) for _ in request.creations])


def refused_deletions(request: DeleteAclsRequest, error: ApiError) -> DeleteAclsResponse:
    """The answer that says `error` for every filter."""
    return DeleteAclsResponse(filter_results=[_deleted(error) for _ in request.filters])


def _created(error: ApiError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error.code, error.message)


def _deleted(found: Sequence[Acl] | ApiError) -> DeleteAclsFilterResult:
    if isinstance(found, ApiError):
        return DeleteAclsFilterResult(found.code, found.message)
    removed = [
        DeleteAclsMatchingAcl(
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
        for acl in found
    ]
    return DeleteAclsFilterResult(ErrorCode.NONE, None, removed)


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
