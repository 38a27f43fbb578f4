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
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

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
from controller.requests.rights import Sender, config_denial
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replace_messages
from protocol.messages import incremental_alter_configs as change_messages
from protocol.messages.metadata_records import ConfigRecord
from protocol.rights import Rights
from storage.log.sliced_work import Pace, Steps, each

if TYPE_CHECKING:
    from controller.policies import Policies, Refused

Respond = Callable[[Any], None]

RESOURCES_A_SLICE = 40
"""Decided on before others have their turn."""
_MAX_TEXT = MAX_CONFIG_BYTES_PER_OPERATION

_Alter = Callable[[View, Any], list[MetadataRecord] | ApiError]
"""The records of a resource's changes, or why not."""
_Row = tuple[ErrorCode, str | None, int, str]
"""Error, its words, the resource's type and name: the fields of both APIs' answers, in order."""


class ConfigRequests:
    """Handlers of the two requests."""

    def __init__(self, controller: QuorumController, policies: Policies | None = None) -> None:
        self._controller = controller
        self._policies = policies if policies is not None and policies.of_configs else None
        self._configuration = controller.configuration

    def incremental_alter_configs(
        self,
        context: Sender,
        request: change_messages.IncrementalAlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Answer an IncrementalAlterConfigs request."""

        def answer(rows: list[_Row]) -> None:
            answers = [change_messages.AlterConfigsResourceResponse(*row) for row in rows]
            respond(change_messages.IncrementalAlterConfigsResponse(responses=answers))

        self._submit("alter configs incrementally", context.rights, request, self._changes, answer)

    def alter_configs(
        self, context: Sender, request: replace_messages.AlterConfigsRequest, respond: Respond
    ) -> None:
        """Answer an AlterConfigs request."""

        def answer(rows: list[_Row]) -> None:
            answers = [replace_messages.AlterConfigsResourceResponse(*row) for row in rows]
            respond(replace_messages.AlterConfigsResponse(responses=answers))

        self._submit("alter configs", context.rights, request, self._replacement, answer)

    def _submit(
        self,
        name: str,
        rights: Rights,
        request: change_messages.IncrementalAlterConfigsRequest
        | replace_messages.AlterConfigsRequest,
        alter: _Alter,
        answer: Callable[[list[_Row]], None],
    ) -> None:
        def reply(outcome: list[ApiError | None] | ApiError) -> None:
            errors = repeat(outcome) if isinstance(outcome, ApiError) else outcome
            answer([_row(*pair) for pair in zip(request.resources, errors, strict=False)])

        def decide_the_rest(settled: Refused) -> None:
            decide = partial(
                self._decide, rights, request.resources, alter, request.validate_only, settled
            )
            self._controller.submit(name, decide, reply)

        policies = self._policies
        if policies is None:
            decide_the_rest({})
            return

        def looked_at(outcome: list[ApiError | list[MetadataRecord]] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                reply(outcome)
                return
            settled: Refused = {}
            possible: dict[int, tuple[Any, list[MetadataRecord]]] = {}
            for at, one in enumerate(outcome):
                if isinstance(one, ApiError):
                    settled[at] = one
                else:
                    possible[at] = request.resources[at], one
            policies.look_at_configs(
                possible, lambda refused: decide_the_rest({**settled, **refused})
            )

        look = partial(self._look, rights, request.resources, alter)
        self._controller.submit(f"look at: {name}", look, looked_at)

    def _look(
        self,
        rights: Rights,
        resources: Sequence[Any],
        alter: _Alter,
        view: View,
    ) -> Steps[Decision[list[ApiError | list[MetadataRecord]]]]:
        """What would be decided about each resource."""
        counts = Counter((r.resource_type, r.resource_name) for r in resources)
        outcome: list[ApiError | list[MetadataRecord]] = []
        yield from each(
            lambda r: outcome.append(_resource_error(rights, r, counts) or alter(view, r)),
            resources,
            RESOURCES_A_SLICE,
        )
        return Decision(outcome)

    def _decide(
        self,
        rights: Rights,
        resources: Sequence[Any],
        alter: _Alter,
        validate_only: bool,
        settled: Refused,
        view: View,
    ) -> Steps[Decision[list[ApiError | None]]]:
        """Each resource on its own: one that is refused does not stop the others."""
        counts = Counter((r.resource_type, r.resource_name) for r in resources)
        records: list[MetadataRecord] = []
        outcome: list[ApiError | None] = []
        pace = Pace(RESOURCES_A_SLICE)
        for at, resource in enumerate(resources):
            if pace.is_full():
                yield None
            error = settled.get(at) or _resource_error(rights, resource, counts)
            if error is None:
                altered = alter(view, resource)
                if isinstance(altered, ApiError):
                    error = altered
                else:
                    records += altered
            outcome.append(error)
        if len(records) > MAX_RECORDS_PER_OPERATION or _text_size(records) > _MAX_TEXT:
            return Decision(TOO_MANY_RECORDS)
        if not validate_only and any(_allows_unclean(record) for record in records):
            # Partitions that lost all proven replicas before may have a leader again.
            self._controller.elect_unclean_soon()
        return Decision(outcome, [] if validate_only else records)

    def _changes(
        self, view: View, resource: change_messages.AlterConfigsResource
    ) -> list[MetadataRecord] | ApiError:
        changes = [ConfigChange(c.name, c.config_operation, c.value) for c in resource.configs]
        return self._configuration.alter_incrementally(
            view.image, resource.resource_type, resource.resource_name, changes
        )

    def _replacement(
        self, view: View, resource: replace_messages.AlterConfigsResource
    ) -> list[MetadataRecord] | ApiError:
        configs = {config.name: config.value for config in resource.configs}
        return self._configuration.replace(
            view.image, resource.resource_type, resource.resource_name, configs
        )


def _text_size(records: Sequence[MetadataRecord]) -> int:
    return sum(len(one.value or "") for one in records if isinstance(one, ConfigRecord))


def _allows_unclean(record: MetadataRecord) -> bool:
    return isinstance(record, ConfigRecord) and record.name == UNCLEAN_LEADER_ELECTION


def _resource_error(
    rights: Rights, resource: Any, counts: Counter[tuple[int, str]]
) -> ApiError | None:
    kind, name = resource.resource_type, resource.resource_name
    if counts[(kind, name)] > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    denial = config_denial(rights, Operation.ALTER_CONFIGS, kind, name)
    if denial is not None:
        return denial
    names = [config.name for config in resource.configs]
    if len(dict.fromkeys(names)) != len(names):
        return ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if kind == ResourceType.BROKER_LOGGER:
        text = "Levels of loggers are not kept in the metadata"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _row(resource: Any, error: ApiError | None) -> _Row:
    code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
    return code, message, resource.resource_type, resource.resource_name
