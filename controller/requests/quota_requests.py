"""AlterClientQuotas 0-1 as a command.

v1: flexible versions.

Rights: AlterConfigs on the cluster; otherwise each entry gets CLUSTER_AUTHORIZATION_FAILED.

Owns: the form of the response, which names each entity once. Never: checks a quota
(`controller.decisions.client_quota_control`). The broker answers DescribeClientQuotas
(`broker.apis.describe_client_quotas`).
Follows KIP-546 and Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from controller.decisions.client_quota_control import (
    QuotaErrors,
    alter_client_quotas,
    entity_in_slices,
)
from controller.decisions.decision import Decision, DecisionView
from controller.metadata.client_quotas import QuotaEntity
from controller.requests.long_requests import LongRequests, map_parts_in_slices
from controller.requests.rights import RequestSender, if_allowed
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
)

Respond = Callable[[Any], None]


class QuotaRequests:
    """The handler of AlterClientQuotas."""

    def __init__(self, long: LongRequests) -> None:
        self._long = long

    def alter(
        self, context: RequestSender, request: AlterClientQuotasRequest, respond: Respond
    ) -> None:
        """Alter or remove client quotas, or only validate that, and respond after the commit, with
        a result for each entity. Needs AlterConfigs on the cluster."""

        def decide(view: DecisionView) -> Steps[Decision[QuotaErrors]]:
            return alter_client_quotas(view, request.entries, request.validate_only)

        def answer(outcome: QuotaErrors | ApiError) -> Steps[AlterClientQuotasResponse]:
            """Return the response: the result of each entity, or the error in `outcome` for every
            entry."""
            if isinstance(outcome, ApiError):
                return (yield from refused_quotas(request, outcome))
            return (yield from _alteration_response(outcome.items()))

        allowed = if_allowed(context, Operation.ALTER_CONFIGS, decide)
        self._long.submit("alter client quotas", allowed, answer, respond)


def refused_quotas(
    request: AlterClientQuotasRequest, error: ApiError
) -> Steps[AlterClientQuotasResponse]:
    """Return the response with `error` for every entry."""
    pace = Pace()
    refused: list[tuple[QuotaEntity, ApiError]] = []
    for entry in request.entries:
        if pace.is_full():
            yield None
        entity = yield from entity_in_slices(entry, pace)
        refused.append((entity, error))
    return (yield from _alteration_response(refused))


def _alteration_response(
    outcome: Iterable[tuple[QuotaEntity, ApiError | None]],
) -> Steps[AlterClientQuotasResponse]:
    """Return the response with the error of each entity, in slices; None: no error."""
    entries = yield from map_parts_in_slices(
        outcome,
        lambda altered: altered[0],
        lambda part: AlterClientQuotasResponseEntityData(*part),
        _entry,
    )
    return AlterClientQuotasResponse(entries=entries)


def _entry(
    altered: tuple[QuotaEntity, ApiError | None],
    entity: list[AlterClientQuotasResponseEntityData],
) -> AlterClientQuotasResponseEntryData:
    """Return the part of a response for an entity: its error or none, and `entity`, its components
    as messages."""
    error = altered[1] or ApiError(ErrorCode.NONE)
    return AlterClientQuotasResponseEntryData(int(error.code), error.message, entity)
