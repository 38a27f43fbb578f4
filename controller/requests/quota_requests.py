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
    QuotaErrors,
    alter_client_quotas,
    entity_in_slices,
)
from controller.decisions.decision import Decision, View
from controller.metadata.client_quotas import QuotaEntity
from controller.requests.long_requests import LongRequests, made_of_parts
from controller.requests.rights import Sender, if_allowed
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
    """The request's handler."""

    def __init__(self, long: LongRequests) -> None:
        self._long = long

    def alter(self, context: Sender, request: AlterClientQuotasRequest, respond: Respond) -> None:
        """Answer an AlterClientQuotas request."""

        def decide(view: View) -> Steps[Decision[QuotaErrors]]:
            return alter_client_quotas(view, request.entries, request.validate_only)

        def answer(outcome: QuotaErrors | ApiError) -> Steps[AlterClientQuotasResponse]:
            if isinstance(outcome, ApiError):
                return (yield from refused_quotas(request, outcome))
            return (yield from _altered(outcome.items()))

        allowed = if_allowed(context, Operation.ALTER_CONFIGS, decide)
        self._long.submit("alter client quotas", allowed, answer, respond)


def refused_quotas(
    request: AlterClientQuotasRequest, error: ApiError
) -> Steps[AlterClientQuotasResponse]:
    """The answer that says `error` for every entry."""
    pace = Pace()
    refused: list[tuple[QuotaEntity, ApiError]] = []
    for entry in request.entries:
        if pace.is_full():
            yield None
        entity = yield from entity_in_slices(entry, pace)
        refused.append((entity, error))
    return (yield from _altered(refused))


def _altered(
    outcome: Iterable[tuple[QuotaEntity, ApiError | None]],
) -> Steps[AlterClientQuotasResponse]:
    entries = yield from made_of_parts(
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
    error = altered[1] or ApiError(ErrorCode.NONE)
    return AlterClientQuotasResponseEntryData(int(error.code), error.message, entity)
