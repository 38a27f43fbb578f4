"""AlterConfigs 0-2 and IncrementalAlterConfigs 0-1 as commands.

Rights: AlterConfigs on the topic or group; on the cluster for all other kinds.

Owns: what is wrong with a request before its configs are looked at (a resource or a key given
twice), and the answers, one a resource. Levels of a broker's loggers never come here: they belong
to one process. Never: checks a value (`configuration_control`).

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
    View,
)
from controller.metadata.image import ResourceType
from controller.metadata.records import MetadataRecord
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, Settle, made_of_each
from controller.requests.rights import Sender, config_denial
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replace_messages
from protocol.messages import incremental_alter_configs as change_messages
from protocol.messages.metadata_records import ConfigRecord

if TYPE_CHECKING:
    from controller.policies import Policies, Refused

Respond = Callable[[Any], None]
T = TypeVar("T")
R = TypeVar("R")

ALTERATION = 3
"""Pieces of work that it is to decide on a resource."""
_MAX_TEXT = MAX_CONFIG_BYTES_PER_OPERATION

_Alter = Callable[[View, Any], Steps[list[MetadataRecord] | ApiError]]
"""The records of a resource's changes, or why not."""
_Possible = dict[int, tuple[Any, list[MetadataRecord]]]
"""Resources by their places, with the records of their changes."""
_Row = tuple[ErrorCode, str | None, int, str]
"""Error, its words, the resource's type and name: the fields of both APIs' answers, in order."""


class ConfigRequests:
    """Handlers of the two requests."""

    def __init__(
        self, controller: QuorumController, long: LongRequests, policies: Policies | None = None
    ) -> None:
        self._controller = controller
        self._long = long
        self._policies = policies if policies is not None and policies.has_config_policy else None
        self._configuration = controller.configuration

    def incremental_alter_configs(
        self,
        context: Sender,
        request: change_messages.IncrementalAlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Answer an IncrementalAlterConfigs request."""
        name, result = "alter configs incrementally", change_messages.AlterConfigsResourceResponse
        response = change_messages.IncrementalAlterConfigsResponse
        self._submit(name, context.rights, request, self._changes, result, response, respond)

    def alter_configs(
        self, context: Sender, request: replace_messages.AlterConfigsRequest, respond: Respond
    ) -> None:
        """Answer an AlterConfigs request."""
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
        """`result` and `response` are classes of the API's messages."""
        alteration = _Alteration(self._controller, rights, request, alter)

        def answer(outcome: list[ApiError | None] | ApiError) -> Steps[R]:
            errors = repeat(outcome) if isinstance(outcome, ApiError) else outcome
            rows = zip(request.resources, errors, strict=False)
            results = yield from made_of_each(rows, lambda row: result(*_row(*row)))
            return response(responses=results)

        def begin(settle: Settle[list[ApiError | None]]) -> None:
            def decide_the_rest(refused: Refused) -> None:
                alteration.settled.update(refused)
                self._controller.submit(name, alteration.decide, settle)

            policies = self._policies
            if policies is None:
                decide_the_rest({})
                return

            def looked_at(outcome: _Possible | ApiError) -> None:
                if isinstance(outcome, ApiError):
                    settle(outcome)
                else:
                    policies.check_configs(outcome, decide_the_rest)

            self._controller.submit(f"look at: {name}", alteration.look, looked_at)

        self._long.run(name, alteration.judge_ahead(), begin, answer, respond)

    def _changes(
        self, view: View, resource: change_messages.AlterConfigsResource
    ) -> Steps[list[MetadataRecord] | ApiError]:
        changes: list[ConfigChange] = []
        yield from in_bulk(
            lambda some: changes.extend(
                ConfigChange(c.name, c.config_operation, c.value) for c in some
            ),
            resource.configs,
        )
        return (
            yield from self._configuration.alter_incrementally(
                view.image, resource.resource_type, resource.resource_name, changes
            )
        )

    def _replacement(
        self, view: View, resource: replace_messages.AlterConfigsResource
    ) -> Steps[list[MetadataRecord] | ApiError]:
        configs: dict[str, str | None] = {}
        yield from in_bulk(
            lambda some: configs.update((config.name, config.value) for config in some),
            resource.configs,
        )
        return (
            yield from self._configuration.replace(
                view.image, resource.resource_type, resource.resource_name, configs
            )
        )


class _Alteration:
    """An alteration of configs: what is to be done to each resource, by its place."""

    def __init__(
        self,
        controller: QuorumController,
        rights: Rights,
        request: change_messages.IncrementalAlterConfigsRequest
        | replace_messages.AlterConfigsRequest,
        alter: _Alter,
    ) -> None:
        self._controller = controller
        self._rights = rights
        self._resources: Sequence[Any] = request.resources
        self._validate_only = request.validate_only
        self._alter = alter
        self._counts: Counter[tuple[int, str]] | None = None
        self._epoch: int | None = None
        """Of the judgement on all resources that nothing is settled about."""
        self.settled: dict[int, ApiError] = {}
        """What is refused already."""

    def judge_ahead(self) -> Steps[None]:
        """Settle what is wrong with many resources before the others are decided on. A node that
        may not have heard of every ACL does not."""
        if len(self._resources) > PIECES_AT_ONCE and self._controller.is_active:
            yield from self._judge()

    def look(self, view: View) -> Steps[Decision[_Possible]]:
        """Return what would be decided about each resource that is not settled yet."""
        yield from self._judge()
        possible: _Possible = {}
        pace = Pace()
        for at, resource in enumerate(self._resources):
            if pace.is_full(1 if at in self.settled else ALTERATION):
                yield None
            if at in self.settled:
                continue
            altered = yield from self._alter(view, resource)
            if isinstance(altered, ApiError):
                self.settled[at] = altered
            else:
                possible[at] = resource, altered
        self._epoch = None  # a right that is lost while the policy is asked is lost
        return Decision(possible)

    def decide(self, view: View) -> Steps[Decision[list[ApiError | None]]]:
        """Each resource on its own: one that is refused does not stop the others."""
        yield from self._judge()
        records: list[MetadataRecord] = []
        outcome: list[ApiError | None] = []
        if len(self.settled) == len(self._resources):
            places = range(len(self._resources))
            yield from in_bulk(lambda some: outcome.extend(map(self.settled.get, some)), places)
            return Decision(outcome)
        pace = Pace()
        for at, resource in enumerate(self._resources):
            error = self.settled.get(at)
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
            # Partitions that lost all proven replicas before may have a leader again.
            self._controller.elect_unclean_soon()
        return Decision(outcome, [] if self._validate_only else records)

    def _judge(self) -> Steps[None]:
        """Settle what is wrong with each resource, unless that was done and nothing has changed."""
        if self._epoch is not None and self._rights.unchanged_since(self._epoch):
            return
        self._epoch = self._rights.epoch
        counts = self._counts
        if counts is None:
            counts = self._counts = Counter()
            kinds = ((r.resource_type, r.resource_name) for r in self._resources)
            yield from in_bulk(counts.update, kinds)
        pace = Pace()
        for at, resource in enumerate(self._resources):
            if pace.is_full():
                yield None
            if at not in self.settled:
                error = yield from _resource_error(self._rights, resource, counts)
                if error is not None:
                    self.settled[at] = error


def _text_size(records: Sequence[MetadataRecord]) -> int:
    return sum(len(one.value or "") for one in records if isinstance(one, ConfigRecord))


def _allows_unclean(record: MetadataRecord) -> bool:
    return isinstance(record, ConfigRecord) and record.name == UNCLEAN_LEADER_ELECTION


def _resource_error(
    rights: Rights, resource: Any, counts: Counter[tuple[int, str]]
) -> Steps[ApiError | None]:
    kind, name = resource.resource_type, resource.resource_name
    if counts[(kind, name)] > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    denial = config_denial(rights, Operation.ALTER_CONFIGS, kind, name)
    if denial is not None:
        return denial
    names: set[str] = set()
    yield from in_bulk(lambda some: names.update(config.name for config in some), resource.configs)
    if len(names) != len(resource.configs):
        return ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if kind == ResourceType.BROKER_LOGGER:
        text = "Levels of loggers are not kept in the metadata"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _row(resource: Any, error: ApiError | None) -> _Row:
    code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
    return code, message, resource.resource_type, resource.resource_name
