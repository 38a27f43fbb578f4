"""The station of acks=all: a Produce waits until every in-sync replica has what was appended.

Owns the wait, `timeout_ms` at most. Never knows what "replicated" means: the partition does.
"""

from __future__ import annotations

from functools import partial

from broker.apis.produce.passage import Passage
from broker.purgatory.delayed_operations import DelayedProduce
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.messages.produce import ProduceResponse


class ReplicaWait:
    """Holds an acks=all request back until the in-sync replicas have its batches."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def wait(self, passage: Passage) -> bool:
        """Wait for the replicas of what was appended, where some of them miss it."""
        if not passage.pending:
            return True
        waiting = DelayedProduce(passage.pending, partial(_replicated, passage))
        timeout_ms = passage.request.timeout_ms
        if not self._replicas.wait_for_replicas(waiting, passage.appended, timeout_ms):
            return True
        passage.appended.clear()  # their followers and readers have been told of them
        passage.name_leaders()  # they may be led elsewhere by then
        if passage.context.trace is not None:
            passage.context.trace.waits("Produce", timeout_ms)
        return False


def _replicated(passage: Passage) -> None:
    if passage.context.trace is not None:
        passage.context.trace.woken(expired=_has_timed_out(passage.response))
    passage.go_on_later()


def _has_timed_out(response: ProduceResponse) -> bool:
    """Whether some partition was not replicated in time."""
    timed_out = ErrorCode.REQUEST_TIMED_OUT
    return any(
        partition.error_code == timed_out
        for topic in response.responses
        for partition in topic.partition_responses
    )
