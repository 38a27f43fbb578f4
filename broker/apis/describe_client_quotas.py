"""DescribeClientQuotas: v0-1 (KIP-546).

Behaviour: returns quotas from the metadata image. Kafka's tools send this before they describe a
user, even if only its SCRAM credentials are asked for. A filter names types of entities, each once.
Entities with further types match as well, unless the filter is strict.

Rights: DescribeConfigs on the cluster.

Versions: v1 is flexible.

Follows Kafka's `ClientQuotasImage`.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from controller.metadata.client_quotas import ENTITY_TYPES, IP
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

_DENIED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_EXACT, _DEFAULT, _ANY = 0, 1, 2


class DescribeClientQuotasApi:
    """The handler of DescribeClientQuotas."""

    def __init__(self, metadata: ImageSource) -> None:
        self._metadata = metadata

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, self.handle)]

    def handle(
        self, context: RequestContext, request: DescribeClientQuotasRequest, respond: Respond
    ) -> None:
        """Respond at once with the matching quotas of the metadata image.

        An invalid filter, or a client without DESCRIBE_CONFIGS on the cluster, gets an error for
        the whole.
        """
        allowed = context.rights.allows_on_cluster(Operation.DESCRIBE_CONFIGS)
        fault = _filter_fault(request.components) if allowed else _DENIED
        if fault is not None:
            respond(DescribeClientQuotasResponse(0, int(fault.code), fault.message, None))
            return
        entries = [
            EntryData(
                [EntityData(*part) for part in entity],
                [ValueData(key, value) for key, value in values.items()],
            )
            for entity, values in self._metadata.image.client_quotas.items()
            if _matches(dict(entity), request)
        ]
        respond(DescribeClientQuotasResponse(entries=entries))


def _filter_fault(components: Sequence[ComponentData]) -> ApiError | None:
    """Return the first error of a filter, or None if it is valid."""
    seen: list[str] = []
    for component in components:
        fault = _component_fault(component, seen)
        if fault is not None:
            return fault
        seen.append(component.entity_type)
    if IP in seen and len(seen) > 1:
        return _refused(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    return None


def _component_fault(component: ComponentData, seen: Sequence[str]) -> ApiError | None:
    """Return the error of one part of a filter, or None; `seen` has the earlier entity types."""
    kind = component.entity_type
    if not kind:
        return _refused("Invalid empty entity type.")
    if kind in seen:
        return _refused(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in ENTITY_TYPES:
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if component.match_type == _EXACT:
        text = "Request specified MATCH_TYPE_EXACT, but set match string to null."
        return _refused(text) if component.match is None else None
    if component.match_type not in (_DEFAULT, _ANY):
        return _refused(f"Unknown match type {component.match_type}")
    if component.match is None:
        return None
    name = "DEFAULT" if component.match_type == _DEFAULT else "SPECIFIED"
    return _refused(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")


def _refused(text: str) -> ApiError:
    """Return INVALID_REQUEST with this message."""
    return ApiError(ErrorCode.INVALID_REQUEST, text)


def _matches(entity: dict[str, str | None], request: DescribeClientQuotasRequest) -> bool:
    """Return True if the entity has each part of the filter and, if strict, no other part."""
    if request.strict and len(entity) != len(request.components):
        return False
    return all(
        component.entity_type in entity
        and (component.match_type == _ANY or entity[component.entity_type] == component.match)
        for component in request.components
    )
