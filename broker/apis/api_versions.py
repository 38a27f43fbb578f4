"""ApiVersions: v0-5.

Behaviour: lists the APIs that this node serves, and the features that the cluster has finalized. A
request of a newer version is not handled here: the request handler answers it in version 0 with
UNSUPPORTED_VERSION and the range of this node (KIP-511).

Produce is listed from version 0 on although v0-2 are rejected: librdkafka disables compression for
a broker that does not list them (KAFKA-18659). GetTelemetrySubscriptions and PushTelemetry are not
listed: clients that see them would push metrics, which this broker has no use for.

Versions: v1 throttle time, v3 flexible with the client's name and version and with features
(KIP-584), v4 lets a feature start at version 0, v5 the cluster and the node that the client means,
or neither (KIP-1242): for another one a broker answers REBOOTSTRAP_REQUIRED. A controller does not
compare them, and a broker does not either before a login by SASL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from broker.apis.cluster_view import ImageSource
from broker.requests.context import ANONYMOUS, Api, RequestContext, Respond
from controller.metadata.version import KRAFT_VERSION
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

PRODUCE_NAMED_FROM = 0
SOFTWARE_FIELDS_FROM = 3
FEATURE_FROM_ZERO = 4
DESTINATION_FROM = 5
NO_NODE = -1

# org.apache.kafka.common.requests.ApiVersionsRequest: starts and ends alphanumeric.
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersionsApi:
    """The handler of ApiVersions, a client's first request."""

    def __init__(
        self,
        metadata: ImageSource,
        served: Callable[[], Sequence[Api]],
        supported_features: Mapping[str, tuple[int, int]],
        kraft_version: Callable[[], int] = lambda: 0,
        destination: tuple[str, int] | None = None,
    ) -> None:
        """Take `served()`, which returns all APIs of this node after they are assembled.

        `kraft_version()` returns the finalized kraft.version, which the quorum keeps outside of the
        image. `destination`: the cluster id and node id that a client has to mean; None: not
        compared.
        """
        self._metadata = metadata
        self._served = served
        self._features = supported_features
        self._kraft_version = kraft_version
        self._destination = destination

    def apis(self) -> list[Api]:
        return [Api(ApiKey.API_VERSIONS, 0, 5, self.handle)]

    def handle(
        self, context: RequestContext, request: ApiVersionsRequest, respond: Respond
    ) -> None:
        """Answer at once. From v3 on, also set the client's software name and version in its
        connection.

        A request with invalid names of its software, or with only one of cluster id and node id,
        gets INVALID_REQUEST.
        """
        error = self._error(context, request)
        if error is not ErrorCode.NONE:
            respond(ApiVersionsResponse(int(error)))
            return
        if context.connection is not None and context.api_version >= SOFTWARE_FIELDS_FROM:
            context.connection.runs_on(
                request.client_software_name, request.client_software_version
            )
        image = self._metadata.image
        respond(
            ApiVersionsResponse(
                api_keys=sorted(
                    map(_listed_api, self._served()), key=lambda listed_api: listed_api.api_key
                ),
                supported_features=self._supported(context.api_version),
                finalized_features_epoch=image.offset,
                finalized_features=self._finalized(image.features),
            )
        )

    def _error(self, context: RequestContext, request: ApiVersionsRequest) -> ErrorCode:
        version = context.api_version
        if version >= SOFTWARE_FIELDS_FROM and not _names_are_valid(request):
            return ErrorCode.INVALID_REQUEST
        if version < DESTINATION_FROM or (request.cluster_id, request.node_id) == (None, NO_NODE):
            return ErrorCode.NONE
        if request.cluster_id is None or request.node_id == NO_NODE:
            return ErrorCode.INVALID_REQUEST
        if _is_before_login(context):
            return ErrorCode.NONE
        if self._destination not in (None, (request.cluster_id, request.node_id)):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        return ErrorCode.NONE

    def _finalized(self, levels: Mapping[str, int]) -> list[FinalizedFeatureKey]:
        """Return the finalized features with levels that this broker supports.

        Clients act on finalized features, so levels that are stored only for Apache Kafka are left
        out.
        """
        if kraft_version := self._kraft_version():
            levels = {**levels, KRAFT_VERSION: kraft_version}
        return [
            FinalizedFeatureKey(name, level, level)
            for name, level in levels.items()
            if level <= self._features.get(name, (0, 0))[1]
        ]

    def _supported(self, version: int) -> list[SupportedFeatureKey]:
        """Return the supported features.

        Features from level 0 are left out before v4, because such clients fail on them.
        """
        return [
            SupportedFeatureKey(name, low, high)
            for name, (low, high) in self._features.items()
            if low > 0 or version >= FEATURE_FROM_ZERO
        ]


def _is_before_login(context: RequestContext) -> bool:
    """Return whether the client is about to log in by SASL, and so has no principal yet."""
    return context.principal == ANONYMOUS and context.security_protocol.startswith("SASL_")


def _names_are_valid(request: ApiVersionsRequest) -> bool:
    """Return whether the name and version of the client's software are well-formed (KIP-511)."""
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)


def _listed_api(api: Api) -> ApiVersion:
    """Return the range of versions as clients see it: Produce starts at PRODUCE_NAMED_FROM."""
    oldest = PRODUCE_NAMED_FROM if api.key is ApiKey.PRODUCE else api.oldest
    return ApiVersion(int(api.key), oldest, api.latest)
