"""The station of looks at records before they are appended, where a topic asks for one.

Most topics ask for none, and most looks are over with their first slice. Else the request waits,
with its records copied out of the frame, and the loop goes on with others between the slices. What
came of it is good for the config by which it was taken; all else (who leads, sequences, the size)
is asked at the append. A connection has one request under way, so the order of its appends stays.

Never: appends, or answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.apis.produce.passage import Passage
from broker.apis.produce.records import keep_records, partition_of
from broker.replication.replica_manager import ReplicaManager
from ground.sliced_work import LOOKS_AT_ONCE, Steps, first_slice
from protocol.messages.produce import PartitionProduceData
from storage.log.log_validator import Look, LookedAt


class RecordLooks:
    """Validates the records of batches whose topic needs more than a check of the header."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def look(self, passage: Passage) -> bool:
        """Look at all records that are to be looked at; what came of it is in `passage.looked`."""
        for data, look in self._looks(passage):
            outcome = first_slice(look.steps) if len(passage.looked) < LOOKS_AT_ONCE else []
            if not outcome:
                passage.looked.clear()
                keep_records(passage.request)
                steps = self._look_in_slices(passage)
                self._replicas.log_manager.sliced.run(steps, passage.after_slices)
                return False
            passage.looked[id(data)] = LookedAt(look.config, outcome[0])
        return True

    def _look_in_slices(self, passage: Passage) -> Steps[None]:
        for data, look in self._looks(passage):
            outcome = yield from look.steps
            passage.looked[id(data)] = LookedAt(look.config, outcome)
            yield None

    def _looks(self, passage: Passage) -> Iterator[tuple[PartitionProduceData, Look]]:
        now_ms = self._replicas.scheduler.wall_ms()
        for topic in passage.request.topic_data:
            for data in topic.partition_data:
                partition = partition_of(self._replicas, passage, topic, data.index)
                if partition is None or not partition.log.looks_at_records:
                    continue
                if not isinstance(data.records, memoryview):
                    continue
                look = partition.look_before_append(data.records, now_ms, passage.internal_allowed)
                if look is not None:
                    yield data, look
