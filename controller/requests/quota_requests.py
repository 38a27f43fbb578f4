"""AlterClientQuotas 0-1 as a command.

v1: flexible versions.

Rights: AlterConfigs on the cluster; CLUSTER_AUTHORIZATION_FAILED otherwise, for each entry.

Owns: the form of the answer, which names each entity once. Never: checks a quota
(`controller.decisions.client_quota_control`). DescribeClientQuotas is the broker's:
`broker.apis.describe_client_quotas`.
Follows KIP-546 and Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from controller.decisions.client_quota_control import (
    QuotaAlteration,
    QuotaErrors,
    QuotaOp,
    alter_client_quotas,
)
from controller.decisions.decision import Decision, View
from controller.metadata.client_quotas import QuotaEntity, quota_entity
from controller.quorum_controller import QuorumController
from controller.requests.rights import Sender, if_allowed
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
)

Respond = Callable[[Any], None]


class QuotaRequests:
    """The request's handler."""

    def __init__(self, controller: QuorumController) -> None:
        self._controller = controller

    def alter(self, context: Sender, request: AlterClientQuotasRequest, respond: Respond) -> None:
        """Answer an AlterClientQuotas request."""
        alterations = [
            QuotaAlteration(
                _entity(one),
                [QuotaOp(op.key, None if op.remove else op.value) for op in one.ops],
            )
            for one in request.entries
        ]

        def decide(view: View) -> Decision[QuotaErrors]:
            return alter_client_quotas(view, alterations, request.validate_only)

        def reply(outcome: QuotaErrors | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(refused_quotas(request, outcome))
            else:
                respond(_altered(outcome.items()))

        self._controller.submit(
            "alter client quotas", if_allowed(context, Operation.ALTER_CONFIGS, decide), reply
        )


def refused_quotas(request: AlterClientQuotasRequest, error: ApiError) -> AlterClientQuotasResponse:
    """The answer that says `error` for every entry."""
    return _altered((_entity(one), error) for one in request.entries)


def _entity(entry: AlterClientQuotasRequestEntryData) -> QuotaEntity:
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)


def _altered(outcome: Iterable[tuple[QuotaEntity, ApiError | None]]) -> AlterClientQuotasResponse:
    entries = [
        AlterClientQuotasResponseEntryData(
            int(ErrorCode.NONE if error is None else error.code),
            None if error is None else error.message,
            [AlterClientQuotasResponseEntityData(*part) for part in entity],
        )
        for entity, error in outcome
    ]
    return AlterClientQuotasResponse(entries=entries)
