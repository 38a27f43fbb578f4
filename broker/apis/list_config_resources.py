"""ListConfigResources: v0-1.

Behaviour: returns the names of resources that have, or can have, configs. Every topic and every
broker (and its loggers) can. Groups and client metrics subscriptions are listed after a config was
set for them.

Rights: DescribeConfigs on the cluster.

Versions: v0 is KIP-714's ListClientMetricsResources, which had the same API key. v1 has the types
of resources (KIP-1142); none means all.
"""

from __future__ import annotations

from broker.apis.cluster_view import ClusterView, ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.image import MetadataImage, ResourceType
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TYPES_FROM = 1

_LISTED = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)


class ListConfigResourcesApi:
    """The handler of ListConfigResources."""

    def __init__(self, metadata: ImageSource, answers: SlicedAnswers) -> None:
        self._metadata = metadata
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, self.handle, refuse_list_config_resources)]

    def handle(
        self, context: RequestContext, request: ListConfigResourcesRequest, respond: Respond
    ) -> None:
        """Respond with the names of the resources of the requested types, as of the current
        metadata image.

        Without DESCRIBE_CONFIGS on the cluster, or for an unknown type, respond with an error only.
        """
        if not context.rights.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
            respond(refuse_list_config_resources(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        if context.api_version < TYPES_FROM:
            wanted = [ResourceType.CLIENT_METRICS]
        else:
            wanted = request.resource_types or list(_LISTED)
        if any(kind not in _LISTED for kind in wanted):
            respond(refuse_list_config_resources(request, ErrorCode.UNSUPPORTED_VERSION))
            return
        steps = _answer(context, wanted, self._metadata.image)
        self._answers.give(context, request, steps, respond, refuse_list_config_resources)


def _answer(
    context: RequestContext, wanted: list[int], image: MetadataImage
) -> Steps[ListConfigResourcesResponse]:
    """Return the response as of `image`, in slices, also if a newer image comes between them."""
    pace, resources = Pace(), Items[ConfigResource](context.api_version)
    view = ClusterView(image, context.listener_name)
    for kind in _LISTED:
        for name in _resource_names(kind, image, view) if kind in wanted else ():
            if pace.is_full():
                yield None
            resources.add(ConfigResource(name, kind))
    return ListConfigResourcesResponse(config_resources=resources.array())


def _resource_names(kind: int, image: MetadataImage, view: ClusterView) -> list[str]:
    """Return the names of all resources of a type; fenced brokers are included."""
    if kind == ResourceType.TOPIC:
        return list(image.topics.by_name)
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(broker.id) for broker in view.brokers(fenced=True)]
    return [name for (resource_type, name) in image.configs if resource_type == kind]


def refuse_list_config_resources(
    _request: ListConfigResourcesRequest, error: ErrorCode
) -> ListConfigResourcesResponse:
    """Return a response with `error` and no resources."""
    return ListConfigResourcesResponse(0, int(error))
