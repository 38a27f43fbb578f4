"""The station that validates records before the append, if the topic's config requires it.

Most topics do not require it, and most validations end within their first slice. Otherwise the
request waits, with its records copied out of the frame, and the loop handles other requests between
the slices. The result is valid for the config with which it was made. Everything else (the leader,
the sequences, the size) is checked at the append. A connection has one request in progress, so the
order of its appends is kept.

Never appends or answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.apis.produce.passage import Passage
from broker.apis.produce.records import keep_records, partition_of
from broker.replication.replica_manager import ReplicaManager
from ground.sliced_work import LOOKS_AT_ONCE, Steps, first_slice
from protocol.messages.produce import PartitionProduceData
from storage.log.log_validator import RecordCheck, RecordCheckResult


class RecordChecks:
    """The station that validates the records of batches for which the header is not enough."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def check(self, passage: Passage) -> bool:
        """Validate the records that need it, and leave the results in
        `passage.record_check_results`. Return True if the next station follows at once.

        Return False if that takes several slices: the records are copied out of the frame, and the
        passage continues later.
        """
        for data, check in self._needed_looks(passage):
            outcome = (
                first_slice(check.steps)
                if len(passage.record_check_results) < LOOKS_AT_ONCE
                else []
            )
            if not outcome:
                passage.record_check_results.clear()
                keep_records(passage.request)
                steps = self._check_in_slices(passage)
                self._replicas.log_manager.sliced.run(steps, passage.after_slices)
                return False
            passage.record_check_results[id(data)] = RecordCheckResult(check.config, outcome[0])
        return True

    def _check_in_slices(self, passage: Passage) -> Steps[None]:
        """Validate the records in slices; the results go to `passage.record_check_results` by `id`
        of the data."""
        for data, check in self._needed_looks(passage):
            outcome = yield from check.steps
            passage.record_check_results[id(data)] = RecordCheckResult(check.config, outcome)
            yield None

    def _needed_looks(self, passage: Passage) -> Iterator[tuple[PartitionProduceData, RecordCheck]]:
        """Yield the data of each partition whose records must be validated before the append, with
        that check."""
        now_ms = self._replicas.scheduler.wall_ms()
        for topic in passage.request.topic_data:
            for data in topic.partition_data:
                partition = partition_of(self._replicas, passage, topic, data.index)
                if partition is None or not partition.log.checks_records:
                    continue
                if not isinstance(data.records, memoryview):
                    continue
                check = partition.record_check_before_append(
                    data.records, now_ms, passage.internal_allowed
                )
                if check is not None:
                    yield data, check
