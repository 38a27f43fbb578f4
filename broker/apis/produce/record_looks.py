"""The look at a request's records before they are appended, where a topic asks for one.

Most topics ask for none, and most looks are over with their first slice. Else the request waits,
with its records copied out of the frame, and the loop goes on with others between the slices. What
came of it is good for the config by which it was taken; all else (who leads, sequences, the size)
is asked at the append. A connection has one request under way, so the order of its appends stays.

Never: appends, or answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from ground.sliced_work import LOOKS_AT_ONCE, Steps, first_slice
from protocol.frames.framing import KEPT_BYTES
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from storage.log.log_validator import Look, LookedAt

Looked: TypeAlias = dict[int, LookedAt]
"""By the identity of the partition's part of the request."""


class RecordLooks:
    """See the module."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def look(
        self,
        request: ProduceRequest,
        by_topic_id: bool,
        internal_allowed: bool,
        now_ms: int,
        done: Callable[[Looked | None, Exception | None], None],
    ) -> Looked | None:
        """What came of the looks that the request needs; None where they take longer: `done` has
        it then, later, or the bug that was met."""

        def looks() -> Iterator[tuple[PartitionProduceData, Look]]:
            for topic in request.topic_data:
                for data in topic.partition_data:
                    partition = self._partition(topic, data.index, by_topic_id)
                    if partition is None or not partition.log.looks_at_records:
                        continue
                    if not isinstance(data.records, memoryview):
                        continue
                    look = partition.look_before_append(data.records, now_ms, internal_allowed)
                    if look is not None:
                        yield data, look

        looked: Looked = {}
        for data, look in looks():
            outcome = first_slice(look.steps) if len(looked) < LOOKS_AT_ONCE else []
            if not outcome:
                keep_records(request)
                self._replicas.log_manager.sliced.run(_all_of(looks()), done)
                return None
            looked[id(data)] = LookedAt(look.config, outcome[0])
        return looked

    def _partition(
        self, topic: TopicProduceData, index: int, by_topic_id: bool
    ) -> Partition | None:
        if by_topic_id:
            return self._replicas.partition_by_id(topic.topic_id, index)
        return self._replicas.partition(topic.name, index)


def _all_of(looks: Iterator[tuple[PartitionProduceData, Look]]) -> Steps[Looked]:
    looked: Looked = {}
    for data, look in looks:
        outcome = yield from look.steps
        looked[id(data)] = LookedAt(look.config, outcome)
        yield None
    return looked


def keep_records(request: ProduceRequest) -> None:
    """Copy the records: they lie in a buffer that is used for the next request. A large one is not
    (`protocol.frames.framing`), and to copy it would take long."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            if isinstance(data.records, memoryview):
                buffer: Any = data.records.obj
                if len(buffer) <= KEPT_BYTES:
                    data.records = memoryview(bytearray(data.records))
