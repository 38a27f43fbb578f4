"""A cluster that answers from a script: no sockets, and what it was asked is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from client.cluster import ClusterClient
from client.core.offsets import EARLIEST
from protocol.message import Message
from protocol.messages.find_coordinator import FindCoordinatorResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

UNKNOWN_TOPIC = 3
Answer = Message | Exception | Callable[[Any], Message]


def topic_of(name: str, leaders: Sequence[int] = (1,), **fields: Any) -> MetadataResponseTopic:
    """A topic whose partitions have these leaders, and every broker as a replica in sync."""
    partitions = [
        MetadataResponsePartition(0, index, leader, 0, [1, 2], [1, 2])
        for index, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(0, name, partitions=partitions, **fields)


class ScriptedNode:
    """A connection whose answers are laid down: Exceptions are raised, callables are asked."""

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self.answers = deque(answers)
        self.sent: list[Any] = []
        self.unanswered: deque[Any] = deque()
        self.closed = False
        self.has_unread_bytes = True
        self.apis: tuple[int, ...] = ()

    @property
    def waiting(self) -> int:
        return len(self.unanswered)

    def send(self, request: Any, version_max: int | None = None) -> None:
        self.sent.append(request)
        self.unanswered.append(request)

    def receive(self, kind: type[Any]) -> Any:
        request = self.unanswered.popleft()
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        found = answer if isinstance(answer, Message) else answer(request)
        assert isinstance(found, kind)
        return found

    def skip_answers(self) -> None:
        while self.unanswered:
            self.receive(Message)

    def serves(self, api_key: int) -> bool:
        return api_key in self.apis

    def close(self) -> None:
        self.closed = True


class ScriptedCluster(ClusterClient):
    """Brokers 1 and 2, these topics, and answers by the name of the request."""

    def __init__(
        self,
        topics: Sequence[MetadataResponseTopic] = (),
        answers: Mapping[str, Answer] | None = None,
        nodes: Mapping[int, ScriptedNode] | None = None,
    ) -> None:
        self.known = {one.name: one for one in topics}
        self.answers = dict(answers or {})
        self.scripted = dict(nodes or {})
        self.asked: list[tuple[int | None, Any]] = []
        self.dropped: list[int] = []
        self.creations = deque[int]()
        """The errors of Metadata requests that may create a topic; with the last, it is created."""
        self._timeout_s = 1.0
        self._nodes = dict(self.scripted)  # type: ignore[arg-type]
        self._addresses = {1: ("one", 9092), 2: ("two", 9092)}
        self._any_address = ("one", 9092)

    def call(self, request: Any, kind: type[Any], version_max: int | None = None) -> Any:
        return self._answer(None, request)

    def call_at(
        self, node_id: int, request: Any, kind: type[Any], version_max: int | None = None
    ) -> Any:
        return self._answer(node_id, request)

    def node(self, node_id: int) -> Any:
        return self.scripted[node_id]

    def drop(self, node_id: int) -> None:
        self.dropped.append(node_id)
        self.scripted[node_id].unanswered.clear()

    def close(self) -> None:
        pass

    def asked_for(self, name: str) -> list[Any]:
        """The requests of this name, in order."""
        return [one for _, one in self.asked if type(one).__name__ == name]

    def _answer(self, node_id: int | None, request: Any) -> Any:
        self.asked.append((node_id, request))
        name = type(request).__name__
        if name == "MetadataRequest":
            return self._metadata(request)
        if name == "FindCoordinatorRequest" and name not in self.answers:
            return FindCoordinatorResponse(node_id=2, host="two", port=9092)
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Message) else answer(request)

    def _metadata(self, request: Any) -> MetadataResponse:
        if request.allow_auto_topic_creation and self.creations:
            code, name = self.creations.popleft(), request.topics[0].name
            if not self.creations:
                self.known[name] = topic_of(name, [1, 2])
                self.known[name].error_code = code
        brokers = [MetadataResponseBroker(one, *at) for one, at in self._addresses.items()]
        if request.topics is None:
            found = list(self.known.values())
        else:
            found = [
                self.known.get(one.name, MetadataResponseTopic(UNKNOWN_TOPIC, one.name))
                for one in request.topics
            ]
        return MetadataResponse(brokers=brokers, topics=found)


def offsets_of(request: Any, error_code: int = 0) -> ListOffsetsResponse:
    """First offset 3, last offset 10, plus the partition's number."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                topic.name,
                [
                    ListOffsetsPartitionResponse(
                        one.partition_index,
                        error_code,
                        offset=one.partition_index + (3 if one.timestamp == EARLIEST else 10),
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
