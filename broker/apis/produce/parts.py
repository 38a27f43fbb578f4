"""A Produce of very many partitions, handled in parts.

The partitions of one request are independent: each is appended to, or rejected, by itself. So a
request that is too long for one turn of the loop is cut into parts of PARTITIONS_AT_ONCE. Each part
is handled as a request of its own, with other requests in between. The answer names all partitions
and is sent after the last part is answered.

Owns the answers of the parts until then. Never handles a part itself (`broker.apis.produce.api`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ground.sliced_work import Pace, Steps, in_one_go
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

PARTITIONS_AT_ONCE = 256

Answer = Callable[[ProduceResponse], None]
"""Takes the response; also called for a request with acks=0, which is sent no response."""


def each_once_in_one_go(topics: list[TopicProduceData]) -> list[TopicProduceData]:
    """Return each partition once, with the last batch sent for it, and no topic without partitions.
    Like `each_once` without slices, for a short request; `topics` itself if nothing changes."""
    for topic in topics:
        count = len(topic.partition_data)
        if count != 1 and (
            not count or count != len({data.index for data in topic.partition_data})
        ):
            break
    else:
        count = len(topics)
        if count == 1 or count == len({topic.name or topic.topic_id for topic in topics}):
            return topics
    return in_one_go(each_once(topics, Pace()))


def each_once(topics: list[TopicProduceData], pace: Pace) -> Steps[list[TopicProduceData]]:
    """Return each partition once, with the last batch sent for it, and no topic without partitions.

    Kafka reads a request in the same way, into a map.
    """
    once: dict[str | bytes, tuple[TopicProduceData, dict[int, PartitionProduceData]]] = {}
    for topic in topics:
        _, last = once.setdefault(topic.name or topic.topic_id, (topic, {}))
        for data in topic.partition_data:
            if pace.is_full():
                yield None
            last[data.index] = data
    whole: list[TopicProduceData] = []
    for topic, last in once.values():
        if pace.is_full():
            yield None
        if last:
            whole.append(TopicProduceData(topic.name, topic.topic_id, list(last.values())))
    return whole


def in_parts(
    request: ProduceRequest, handle: Callable[[ProduceRequest, Answer], None], respond: Answer
) -> Steps[None]:
    """Call `handle` for each part of the request, one in a slice. After all parts are answered,
    call `respond` once with the joined answers."""
    gathered = _GatheredAnswers(respond)
    for part in _parts(request):
        handle(part, gathered.expect())
        yield None
    gathered.complete()


def _parts(request: ProduceRequest) -> Iterator[ProduceRequest]:
    """Yield requests of at most PARTITIONS_AT_ONCE partitions each, which together have those of
    `request`."""
    fields = request.transactional_id, request.acks, request.timeout_ms
    topics: list[TopicProduceData] = []
    count = 0
    for topic in request.topic_data:
        data = topic.partition_data
        start = 0
        while start < len(data):
            end = start + PARTITIONS_AT_ONCE - count
            topics.append(TopicProduceData(topic.name, topic.topic_id, data[start:end]))
            count += len(topics[-1].partition_data)
            start = end
            if count == PARTITIONS_AT_ONCE:
                yield ProduceRequest(*fields, topics)
                topics, count = [], 0
    if topics:
        yield ProduceRequest(*fields, topics)


class _GatheredAnswers:
    """The answers of the parts, in the order of the parts."""

    def __init__(self, respond: Answer) -> None:
        self._respond = respond
        self._responses: list[ProduceResponse | None] = []
        self._awaited = 1
        """The number of parts without an answer, plus 1 until the last part is known."""

    def expect(self) -> Answer:
        """Return a function that takes the answer of one more part. The last answer sends the whole
        response."""
        self._responses.append(None)
        self._awaited += 1
        return partial(self._take_response, len(self._responses) - 1)

    def complete(self) -> None:
        """Allow the whole response to be sent, because there is no further part. Send it if all
        parts are answered."""
        self._awaited -= 1
        self._answer_if_complete()

    def _take_response(self, number: int, response: ProduceResponse) -> None:
        """Keep the response of part `number`; the last one sends the whole response."""
        self._responses[number] = response
        self._awaited -= 1
        self._answer_if_complete()

    def _answer_if_complete(self) -> None:
        """Send the joined answers if no part is awaited."""
        if not self._awaited:
            self._respond(_joined(filter(None, self._responses)))


def _joined(responses: Iterable[ProduceResponse]) -> ProduceResponse:
    """Return one response for those of all parts; consecutive parts of a topic become one entry."""
    topics: list[TopicProduceResponse] = []
    nodes = {}
    for response in responses:
        for topic in response.responses:
            last = topics[-1] if topics else None
            if last and (last.name, last.topic_id) == (topic.name, topic.topic_id):
                last.partition_responses += topic.partition_responses
            else:
                topics.append(topic)
        nodes.update({node.node_id: node for node in response.node_endpoints})
    return ProduceResponse(topics, node_endpoints=list(nodes.values()))
