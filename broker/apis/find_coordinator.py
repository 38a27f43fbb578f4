"""FindCoordinator: v0-6. Which broker coordinates a group or a transactional id.

Behaviour: the leader of the partition of `__consumer_offsets` that the group's id hashes to, or of
`__transaction_state` for a transactional id. The topic is created when it is asked for first;
COORDINATOR_NOT_AVAILABLE, which clients retry, until the partition has a leader.

Versions: v1 key types and messages, v3 flexible, v4 several keys at once (KIP-699), v5
TRANSACTION_ABORTABLE (KIP-890), v6 share groups (KIP-932: refused, INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.auto_topic_creation import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker.apis.cluster_view import BrokerAddress, ClusterView, ImageSource
from broker.apis.context import Api, RequestContext, Respond
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
TRANSACTION = 1

BATCHED_FROM = 4
_NOBODY = BrokerAddress(-1, "", -1, None, False)


class FindCoordinatorApi:
    """Finds coordinators in the metadata image.

    `partition_for(group_id)` and `transaction_partition_for(transactional_id)` are the
    coordinators'; `create_topic(name, context)` asks the controller for an internal topic and may
    be called again and again.
    """

    def __init__(
        self,
        metadata: ImageSource,
        partition_for: Callable[[str], int],
        create_topic: Callable[[str, RequestContext], object],
        transaction_partition_for: Callable[[str], int],
    ) -> None:
        self._metadata = metadata
        self._topics = {
            GROUP: (OFFSETS_TOPIC, partition_for),
            TRANSACTION: (TRANSACTION_TOPIC, transaction_partition_for),
        }
        self._create_topic = create_topic

    def apis(self) -> list[Api]:
        """The API with its range."""
        return [Api(ApiKey.FIND_COORDINATOR, 0, 6, self.handle, self.refuse)]

    def handle(
        self, context: RequestContext, request: FindCoordinatorRequest, respond: Respond
    ) -> None:
        """Answer for one key, or from v4 on for several."""
        if context.api_version < BATCHED_FROM:
            error, node = self._find(context, request.key_type, request.key)
            respond(
                FindCoordinatorResponse(
                    error_code=error,
                    error_message=_words(error),
                    node_id=node.id,
                    host=node.host,
                    port=node.port,
                )
            )
            return
        coordinators = []
        for key in request.coordinator_keys:
            error, node = self._find(context, request.key_type, key)
            message = "" if error is ErrorCode.NONE else _words(error)
            coordinators.append(Coordinator(key, node.id, node.host, node.port, error, message))
        respond(FindCoordinatorResponse(coordinators=coordinators))

    @staticmethod
    def refuse(request: FindCoordinatorRequest, code: ErrorCode) -> FindCoordinatorResponse:
        """`code` for all keys."""
        return FindCoordinatorResponse(
            error_code=code,
            error_message=None,
            node_id=-1,
            port=-1,
            coordinators=[
                Coordinator(key, -1, "", -1, code, None) for key in request.coordinator_keys
            ],
        )

    def _find(
        self, context: RequestContext, key_type: int, key: str
    ) -> tuple[ErrorCode, BrokerAddress]:
        image = self._metadata.image
        view = ClusterView(image, context.listener_name)
        if key_type not in self._topics:
            return ErrorCode.INVALID_REQUEST, _NOBODY
        name, partition_for = self._topics[key_type]
        topic = image.topics.get(name)
        if topic is None:
            self._create_topic(name, context)
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOBODY
        partition = topic.partitions.get(partition_for(key))
        if partition is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOBODY
        return self._reachable(view, partition.leader)

    def _reachable(self, view: ClusterView, node_id: int) -> tuple[ErrorCode, BrokerAddress]:
        address = view.address(node_id)
        if address is None or address.fenced:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOBODY
        return ErrorCode.NONE, address


_WORDS = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "Coordinators of this key type are not served here.",
}


def _words(error: ErrorCode) -> str:
    return _WORDS.get(error, error.name)
