"""ListGroups v0-5, DescribeGroups v0-6, DeleteGroups v0-2: groups as administrators see them.

Behaviour: ListGroups answers the groups that this broker leads (clients ask every broker); the
other two go to a group's own coordinator.

Versions: ListGroups v4 states (KIP-518), v5 types (KIP-848). DescribeGroups v3 authorized
operations (KIP-430), v4 group.instance.id, v5 flexible, v6 GROUP_ID_NOT_FOUND with words where
earlier versions say that the group is Dead (KIP-1043). DeleteGroups v2 flexible.
"""

from __future__ import annotations

from broker.apis.cluster_view import OPERATIONS_NOT_ASKED
from broker.groups.classic.group_state import (
    DEAD,
)
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.list_groups import ListGroupsRequest

OPERATIONS_FROM = 3
NOT_FOUND_FROM = 6

# What an anonymous user may do to a group while no authorizer is set, one bit each: read, delete,
# describe, describe configs, alter configs.
GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


class GroupAdminApi:
    """Lists, describes and deletes groups."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> list[Api]:
        """The three APIs with their ranges."""
        return [
            Api(ApiKey.DESCRIBE_GROUPS, 0, 6, self.describe, refuse_describe),
            Api(ApiKey.LIST_GROUPS, 0, 5, self.list_groups),
            Api(ApiKey.DELETE_GROUPS, 0, 2, self.delete, refuse_delete),
        ]

    def list_groups(
        self, context: RequestContext, request: ListGroupsRequest, respond: Respond
    ) -> None:
        """ListGroups."""
        respond(self._coordinator.list_groups(request))

    def describe(
        self, context: RequestContext, request: DescribeGroupsRequest, respond: Respond
    ) -> None:
        """DescribeGroups."""
        groups = []
        for group_id in request.groups:
            found = self._coordinator.describe(group_id)
            if found is ErrorCode.GROUP_ID_NOT_FOUND:
                found = _absent(group_id, context.api_version)
            elif isinstance(found, ErrorCode):
                found = DescribedGroup(error_code=found, group_id=group_id)
            asked = context.api_version >= OPERATIONS_FROM and request.include_authorized_operations
            good = found.error_code == ErrorCode.NONE
            found.authorized_operations = (
                GROUP_OPERATIONS if asked and good else OPERATIONS_NOT_ASKED
            )
            groups.append(found)
        respond(DescribeGroupsResponse(groups=groups))

    def delete(
        self, context: RequestContext, request: DeleteGroupsRequest, respond: Respond
    ) -> None:
        """DeleteGroups: each group by itself."""
        names = list(dict.fromkeys(request.groups_names))
        results: dict[str, DeletableGroupResult] = {}

        def done(group_id: str, error: ErrorCode) -> None:
            results[group_id] = DeletableGroupResult(group_id, error)
            if len(results) == len(names):
                respond(DeleteGroupsResponse(results=[results[name] for name in names]))

        if not names:
            respond(DeleteGroupsResponse())
        for name in names:
            self._coordinator.delete(name, lambda error, name=name: done(name, error))  # type: ignore[misc]


def _absent(group_id: str, version: int) -> DescribedGroup:
    if version >= NOT_FOUND_FROM:
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
            group_id=group_id,
            group_state=DEAD.value,
        )
    return DescribedGroup(group_id=group_id, group_state=DEAD.value)


def refuse_describe(request: DescribeGroupsRequest, code: ErrorCode) -> DescribeGroupsResponse:
    """`code` for every group."""
    return DescribeGroupsResponse(
        groups=[DescribedGroup(error_code=code, group_id=name) for name in request.groups]
    )


def refuse_delete(request: DeleteGroupsRequest, code: ErrorCode) -> DeleteGroupsResponse:
    """`code` for every group."""
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in request.groups_names]
    )
