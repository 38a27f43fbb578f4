"""ApiVersions: v0-4.

Behaviour: names what this node serves, nothing more, with the features that the cluster has agreed
on. A request newer than ours never comes here: the request handler answers it in version 0 with
UNSUPPORTED_VERSION and our own range (KIP-511).

Produce is named from version 0 on though 0-2 are refused: librdkafka takes a broker that does not
name them for one that cannot compress (KAFKA-18659). GetTelemetrySubscriptions and PushTelemetry
are not named: clients that see them push metrics that nobody reads.

Versions: v1 throttle time, v3 flexible with the client's name and version and with features
(KIP-584), v4 lets a feature start at version 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
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

# org.apache.kafka.common.requests.ApiVersionsRequest: starts and ends alphanumeric.
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersionsApi:
    """What a client asks first."""

    def __init__(
        self,
        metadata: ImageSource,
        served: Callable[[], Sequence[Api]],
        supported_features: Mapping[str, tuple[int, int]],
        kraft_version: Callable[[], int] = lambda: 0,
    ) -> None:
        """`served` gives all APIs of this node, this one included, once they are assembled;
        `kraft_version()` the finalized one, which is a matter of the quorum and in no image."""
        self._metadata = metadata
        self._served = served
        self._features = supported_features
        self._kraft_version = kraft_version

    def apis(self) -> list[Api]:
        return [Api(ApiKey.API_VERSIONS, 0, 4, self.handle)]

    def handle(
        self, context: RequestContext, request: ApiVersionsRequest, respond: Respond
    ) -> None:
        if context.api_version >= SOFTWARE_FIELDS_FROM and not _names_are_valid(request):
            respond(ApiVersionsResponse(int(ErrorCode.INVALID_REQUEST)))
            return
        if context.connection is not None and context.api_version >= SOFTWARE_FIELDS_FROM:
            context.connection.runs_on(
                request.client_software_name, request.client_software_version
            )
        image = self._metadata.image
        respond(
            ApiVersionsResponse(
                api_keys=sorted(map(_named, self._served()), key=lambda one: one.api_key),
                supported_features=self._supported(context.api_version),
                finalized_features_epoch=image.offset,
                finalized_features=self._finalized(image.features),
            )
        )

    def _finalized(self, levels: Mapping[str, int]) -> list[FinalizedFeatureKey]:
        """Clients act on these: a level that is only kept for Apache Kafka is not told."""
        if kraft_version := self._kraft_version():
            levels = {**levels, KRAFT_VERSION: kraft_version}
        return [
            FinalizedFeatureKey(name, level, level)
            for name, level in levels.items()
            if level <= self._features.get(name, (0, 0))[1]
        ]

    def _supported(self, version: int) -> list[SupportedFeatureKey]:
        """A client before v4 fails on a feature that starts at 0, so it is not told of it."""
        return [
            SupportedFeatureKey(name, low, high)
            for name, (low, high) in self._features.items()
            if low > 0 or version >= FEATURE_FROM_ZERO
        ]


def _names_are_valid(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)


def _named(api: Api) -> ApiVersion:
    oldest = PRODUCE_NAMED_FROM if api.key is ApiKey.PRODUCE else api.oldest
    return ApiVersion(int(api.key), oldest, api.latest)
