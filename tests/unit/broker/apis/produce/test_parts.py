"""Long Produce requests: cut into parts, answered as a whole."""

from __future__ import annotations

from broker.apis.produce.parts import PARTITIONS_AT_ONCE, Answer, each_once, in_parts
from ground.sliced_work import Pace, in_one_go
from protocol.messages.produce import (
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

COUNTS = {"a": 1, "b": 2 * PARTITIONS_AT_ONCE, "c": 1}


class Parts:
    """A handler of parts that answers each of them when a test says so."""

    def __init__(self) -> None:
        topics = [
            TopicProduceData(name, partition_data=[PartitionProduceData(n) for n in range(count)])
            for name, count in COUNTS.items()
        ]
        self.parts: list[tuple[ProduceRequest, Answer]] = []
        self.answers: list[ProduceResponse] = []
        self.steps = in_parts(ProduceRequest("id", 1, 900, topics), self.handle, self.answer)

    def handle(self, part: ProduceRequest, answer: Answer) -> None:
        self.parts.append((part, answer))

    def answer(self, response: ProduceResponse) -> None:
        self.answers.append(response)


def response_to(part: ProduceRequest) -> ProduceResponse:
    topics = [
        TopicProduceResponse(
            topic.name,
            partition_responses=[
                PartitionProduceResponse(data.index) for data in topic.partition_data
            ],
        )
        for topic in part.topic_data
    ]
    return ProduceResponse(topics, node_endpoints=[NodeEndpoint(7, "host", 9092)])


def test_a_part_has_so_many_partitions_and_what_holds_for_all() -> None:
    parts = Parts()
    next(parts.steps)
    assert len(parts.parts) == 1, "others have their turn before the next one"
    in_one_go(parts.steps)
    sizes = [sum(len(topic.partition_data) for topic in part.topic_data) for part, _ in parts.parts]
    assert sizes == [PARTITIONS_AT_ONCE, PARTITIONS_AT_ONCE, 2]
    assert {(p.transactional_id, p.acks, p.timeout_ms) for p, _ in parts.parts} == {("id", 1, 900)}


def test_the_answer_has_all_partitions_in_order_when_the_last_part_is_answered() -> None:
    parts = Parts()
    in_one_go(parts.steps)
    for part, answer in reversed(parts.parts):
        assert not parts.answers
        answer(response_to(part))
    (response,) = parts.answers
    indexes = {t.name: [one.index for one in t.partition_responses] for t in response.responses}
    assert indexes == {name: list(range(count)) for name, count in COUNTS.items()}
    assert [node.node_id for node in response.node_endpoints] == [7]


def test_of_a_partition_that_is_named_twice_the_last_batch_counts() -> None:
    first, second = PartitionProduceData(3, b"1"), PartitionProduceData(3, b"2")
    topics = [
        TopicProduceData("a", partition_data=[first]),
        TopicProduceData("b"),
        TopicProduceData("a", partition_data=[second]),
    ]
    (topic,) = in_one_go(each_once(topics, Pace()))
    assert (topic.name, topic.partition_data) == ("a", [second])
