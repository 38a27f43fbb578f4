"""FindCoordinator: v0-6. The broker that coordinates a group, transactional id or share-partition.

Behaviour: returns the leader of the partition of `__consumer_offsets` that the group's id hashes
to, of `__transaction_state` for a transactional id, or of `__share_group_state` for a
share-partition. While the partition has no leader, the answer is COORDINATOR_NOT_AVAILABLE, which
clients retry. A key of a share-partition is `group:topicId:partition`, otherwise its answer is
INVALID_REQUEST.

The topic is created with the first request for it. The answer to that request is held until the
coordinator is ready, because librdkafka would retry only a second later. Meanwhile the coordinator
is looked up every few milliseconds, because several things must be ready: the metadata, a leader,
its shard.

Rights: for each key, DESCRIBE on the group (GROUP_AUTHORIZATION_FAILED) or on the transactional id
(TRANSACTIONAL_ID_AUTHORIZATION_FAILED). Share-partitions need CLUSTER_ACTION
(CLUSTER_AUTHORIZATION_FAILED). No topic is created for a denied or an invalid key.

Versions: v1 key types and messages, v3 flexible, v4 several keys at once (KIP-699), v5
TRANSACTION_ABORTABLE (KIP-890), v6 share-partitions (KIP-932; INVALID_REQUEST before v6).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from broker.apis.cluster_view import BrokerAddress, ClusterView, ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.rights import EVERYTHING, allowed_in_slices
from ground.ports import Scheduler
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
TRANSACTION = 1
SHARE = 2

BATCHED_FROM = 4
SHARE_FROM = 6
MADE_WITHIN_MS = 1_000
"""The longest hold of an answer while the topic is created; after it, the client must retry."""
LOOK_AGAIN_MS = 3
HASHED_A_PIECE = 64
"""The characters of a key that count as one piece of work (`Pace`)."""
_NO_NODE = BrokerAddress(-1, "", -1, None, False)


class Coordinators(NamedTuple):
    """A type of coordinator, such as that of groups, and how its broker is found for a key."""

    topic: str
    partition_for: Callable[[str], int | None]
    """Returns the partition of the topic for a key; None if the key is invalid."""
    serves: Callable[[str], bool]
    """Returns whether this broker's coordinator is ready for a key."""


CreateTopic = Callable[[str, Callable[[], None]], object]
"""(name, refused): asks the controller for an internal topic; repeated calls are harmless.

`refused()` is called if the controller does not create it.
"""


@dataclass(slots=True)
class _Search:
    """A request in progress; `until_ms` is 0 if it does not wait."""

    context: RequestContext
    request: FindCoordinatorRequest
    respond: Respond
    keys: Sequence[str]
    denied: dict[str, ErrorCode] | None = None
    """The keys that are invalid or that the client has no right to, with their errors; None before
    they are checked."""
    until_ms: float = 0
    served: int = 0
    """The number of leading keys that need no further wait."""

    def stop_waiting(self) -> None:
        """Let the next look-up answer, because the topic will not be created."""
        self.until_ms = 0


class FindCoordinatorApi:
    """The handler of FindCoordinator, which answers from the metadata image."""

    def __init__(
        self,
        metadata: ImageSource,
        node_id: int,
        scheduler: Scheduler,
        groups: Coordinators,
        transactions: Coordinators,
        shares: Coordinators,
        create_topic: CreateTopic,
        answers: SlicedAnswers,
    ) -> None:
        self._answers = answers
        self._metadata = metadata
        self._node_id = node_id
        self._scheduler = scheduler
        self._kinds = {GROUP: groups, TRANSACTION: transactions, SHARE: shares}
        self._new_until_ms = dict.fromkeys(self._kinds, 0.0)
        """The time until which a new coordinator of the kind may be waited for."""
        self._create_topic = create_topic

    def apis(self) -> list[Api]:
        return [Api(ApiKey.FIND_COORDINATOR, 0, 6, self.handle, self.refuse)]

    def handle(
        self, context: RequestContext, request: FindCoordinatorRequest, respond: Respond
    ) -> None:
        """Respond with the coordinator of one key, or from v4 on of several keys. If its topic is
        created only now, respond after it is ready, within MADE_WITHIN_MS."""
        keys = [request.key] if context.api_version < BATCHED_FROM else request.coordinator_keys
        self._start_search(_Search(context, request, respond, keys))

    def _start_search(self, search: _Search) -> None:
        """Look up the coordinators in slices. Then respond, or look again in LOOK_AGAIN_MS."""
        done = partial(self._answer_or_retry, search)
        self._answers.judge(
            search.context, search.request, self._search(search), done, search.respond, self.refuse
        )

    def _answer_or_retry(self, search: _Search, response: FindCoordinatorResponse | None) -> None:
        """Respond, or search again in LOOK_AGAIN_MS if `response` is None."""
        if response is None:
            self._scheduler.call_later(LOOK_AGAIN_MS, partial(self._start_search, search))
        else:
            search.respond(response)

    def _search(self, search: _Search) -> Steps[FindCoordinatorResponse | None]:
        """Return the response, in slices; None while a coordinator is about to serve.

        The first search of a request checks the rights, and begins to create a missing topic.
        """
        pace = Pace()
        if search.denied is None:
            search.denied, is_any_left = yield from self._rejected(search, pace)
            if is_any_left:
                self._wait_for_topic(search)
        while search.until_ms and search.served < len(search.keys):
            key = search.keys[search.served]
            if pace.is_full(_pieces_of(key)):
                yield None
            *_, serves = self._find(search, key, search.denied)
            if serves:
                search.served += 1
            elif self._scheduler.monotonic_ms() < search.until_ms:
                return None
            else:
                break
        if search.context.api_version < BATCHED_FROM:
            error, node, _ = self._find(search, search.keys[0], search.denied)
            return FindCoordinatorResponse(
                error_code=error,
                error_message=_message_of(error),
                node_id=node.id,
                host=node.host,
                port=node.port,
            )
        coordinators = Items[Coordinator](search.context.api_version)
        for key in search.keys:
            if pace.is_full(_pieces_of(key)):
                yield None
            error, node, _ = self._find(search, key, search.denied)
            message = "" if error in _WITHOUT_MESSAGE else _message_of(error)
            coordinators.add(Coordinator(key, node.id, node.host, node.port, error, message))
        return FindCoordinatorResponse(coordinators=coordinators.array())

    def _rejected(self, search: _Search, pace: Pace) -> Steps[tuple[dict[str, ErrorCode], bool]]:
        """Return the keys that are denied or invalid, with their errors, and whether any other key
        is left."""
        is_share = search.request.key_type == SHARE
        has_shares = search.context.api_version >= SHARE_FROM
        denied: dict[str, ErrorCode] = {}
        if not is_share or has_shares:
            denied, is_any_left = yield from _denied(search, pace)
            if not is_share or not is_any_left:
                return denied, is_any_left
        is_any_left = False
        for key in search.keys:
            if pace.is_full(_pieces_of(key)):
                yield None
            if has_shares and self._kinds[SHARE].partition_for(key) is not None:
                is_any_left = True
            else:
                denied[key] = ErrorCode.INVALID_REQUEST
        return denied, is_any_left

    def _wait_for_topic(self, search: _Search) -> None:
        """Ask the controller for the topic if it does not exist. Set the time until which `search`
        waits for a new topic."""
        key_type = search.request.key_type
        kind = self._kinds.get(key_type)
        if kind is None:
            return
        now_ms = self._scheduler.monotonic_ms()
        if kind.topic not in self._metadata.image.topics.by_name:
            self._new_until_ms[key_type] = now_ms + MADE_WITHIN_MS
            search.until_ms = now_ms + MADE_WITHIN_MS
            self._create_topic(kind.topic, search.stop_waiting)
        elif now_ms < self._new_until_ms[key_type]:
            search.until_ms = self._new_until_ms[key_type]

    @staticmethod
    def refuse(request: FindCoordinatorRequest, code: ErrorCode) -> FindCoordinatorResponse:
        """Return a response with `code` for all keys."""
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
        self, search: _Search, key: str, denied: Mapping[str, ErrorCode]
    ) -> tuple[ErrorCode, BrokerAddress, bool]:
        """Return the error, the coordinator's address, and whether the key needs no further wait.

        A coordinator on another broker needs no wait: whether it is ready is unknown here.
        """
        if key in denied:
            return denied[key], _NO_NODE, True
        kind = self._kinds.get(search.request.key_type)
        if kind is None:
            return ErrorCode.INVALID_REQUEST, _NO_NODE, False
        image = self._metadata.image
        topic = image.topics.get(kind.topic)
        index = kind.partition_for(key) if topic is not None else None
        partition = None if topic is None or index is None else topic.partitions.get(index)
        if partition is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NO_NODE, False
        address = ClusterView(image, search.context.listener_name).address(partition.leader)
        if address is None or address.fenced:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NO_NODE, False
        return ErrorCode.NONE, address, address.id != self._node_id or kind.serves(key)


def _denied(search: _Search, pace: Pace) -> Steps[tuple[dict[str, ErrorCode], bool]]:
    """Return the denied keys with their errors, and whether any key is allowed."""
    context, keys, key_type = search.context, search.keys, search.request.key_type
    rights = context.rights
    allowed: Container[str]
    if key_type == SHARE:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        allowed = EVERYTHING if rights.allows_on_cluster(Operation.CLUSTER_ACTION) else ()
    elif key_type in _RIGHTS:
        resource, error = _RIGHTS[key_type]
        allowed = yield from allowed_in_slices(rights, Operation.DESCRIBE, resource, keys)
    else:
        allowed = EVERYTHING
    denied: dict[str, ErrorCode] = {}
    if allowed is EVERYTHING:
        return denied, bool(keys)
    is_any_allowed = False
    for key in keys:
        if pace.is_full():
            yield None
        if key in allowed:
            is_any_allowed = True
        else:
            denied[key] = error
    return denied, is_any_allowed


def _pieces_of(key: str) -> int:
    """Return the pieces of work (`Pace`) that a key counts as."""
    return 1 + len(key) // HASHED_A_PIECE


_RIGHTS = {
    GROUP: (Resource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: (Resource.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
_WITHOUT_MESSAGE = (
    ErrorCode.NONE,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
"""The errors that have no message in a response with several keys, as in Kafka."""
_MESSAGES = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "The key type is unknown in this version, or the key is invalid.",
}


def _message_of(error: ErrorCode) -> str:
    return _MESSAGES.get(error, error.name)
