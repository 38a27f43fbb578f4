"""The station of the interceptor: it checks records before any other station reads them.

Owns: which partitions' records are checked, and the answers for batches that the interceptor
rejects. The check may take many slices of the loop's time, so the records are copied out of the
frame first. Never runs the interceptor itself (`broker.plugins.interception`), or appends.
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
    """The station that lets the node's interceptor reject batches because of their records."""

    def __init__(self, replicas: ReplicaManager, interceptor: Interceptor) -> None:
        self._replicas = replicas
        self._interceptor = interceptor

    def check(self, passage: Passage) -> bool:
        """Remove from the passage the batches that the interceptor rejects. Copy the records out of
        the frame first.

        Return True if the next station follows, False if the passage continues later.
        """
        keep_records(passage.request)
        sliced = self._replicas.log_manager.sliced
        return bool(sliced.begin(self._check_all(passage), passage.after_slices))

    def _check_all(self, passage: Passage) -> Steps[None]:
        """Show the interceptor every record, and remove the partitions that it rejects from the
        request.

        Their answers go to `passage.refused`.
        """
        request = passage.request
        for topic in request.topic_data:
            answers: list[PartitionProduceResponse] = []
            left = []
            for data in topic.partition_data:
                partition = self._partition(passage, topic, data.index)
                errors: RecordErrors = []
                if partition is not None and isinstance(data.records, memoryview):
                    name = partition.topic
                    errors = yield from self._interceptor.check(name, data.index, data.records)
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
        """Return the partition that the records would be appended to.

        None if its records are not checked: another broker leads it, or it is internal.
        """
        partition = partition_of(self._replicas, passage, topic, index)
        if partition is None or not partition.is_leader or partition.is_internal:
            return None
        return partition


def _refused(index: int, errors: RecordErrors) -> PartitionProduceResponse:
    """Return INVALID_RECORD with the errors of the records; the text is that of the first."""
    code = int(ErrorCode.INVALID_RECORD)
    record_errors = [BatchIndexAndErrorMessage(*error) for error in errors]
    text = f"Record {errors[0][0]} of the batch is refused: {errors[0][1]}"
    return PartitionProduceResponse(index, code, -1, -1, -1, record_errors, text)
