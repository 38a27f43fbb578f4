"""The station of an interceptor: it looks at the records before all else of them is looked at.

Owns: which partitions' records are looked at, and the answers for those that are refused. That
takes as many slices of the loop's time as it needs, so the records are copied out of the frame
first. Never: asks the interceptor itself (`broker.plugins.interception`), or appends.
"""

from __future__ import annotations

from broker.apis.produce.passage import Passage
from broker.apis.produce.records import keep_records, partition_of
from broker.plugins.interception import Interceptor, RecordErrors
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


class ProduceInterception:
    """Lets the node's interceptor refuse batches, before anything else looks at their records."""

    def __init__(self, replicas: ReplicaManager, interceptor: Interceptor) -> None:
        self._replicas = replicas
        self._interceptor = interceptor

    def look(self, passage: Passage) -> bool:
        """Take from the passage what the interceptor refuses."""
        keep_records(passage.request)
        sliced = self._replicas.log_manager.sliced
        return bool(sliced.begin(self._look_at_all(passage), passage.after_slices))

    def _look_at_all(self, passage: Passage) -> Steps[None]:
        request = passage.request
        for topic in request.topic_data:
            answers: list[PartitionProduceResponse] = []
            left = []
            for data in topic.partition_data:
                partition = self._partition(passage, topic, data.index)
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
                passage.refused.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
        request.topic_data = [topic for topic in request.topic_data if topic.partition_data]

    def _partition(self, passage: Passage, topic: TopicProduceData, index: int) -> Partition | None:
        """Where the records would be appended, unless nobody's business is what they say."""
        partition = partition_of(self._replicas, passage, topic, index)
        if partition is None or not partition.is_leader or partition.is_internal:
            return None
        return partition


def _refused(index: int, errors: RecordErrors) -> PartitionProduceResponse:
    code = int(ErrorCode.INVALID_RECORD)
    told = [BatchIndexAndErrorMessage(*one) for one in errors]
    text = f"Record {errors[0][0]} of the batch is refused: {errors[0][1]}"
    return PartitionProduceResponse(index, code, -1, -1, -1, told, text)
