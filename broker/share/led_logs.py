"""The logs that this broker leads, as share-partitions need them: epoch, and where a group begins.

Owns nothing. An offset by time is looked up in slices. Never reads records for a member
(`broker.apis.share_fetch`). Follows Kafka's `ReplicaManagerPartitionMetadataProvider` (KIP-932).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from broker.replication.partition import Partition
from broker.replication.partition_reads import NO_EPOCH, offset_by_time
from broker.replication.replica_manager import ReplicaManager
from broker.share.delivery.settings import DeliverySettings
from broker.share.state.share_log import SharePartitionKey
from protocol.errors import ErrorCode
from storage.log.fetch_data import TimestampAndOffset

log = logging.getLogger(f"ottla.{__name__}")

Found = Callable[[int | ErrorCode], None]
"""A callback with an offset, or the error for a client."""


class LedLogs:
    """The logs that this broker leads (`broker.share.share_partitions.LedLog`)."""

    def __init__(
        self, replicas: ReplicaManager, settings: Callable[[str], DeliverySettings]
    ) -> None:
        """Use the logs of `replicas`; `settings(group_id)` gives a group's configs."""
        self._replicas = replicas
        self._settings = settings

    def leader_epoch(self, key: SharePartitionKey) -> int | ErrorCode:
        """Return the leader epoch of a partition that this broker leads.

        An ErrorCode says why it does not: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
        NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
        """
        partition = self._replicas.partition_by_id(key.topic_id, key.partition)
        if partition is None:
            return self._replicas.why_absent_by_id(key.topic_id, key.partition)
        if not partition.is_leader:
            return partition.check_leader_epoch(NO_EPOCH) or ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.KAFKA_STORAGE_ERROR if partition.log.offline else partition.leader_epoch

    def initial_offset(self, key: SharePartitionKey, done: Found) -> None:
        """Look up the offset at which a group begins, by its `share.auto.offset.reset`.

        `done` is called later or now, with the offset or an error: OFFSET_NOT_AVAILABLE if no
        record is young enough, or the new leader does not know its high watermark yet.
        """
        error = self.leader_epoch(key)
        partition = self._replicas.partition_by_id(key.topic_id, key.partition)
        if isinstance(error, ErrorCode) or partition is None:
            done(error)
            return
        reset = self._settings(key.group_id).offset_reset
        if reset.kind == "earliest":
            done(partition.log.log_start_offset)
        elif partition.high_watermark_lags:
            done(ErrorCode.OFFSET_NOT_AVAILABLE)
        elif reset.kind == "latest":
            done(partition.log.high_watermark)
        else:
            since_ms = self._replicas.scheduler.wall_ms() - reset.duration_ms
            self._look_up(partition, max(0, since_ms), done)

    def _look_up(self, partition: Partition, since_ms: int, done: Found) -> None:
        """Look up the first committed record at or after a time, in slices."""
        steps = offset_by_time(partition.log, since_ms)
        looked_up = partial(_looked_up, partition, done)
        for result in self._replicas.log_manager.sliced.begin(steps, looked_up):
            looked_up(result, None)


def _looked_up(
    partition: Partition,
    done: Found,
    record: TimestampAndOffset | ErrorCode | None,
    failure: Exception | None,
) -> None:
    """Pass the result of a look-up by time on."""
    if failure is not None:
        log.error("%r: the look-up of a group's start failed: %s", partition, failure)
        done(ErrorCode.UNKNOWN_SERVER_ERROR)
    elif isinstance(record, ErrorCode):
        done(record)
    elif record is None or record.offset >= partition.log.high_watermark:
        done(ErrorCode.OFFSET_NOT_AVAILABLE)
    else:
        done(record.offset)
