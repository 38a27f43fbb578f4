"""AlterConfigs 0-2 and IncrementalAlterConfigs 0-1 as commands.

Owns: what is wrong with a request before its configs are looked at (a resource or a key given
twice), and the answers, one a resource. Levels of a broker's loggers never come here: they belong
to one process. Never: checks a value (`configuration_control`).

Follows KIP-133, KIP-339 and Kafka's `ConfigAdminManager` and `ControllerApis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

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
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replace_messages
from protocol.messages import incremental_alter_configs as change_messages
from protocol.messages.metadata_records import ConfigRecord

Respond = Callable[[Any], None]

_MAX_TEXT = MAX_CONFIG_BYTES_PER_OPERATION
_NONE = ApiError(ErrorCode.NONE)


class ConfigRequests:
    """Handlers of the two requests."""

    def __init__(self, controller: QuorumController) -> None:
        self._controller = controller
        self._configuration = controller.configuration

    def incremental_alter_configs(
        self,
        _context: object,
        request: change_messages.IncrementalAlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Answer an IncrementalAlterConfigs request."""

        def reply(outcome: list[ApiError] | ApiError) -> None:
            respond(
                change_messages.IncrementalAlterConfigsResponse(
                    responses=[
                        change_messages.AlterConfigsResourceResponse(
                            error.code,
                            error.message,
                            resource.resource_type,
                            resource.resource_name,
                        )
                        for resource, error in _paired(request.resources, outcome)
                    ]
                )
            )

        decide = partial(self._decide, request.resources, self._changes, request.validate_only)
        self._controller.submit("alter configs incrementally", decide, reply)

    def alter_configs(
        self, _context: object, request: replace_messages.AlterConfigsRequest, respond: Respond
    ) -> None:
        """Answer an AlterConfigs request."""

        def reply(outcome: list[ApiError] | ApiError) -> None:
            respond(
                replace_messages.AlterConfigsResponse(
                    responses=[
                        replace_messages.AlterConfigsResourceResponse(
                            error.code,
                            error.message,
                            resource.resource_type,
                            resource.resource_name,
                        )
                        for resource, error in _paired(request.resources, outcome)
                    ]
                )
            )

        decide = partial(self._decide, request.resources, self._replacement, request.validate_only)
        self._controller.submit("alter configs", decide, reply)

    def _decide(
        self,
        resources: Sequence[Any],
        alter: Callable[[View, Any], list[MetadataRecord] | ApiError],
        validate_only: bool,
        view: View,
    ) -> Decision[list[ApiError]]:
        """Each resource on its own: one that is refused does not stop the others."""
        counts = Counter((r.resource_type, r.resource_name) for r in resources)
        records: list[MetadataRecord] = []
        outcome: list[ApiError] = []
        for resource in resources:
            error = _resource_error(resource, counts)
            if error is None:
                altered = alter(view, resource)
                error = altered if isinstance(altered, ApiError) else _NONE
                records += [] if isinstance(altered, ApiError) else altered
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


def _resource_error(resource: Any, counts: Counter[tuple[int, str]]) -> ApiError | None:
    if counts[(resource.resource_type, resource.resource_name)] > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    names = [config.name for config in resource.configs]
    if len(dict.fromkeys(names)) != len(names):
        return ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        text = "Levels of loggers are not kept in the metadata"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _paired(
    resources: Sequence[Any], outcome: list[ApiError] | ApiError
) -> list[tuple[Any, ApiError]]:
    if isinstance(outcome, ApiError):
        return [(resource, outcome) for resource in resources]
    return list(zip(resources, outcome, strict=True))
