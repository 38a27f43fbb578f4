"""DescribeCluster: v0-2 (KIP-700).

Behaviour: returns the brokers on the connection's listener, the cluster's id, and this broker as
the controller to send admin requests to (KIP-590). No right is needed. The authorized operations
are 0 for a sender that may not DESCRIBE the cluster.

Versions: v1 asks for brokers or controllers (KIP-919), and this node is a broker; v2 returns fenced
brokers on request (KIP-1073).
"""

from __future__ import annotations

from broker.apis.cluster_view import (
    OPERATIONS_NOT_ASKED,
    ClusterView,
    ImageSource,
)
from broker.requests.context import Api, RequestContext, Respond
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2


class DescribeClusterApi:
    """The handler of DescribeCluster."""

    def __init__(self, metadata: ImageSource, cluster_id: str, node_id: int) -> None:
        self._metadata = metadata
        self._cluster_id = cluster_id
        self._node_id = node_id

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, self.handle)]

    def handle(
        self, context: RequestContext, request: DescribeClusterRequest, respond: Respond
    ) -> None:
        """Respond at once with the brokers on the client's listener, and with this broker as
        controller if it is live. A request for controllers gets MISMATCHED_ENDPOINT_TYPE."""
        refusal = _endpoint_fault(request.endpoint_type)
        if refusal is not None:
            respond(
                DescribeClusterResponse(error_code=int(refusal.code), error_message=refusal.message)
            )
            return
        view = ClusterView(self._metadata.image, context.listener_name)
        operations_asked = request.include_cluster_authorized_operations
        respond(
            DescribeClusterResponse(
                endpoint_type=BROKERS,
                cluster_id=self._cluster_id,
                controller_id=view.controller_id(self._node_id),
                brokers=[
                    DescribeClusterBroker(
                        broker.id, broker.host, broker.port, broker.rack, broker.fenced
                    )
                    for broker in view.brokers(fenced=request.include_fenced_brokers)
                ],
                cluster_authorized_operations=(
                    context.rights.operations_on_cluster()
                    if operations_asked
                    else OPERATIONS_NOT_ASKED
                ),
            )
        )


def _endpoint_fault(endpoint_type: int) -> ApiError | None:
    """Return the error of a request for controllers or an unknown type; None if it asks for
    brokers."""
    if endpoint_type == BROKERS:
        return None
    if endpoint_type == CONTROLLERS:
        text = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER"
        )
        return ApiError(ErrorCode.MISMATCHED_ENDPOINT_TYPE, text)
    text = f"Unsupported endpoint type {endpoint_type}"
    return ApiError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, text)
