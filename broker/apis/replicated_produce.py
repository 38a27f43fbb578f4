"""One append with acks=all: answered when all in sync have it, or it is too late.

For a Produce of one plain batch, on both of its ways; one of several partitions waits as
`broker.purgatory.delayed_operations.DelayedProduce`, whose rules these are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from broker.purgatory.purgatory import DelayedOperation
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.message_codec import ResponseParts

Frame = Callable[[ErrorCode], ResponseParts]
"""A verdict → the whole answer."""


class ReplicatedProduce(DelayedOperation):
    """An append that others have to copy up to `required_offset`."""

    __slots__ = ("_error", "_frame", "_partition", "_reply", "_required_offset")

    _reply: Callable[[Any], None]

    def __init__(self, partition: Partition, required_offset: int, frame: Frame) -> None:
        super().__init__()
        self._partition = partition
        self._required_offset = required_offset
        self._frame = frame
        self._error = ErrorCode.NONE

    def wait(
        self,
        replicas: ReplicaManager,
        timeout_ms: int,
        later: Callable[[], Callable[[Any], None]],
    ) -> ResponseParts:
        """Tell the followers. The answer, where they need not copy anything; empty where it comes
        by what `later` gives."""
        partition, log = self._partition, self._partition.log
        if log.high_watermark < self._required_offset:
            replicas.partition_changed(partition)
        if log.high_watermark < self._required_offset or not self.try_complete(partition):
            self._reply = later()
            replicas.produce_purgatory.watch(self, (partition,), max(timeout_ms, 0))
            return b""
        try:
            return self._frame(self._error)
        finally:
            replicas.partition_changed(partition)

    def try_complete(self, key: Hashable) -> bool:
        verdict = self._partition.is_replicated_to(self._required_offset)
        if verdict is None:
            return False
        self._error = verdict
        return True

    def on_expiration(self) -> None:
        self._error = ErrorCode.REQUEST_TIMED_OUT

    def on_complete(self) -> None:
        self._reply(self._frame(self._error))
