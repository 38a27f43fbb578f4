"""FindCoordinator: v0-6. Which broker coordinates a group or a transactional id.

Behaviour: the leader of the partition of `__consumer_offsets` that the group's id hashes to, or of
`__transaction_state` for a transactional id. COORDINATOR_NOT_AVAILABLE, which clients retry, while
the partition has no leader.

The topic is created when it is asked for first, and the answer is held meanwhile, until the
coordinator serves: librdkafka would ask again a second later. It is looked for every few
milliseconds, since much has to come together: metadata, a leader, its shard.

Needs, for each key: DESCRIBE of the group (GROUP_AUTHORIZATION_FAILED) or of the transactional id
(TRANSACTIONAL_ID_AUTHORIZATION_FAILED). Keys of share groups need CLUSTER_ACTION, from v6 on, which
knows them (CLUSTER_AUTHORIZATION_FAILED). For a key that is denied no topic is made.

Versions: v1 key types and messages, v3 flexible, v4 several keys at once (KIP-699), v5
TRANSACTION_ABORTABLE (KIP-890), v6 share groups (KIP-932: refused, INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from broker.apis.cluster_view import BrokerAddress, ClusterView, ImageSource
from broker.requests.context import Api, RequestContext, Respond
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from storage.ports import Scheduler

GROUP = 0
TRANSACTION = 1
SHARE = 2

BATCHED_FROM = 4
SHARE_FROM = 6
MADE_WITHIN_MS = 1_000
"""For how long an answer is held while the topic is made; then the client has to ask again."""
LOOK_AGAIN_MS = 3
_NOBODY = BrokerAddress(-1, "", -1, None, False)


class Coordinators(NamedTuple):
    """One kind of coordinator, of all brokers."""

    topic: str
    partition_for: Callable[[str], int]
    """Key → partition of the topic."""
    serves: Callable[[str], bool]
    """Whether this broker's coordinator answers for a key."""


CreateTopic = Callable[[str, Callable[[], None]], object]
"""(name, refused): asks the controller for an internal topic, and may be called again and
again; `refused()` where the controller made none."""


@dataclass(slots=True)
class _Search:
    """One request; `until_ms` is 0 where nothing has to be waited for."""

    context: RequestContext
    request: FindCoordinatorRequest
    respond: Respond
    denied: dict[str, ErrorCode]
    """Keys that the client may not ask about, and what it is told of them."""
    until_ms: float = 0

    def give_up(self) -> None:
        """There will be no topic."""
        self.until_ms = 0


class FindCoordinatorApi:
    """Finds coordinators in the metadata image."""

    def __init__(
        self,
        metadata: ImageSource,
        node_id: int,
        scheduler: Scheduler,
        groups: Coordinators,
        transactions: Coordinators,
        create_topic: CreateTopic,
    ) -> None:
        self._metadata = metadata
        self._node_id = node_id
        self._scheduler = scheduler
        self._kinds = {GROUP: groups, TRANSACTION: transactions}
        self._made_until_ms = {GROUP: 0.0, TRANSACTION: 0.0}
        """Until then a coordinator of the kind may be about to serve for the first time."""
        self._create_topic = create_topic

    def apis(self) -> list[Api]:
        """The API with its range."""
        return [Api(ApiKey.FIND_COORDINATOR, 0, 6, self.handle, self.refuse)]

    def handle(
        self, context: RequestContext, request: FindCoordinatorRequest, respond: Respond
    ) -> None:
        """Answer for one key, or from v4 on for several."""
        kind = self._kinds.get(request.key_type)
        keys = [request.key] if context.api_version < BATCHED_FROM else request.coordinator_keys
        denied = _denied(context, request.key_type, keys)
        search = _Search(context, request, respond, denied)
        if kind is not None and any(key not in denied for key in keys):
            now_ms = self._scheduler.monotonic_ms()
            if kind.topic not in self._metadata.image.topics.by_name:
                self._made_until_ms[request.key_type] = now_ms + MADE_WITHIN_MS
                search.until_ms = now_ms + MADE_WITHIN_MS
                self._create_topic(kind.topic, search.give_up)
            elif now_ms < self._made_until_ms[request.key_type]:
                search.until_ms = self._made_until_ms[request.key_type]
        self._look(search, keys)

    def _look(self, search: _Search, keys: Sequence[str]) -> None:
        found = [self._find(search, key) for key in keys]
        waited_for = not all(serves for _, _, serves in found)
        if waited_for and self._scheduler.monotonic_ms() < search.until_ms:
            self._scheduler.call_later(LOOK_AGAIN_MS, partial(self._look, search, keys))
            return
        if search.context.api_version < BATCHED_FROM:
            ((error, node, _),) = found
            search.respond(
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
        for key, (error, node, _) in zip(keys, found, strict=True):
            message = "" if error in _WITHOUT_WORDS else _words(error)
            coordinators.append(Coordinator(key, node.id, node.host, node.port, error, message))
        search.respond(FindCoordinatorResponse(coordinators=coordinators))

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

    def _find(self, search: _Search, key: str) -> tuple[ErrorCode, BrokerAddress, bool]:
        """What to answer, and whether that is all there is to wait for: of another broker's
        coordinator, that there is one is all that is known here."""
        if key in search.denied:
            return search.denied[key], _NOBODY, True
        kind = self._kinds.get(search.request.key_type)
        if kind is None:
            return ErrorCode.INVALID_REQUEST, _NOBODY, False
        image = self._metadata.image
        topic = image.topics.get(kind.topic)
        partition = topic.partitions.get(kind.partition_for(key)) if topic is not None else None
        if partition is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOBODY, False
        address = ClusterView(image, search.context.listener_name).address(partition.leader)
        if address is None or address.fenced:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOBODY, False
        return ErrorCode.NONE, address, address.id != self._node_id or kind.serves(key)


def _denied(context: RequestContext, key_type: int, keys: Sequence[str]) -> dict[str, ErrorCode]:
    """Which of the keys must not be told, and what is told instead."""
    rights = context.rights
    if rights.unlimited:
        return {}
    if key_type == SHARE and context.api_version >= SHARE_FROM:
        if rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            return {}
        return dict.fromkeys(keys, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if key_type not in _JUDGED:
        return {}
    resource, error = _JUDGED[key_type]
    allowed = rights.allowed(Operation.DESCRIBE, resource, keys)
    return {key: error for key in keys if key not in allowed}


_JUDGED = {
    GROUP: (Resource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: (Resource.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
_WITHOUT_WORDS = (
    ErrorCode.NONE,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
"""Among several keys, as in Kafka."""
_WORDS = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "Coordinators of this key type are not served here.",
}


def _words(error: ErrorCode) -> str:
    return _WORDS.get(error, error.name)
