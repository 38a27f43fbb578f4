"""AlterConfigs 0-2 and IncrementalAlterConfigs 0-1 as commands.

Rights: AlterConfigs on the topic or group; on the cluster for all other kinds of resources.

Owns: the checks that precede those of the configs (a resource or a key named twice), and the
responses, with a result for each resource. Levels of a broker's loggers are rejected here, because
they belong to one process. Never: checks a value (`configuration_control`).

Follows KIP-133, KIP-339 and Kafka's `ConfigAdminManager` and `ControllerApis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

from controller.authorization.rights import Rights
from controller.decisions.change_rules import UNCLEAN_LEADER_ELECTION
from controller.decisions.configuration_control import ConfigChange
from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.metadata.image import ResourceType
from controller.metadata.records import MetadataRecord
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, Settle, map_in_slices
from controller.requests.rights import RequestSender, config_denial
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replace_messages
from protocol.messages import incremental_alter_configs as change_messages
from protocol.messages.metadata_records import ConfigRecord

if TYPE_CHECKING:
    from controller.policies import Policies, Rejections

Respond = Callable[[Any], None]
T = TypeVar("T")
R = TypeVar("R")

ALTERATION = 3
"""The cost of deciding on a resource, in pieces of work."""
_MAX_TEXT = MAX_CONFIG_BYTES_PER_OPERATION

_Alter = Callable[[DecisionView, Any], Steps[list[MetadataRecord] | ApiError]]
"""A function that returns the records of a resource's changes, or the error."""
_Possible = dict[int, tuple[Any, list[MetadataRecord]]]
"""The resources that a policy has to judge, by index, with the records of their changes."""
_Row = tuple[ErrorCode, str | None, int, str]
"""Error code, error text, resource type and name: the fields of both APIs' results, in order."""


class ConfigRequests:
    """The handlers of the two requests."""

    def __init__(
        self, controller: QuorumController, long: LongRequests, policies: Policies | None = None
    ) -> None:
        """Use `policies` only if they have a policy for configs; None: no policy."""
        self._controller = controller
        self._long = long
        self._policies = policies if policies is not None and policies.has_config_policy else None
        self._configuration = controller.configuration

    def incremental_alter_configs(
        self,
        context: RequestSender,
        request: change_messages.IncrementalAlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Change single configs of resources, or only validate that, and respond after the commit,
        with a result for each. Needs AlterConfigs on a topic or group, and on the cluster for other
        resources. A configured policy may reject resources."""
        name, result = "alter configs incrementally", change_messages.AlterConfigsResourceResponse
        response = change_messages.IncrementalAlterConfigsResponse
        self._submit(name, context.rights, request, self._changes, result, response, respond)

    def alter_configs(
        self,
        context: RequestSender,
        request: replace_messages.AlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Replace all configs of resources, or only validate that, and respond after the commit,
        with a result for each. Needs AlterConfigs on a topic or group, and on the cluster for other
        resources. A configured policy may reject resources."""
        name, result = "alter configs", replace_messages.AlterConfigsResourceResponse
        response = replace_messages.AlterConfigsResponse
        self._submit(name, context.rights, request, self._replacement, result, response, respond)

    def _submit(
        self,
        name: str,
        rights: Rights,
        request: change_messages.IncrementalAlterConfigsRequest
        | replace_messages.AlterConfigsRequest,
        alter: _Alter,
        result: Callable[..., T],
        response: Callable[..., R],
        respond: Respond,
    ) -> None:
        """Run a request: check its resources, have the policy judge them if it is configured, and
        submit the decision. Then respond; `result` and `response` are classes of the API's
        messages."""
        alteration = _Alteration(self._controller, rights, request, alter)

        def answer(outcome: list[ApiError | None] | ApiError) -> Steps[R]:
            """Return the response with the error or success of each resource, or with the error in
            `outcome` for all."""
            errors = repeat(outcome) if isinstance(outcome, ApiError) else outcome
            rows = zip(request.resources, errors, strict=False)
            results = yield from map_in_slices(rows, lambda row: result(*_row(*row)))
            return response(responses=results)

        def begin(settle: Settle[list[ApiError | None]]) -> None:
            """Submit the changes to the policies, if there are any, and the rest to the controller.
            `settle` gets an error or None for each resource."""

            def decide_the_rest(rejections: Rejections) -> None:
                """Settle the resources that the policy rejects, and submit the decision on the
                others."""
                alteration.settled.update(rejections)
                self._controller.submit(name, alteration.decide, settle)

            policies = self._policies
            if policies is None:
                decide_the_rest({})
                return

            def submit_to_policies(outcome: _Possible | ApiError) -> None:
                """Have the policy judge the resources in `outcome`, or settle with its error."""
                if isinstance(outcome, ApiError):
                    settle(outcome)
                else:
                    policies.check_configs(outcome, decide_the_rest)

            self._controller.submit(f"look at: {name}", alteration.look, submit_to_policies)

        self._long.run(name, alteration.judge_ahead(), begin, answer, respond)

    def _changes(
        self, view: DecisionView, resource: change_messages.AlterConfigsResource
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records of the request's incremental changes of a resource, or the error."""
        changes: list[ConfigChange] = []
        yield from in_bulk(
            lambda batch: changes.extend(
                ConfigChange(c.name, c.config_operation, c.value) for c in batch
            ),
            resource.configs,
        )
        return (
            yield from self._configuration.alter_incrementally(
                view.image, resource.resource_type, resource.resource_name, changes
            )
        )

    def _replacement(
        self, view: DecisionView, resource: replace_messages.AlterConfigsResource
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records that replace all configs of a resource, or the error."""
        configs: dict[str, str | None] = {}
        yield from in_bulk(
            lambda batch: configs.update((config.name, config.value) for config in batch),
            resource.configs,
        )
        return (
            yield from self._configuration.replace(
                view.image, resource.resource_type, resource.resource_name, configs
            )
        )


class _Alteration:
    """A request to alter configs, with the resources that are rejected so far."""

    def __init__(
        self,
        controller: QuorumController,
        rights: Rights,
        request: change_messages.IncrementalAlterConfigsRequest
        | replace_messages.AlterConfigsRequest,
        alter: _Alter,
    ) -> None:
        """Begin a request without rejected resources. `alter(view, resource)` returns the records
        of a resource's change, or its error."""
        self._controller = controller
        self._rights = rights
        self._resources: Sequence[Any] = request.resources
        self._validate_only = request.validate_only
        self._alter = alter
        self._counts: Counter[tuple[int, str]] | None = None
        self._epoch: int | None = None
        """The epoch of the rights under which the remaining resources were last judged."""
        self.settled: dict[int, ApiError] = {}
        """The errors of the resources that are already rejected, by index in the request."""

    def judge_ahead(self) -> Steps[None]:
        """Reject invalid and forbidden resources before the decision if there are many: put their
        errors into `settled`. Only the active controller does so, because others may not have
        replayed every ACL."""
        if len(self._resources) > PIECES_AT_ONCE and self._controller.is_active:
            yield from self._judge()

    def look(self, view: DecisionView) -> Steps[Decision[_Possible]]:
        """Return each resource that is not rejected, with the records that would alter it, for
        policies. The decision has no records; resources with an error are added to `settled`."""
        yield from self._judge()
        possible: _Possible = {}
        pace = Pace()
        for index, resource in enumerate(self._resources):
            if pace.is_full(1 if index in self.settled else ALTERATION):
                yield None
            if index in self.settled:
                continue
            altered = yield from self._alter(view, resource)
            if isinstance(altered, ApiError):
                self.settled[index] = altered
            else:
                possible[index] = resource, altered
        self._epoch = None  # so that a right lost while the policies run is noticed
        return Decision(possible)

    def decide(self, view: DecisionView) -> Steps[Decision[list[ApiError | None]]]:
        """Return the decision on all resources: its reply is an error or None for each. An error of
        a resource does not stop the others; too many records reject all. If unclean elections may
        now be allowed, run them soon."""
        yield from self._judge()
        records: list[MetadataRecord] = []
        outcome: list[ApiError | None] = []
        if len(self.settled) == len(self._resources):
            places = range(len(self._resources))
            yield from in_bulk(lambda batch: outcome.extend(map(self.settled.get, batch)), places)
            return Decision(outcome)
        pace = Pace()
        for index, resource in enumerate(self._resources):
            error = self.settled.get(index)
            if pace.is_full(ALTERATION if error is None else 1):
                yield None
            if error is None:
                altered = yield from self._alter(view, resource)
                if isinstance(altered, ApiError):
                    error = altered
                else:
                    records += altered
            outcome.append(error)
        if len(records) > MAX_RECORDS_PER_OPERATION or _text_size(records) > _MAX_TEXT:
            return Decision(TOO_MANY_RECORDS)
        if not self._validate_only and any(_allows_unclean(record) for record in records):
            # Partitions that have lost all in-sync replicas may now get a leader.
            self._controller.elect_unclean_soon()
        return Decision(outcome, [] if self._validate_only else records)

    def _judge(self) -> Steps[None]:
        """Add the errors of invalid and forbidden resources to `settled`, unless that was done and
        no right has changed."""
        if self._epoch is not None and self._rights.unchanged_since(self._epoch):
            return
        self._epoch = self._rights.epoch
        counts = self._counts
        if counts is None:
            counts = self._counts = Counter()
            kinds = ((r.resource_type, r.resource_name) for r in self._resources)
            yield from in_bulk(counts.update, kinds)
        pace = Pace()
        for index, resource in enumerate(self._resources):
            if pace.is_full():
                yield None
            if index not in self.settled:
                error = yield from _resource_error(self._rights, resource, counts)
                if error is not None:
                    self.settled[index] = error


def _text_size(records: Sequence[MetadataRecord]) -> int:
    """Return the number of characters in the values of config records."""
    return sum(len(record.value or "") for record in records if isinstance(record, ConfigRecord))


def _allows_unclean(record: MetadataRecord) -> bool:
    """Return whether a record sets or removes `unclean.leader.election.enable`, which may allow
    unclean elections."""
    return isinstance(record, ConfigRecord) and record.name == UNCLEAN_LEADER_ELECTION


def _resource_error(
    rights: Rights, resource: Any, counts: Counter[tuple[int, str]]
) -> Steps[ApiError | None]:
    """Return the error of a resource that is named twice, not allowed, a broker's logger, or that
    names a config twice. None if it has none of these."""
    kind, name = resource.resource_type, resource.resource_name
    if counts[(kind, name)] > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    denial = config_denial(rights, Operation.ALTER_CONFIGS, kind, name)
    if denial is not None:
        return denial
    names: set[str] = set()
    yield from in_bulk(
        lambda batch: names.update(config.name for config in batch), resource.configs
    )
    if len(names) != len(resource.configs):
        return ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if kind == ResourceType.BROKER_LOGGER:
        text = "Levels of loggers are not kept in the metadata"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _row(resource: Any, error: ApiError | None) -> _Row:
    """Return the fields of a resource's result: error code, message, resource type and name."""
    code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
    return code, message, resource.resource_type, resource.resource_name
