"""The records of a Produce, looked at by an interceptor before all else of them is.

Owns: which partitions' records are looked at, and the answers for those that are refused. That
takes as many slices of the loop's time as it needs, so the records are copied out of the frame
first. Never: asks the interceptor itself (`broker.plugins.interception`), or appends.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.produce.record_looks import keep_records
from broker.plugins.interception import Interceptor, RecordErrors
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

Done = Callable[[list[TopicProduceResponse] | None, Exception | None], None]


class ProduceInterception:
    """See the module."""

    def __init__(self, replicas: ReplicaManager, interceptor: Interceptor) -> None:
        self._replicas = replicas
        self._interceptor = interceptor

    def look(self, request: ProduceRequest, by_topic_id: bool, done: Done) -> None:
        """Take out of the request what is refused; `done`, now or later, has the answers to that,
        or the bug that was met."""
        keep_records(request)
        steps = self._all_of(request, by_topic_id)
        for refused in self._replicas.log_manager.sliced.begin(steps, done):
            done(refused, None)

    def add(self, refused: list[TopicProduceResponse], response: ProduceResponse) -> None:
        """To the answers to what was not refused, each beside the others of its topic."""
        for one in refused:
            for topic in response.responses:
                if (topic.name, topic.topic_id) == (one.name, one.topic_id):
                    topic.partition_responses.extend(one.partition_responses)
                    break
            else:
                response.responses.append(one)

    def _all_of(
        self, request: ProduceRequest, by_topic_id: bool
    ) -> Steps[list[TopicProduceResponse]]:
        refused: list[TopicProduceResponse] = []
        for topic in request.topic_data:
            answers: list[PartitionProduceResponse] = []
            left = []
            for data in topic.partition_data:
                partition = self._partition(topic, data.index, by_topic_id)
                errors: RecordErrors = []
                if partition is not None and isinstance(data.records, memoryview):
                    name = partition.topic
                    errors = yield from self._interceptor.look(name, data.index, data.records)
                    yield None
                if errors:
                    answers.append(_refused(data.index, errors))
                else:
                    left.append(data)
            if answers:
                topic.partition_data = left
                refused.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
        request.topic_data = [topic for topic in request.topic_data if topic.partition_data]
        return refused

    def _partition(
        self, topic: TopicProduceData, index: int, by_topic_id: bool
    ) -> Partition | None:
        """Where the records would be appended, unless nobody's business is what they say."""
        if by_topic_id:
            partition = self._replicas.partition_by_id(topic.topic_id, index)
        else:
            partition = self._replicas.partition(topic.name, index)
        if partition is None or not partition.is_leader or partition.is_internal:
            return None
        return partition


def _refused(index: int, errors: RecordErrors) -> PartitionProduceResponse:
    code = int(ErrorCode.INVALID_RECORD)
    told = [BatchIndexAndErrorMessage(*one) for one in errors]
    text = f"Record {errors[0][0]} of the batch is refused: {errors[0][1]}"
    return PartitionProduceResponse(index, code, -1, -1, -1, told, text)
