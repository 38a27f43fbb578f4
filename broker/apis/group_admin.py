"""ListGroups v0-5, DescribeGroups v0-6, DeleteGroups v0-3: groups as administrators see them.

Behaviour: ListGroups returns the groups that this broker coordinates (clients ask every broker);
the other two are sent to a group's own coordinator.

Rights: DescribeGroups needs DESCRIBE and DeleteGroups DELETE on each group. A denied group is
GROUP_AUTHORIZATION_FAILED; it comes first in DescribeGroups and last in DeleteGroups. ListGroups
leaves out groups that the client may not DESCRIBE, unless it may DESCRIBE the cluster.

Versions: ListGroups v4 states (KIP-518), v5 types (KIP-848). DescribeGroups v3 authorized
operations (KIP-430), v4 group.instance.id, v5 flexible, v6 GROUP_ID_NOT_FOUND with a message, where
earlier versions return the state Dead (KIP-1043). DeleteGroups v2 flexible, v3 error
messages, which are null as in Kafka (GROUP_DELETION_FAILED of streams groups has one).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import chain, repeat

from broker.apis.cluster_view import OPERATIONS_NOT_ASKED
from broker.groups.classic.group_state import (
    DEAD,
)
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import EVERYTHING, allowed_in_slices, split_in_slices
from ground.sliced_work import Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import Items
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
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

OPERATIONS_FROM = 3
NOT_FOUND_FROM = 6
DESCRIBED = 8
"""The pieces of work (`Pace`) that one described group counts as, without its members."""


class GroupAdminApi:
    """The handlers of the three APIs."""

    def __init__(self, coordinator: GroupCoordinator, answers: SlicedAnswers) -> None:
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.DESCRIBE_GROUPS, 0, 6, self.describe, refuse_describe),
            Api(ApiKey.LIST_GROUPS, 0, 5, self.list_groups, refuse_list),
            Api(ApiKey.DELETE_GROUPS, 0, 3, self.delete, refuse_delete),
        ]

    def list_groups(
        self, context: RequestContext, request: ListGroupsRequest, respond: Respond
    ) -> None:
        """Respond with the groups of this coordinator that match the filters and that the client
        may DESCRIBE."""
        steps = self._visible_groups(context, request)
        self._answers.give(context, request, steps, respond, refuse_list)

    def _visible_groups(
        self, context: RequestContext, request: ListGroupsRequest
    ) -> Steps[ListGroupsResponse]:
        """Return the groups that match the filters and that the client may DESCRIBE."""
        response = yield from self._coordinator.list_groups(request)
        shown = yield from _ids_to_list(context.rights, response.groups)
        pace, groups = Pace(), Items[ListedGroup](context.api_version)
        for group in response.groups:
            if pace.is_full():
                yield None
            if group.group_id in shown:
                groups.add(group)
        return ListGroupsResponse(error_code=response.error_code, groups=groups.array())

    def describe(
        self, context: RequestContext, request: DescribeGroupsRequest, respond: Respond
    ) -> None:
        """Respond with each group's description or error. Groups that the client may not DESCRIBE
        come first, with an error."""
        steps = self._all_described(context, request)
        self._answers.give(context, request, steps, respond, refuse_describe)

    def _all_described(
        self, context: RequestContext, request: DescribeGroupsRequest
    ) -> Steps[DescribeGroupsResponse]:
        """Return the response, in slices. Each group is described as it is when it is read. Denied
        groups come first, with an error."""
        rights, version = context.rights, context.api_version
        with_operations = version >= OPERATIONS_FROM and request.include_authorized_operations
        allowed, denied = yield from split_in_slices(
            rights, Operation.DESCRIBE, Resource.GROUP, request.groups
        )
        pace, groups = Pace(), Items[DescribedGroup](version)
        for group_id in denied:
            if pace.is_full():
                yield None
            groups.add(_denied_group(group_id))
        for group_id in allowed:
            if pace.is_full(DESCRIBED):
                yield None
            group: DescribedGroup = yield from self._described_group(group_id, version)
            if with_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = rights.operations(Resource.GROUP, group_id)
            groups.add(group, 1 + len(group.members))
            if pace.is_full(len(group.members)):
                yield None
        return DescribeGroupsResponse(groups=groups.array())

    def _described_group(self, group_id: str, version: int) -> Steps[DescribedGroup]:
        """Return the group or its error, in slices. The authorized operations are not asked for."""
        group = yield from self._coordinator.describe(group_id)
        if isinstance(group, ApiError):
            group = _undescribed_group(group_id, group, version)
        group.authorized_operations = OPERATIONS_NOT_ASKED
        return group

    def delete(
        self, context: RequestContext, request: DeleteGroupsRequest, respond: Respond
    ) -> None:
        """Let the coordinator delete each group that the client may DELETE. Respond with an error
        code for each group."""
        answers, refuse = self._answers, refuse_delete

        def judged(allowed_and_denied: tuple[list[str], list[str]]) -> None:
            """Let the coordinator delete the allowed groups, and then respond."""
            names, denied = allowed_and_denied

            def deleted(errors: list[ErrorCode]) -> None:
                """Respond with the coordinator's error codes, and with GROUP_AUTHORIZATION_FAILED
                for the denied groups."""
                unauthorized = repeat(ErrorCode.GROUP_AUTHORIZATION_FAILED, len(denied))
                steps = _delete_response(chain(names, denied), chain(errors, unauthorized))
                answers.give(context, request, steps, respond, refuse)

            delete = self._coordinator.delete
            answers.gather(context, request, names, delete, deleted, respond, refuse)

        steps = _may_be_deleted(context.rights, request.groups_names)
        answers.judge(context, request, steps, judged, respond, refuse)


def _may_be_deleted(rights: Rights, group_ids: Sequence[str]) -> Steps[tuple[list[str], list[str]]]:
    """Return the groups that the client may delete and those that it may not, each once."""
    unique_ids = dict[str, None]()
    yield from in_bulk(lambda part: unique_ids.update(dict.fromkeys(part)), group_ids)
    return (yield from split_in_slices(rights, Operation.DELETE, Resource.GROUP, unique_ids))


def _delete_response(
    names: Iterable[str], errors: Iterable[ErrorCode]
) -> Steps[DeleteGroupsResponse]:
    """Return the response; `names` and `errors` have one order and one length."""
    pace, results = Pace(), list[DeletableGroupResult]()
    for name, error in zip(names, errors, strict=True):
        if pace.is_full():
            yield None
        results.append(DeletableGroupResult(name, error))
    return DeleteGroupsResponse(results=results)


def _ids_to_list(rights: Rights, groups: Iterable[ListedGroup]) -> Steps[Container[str]]:
    """Return the ids of those groups that the client may DESCRIBE: EVERYTHING with DESCRIBE on the
    cluster.

    Denials are not audited, because the client did not name these groups.
    """
    if rights.allows_on_cluster(Operation.DESCRIBE, audited=False):
        return EVERYTHING
    ids = [group.group_id for group in groups]
    return (
        yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.GROUP, ids, audited=False)
    )


def _denied_group(group_id: str) -> DescribedGroup:
    return DescribedGroup(
        error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED,
        group_id=group_id,
        authorized_operations=OPERATIONS_NOT_ASKED,
    )


def _undescribed_group(group_id: str, error: ApiError, version: int) -> DescribedGroup:
    """Return the group's error. A group that is not found is dead; old versions have no error for
    it."""
    if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(error_code=error.code, group_id=group_id)
    if version >= NOT_FOUND_FROM:
        return DescribedGroup(error.code, error.message, group_id, DEAD.value)
    return DescribedGroup(group_id=group_id, group_state=DEAD.value)


def refuse_list(_request: ListGroupsRequest, code: ErrorCode) -> ListGroupsResponse:
    """Return a response with `code` and no groups."""
    return ListGroupsResponse(error_code=code)


def refuse_describe(request: DescribeGroupsRequest, code: ErrorCode) -> DescribeGroupsResponse:
    """Return a response with `code` for every group."""
    return DescribeGroupsResponse(
        groups=[DescribedGroup(error_code=code, group_id=name) for name in request.groups]
    )


def refuse_delete(request: DeleteGroupsRequest, code: ErrorCode) -> DeleteGroupsResponse:
    """Return a response with `code` for every group."""
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in request.groups_names]
    )
