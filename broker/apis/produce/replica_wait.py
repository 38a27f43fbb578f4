"""The station of acks=all: a Produce waits until every in-sync replica has what was appended.

Owns the wait, `timeout_ms` at most. Never decides what counts as replicated: the partition does.
"""

from __future__ import annotations

from functools import partial

from broker.apis.produce.passage import Passage
from broker.purgatory.delayed_operations import DelayedProduce
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.messages.produce import ProduceResponse


class ReplicaWait:
    """The station that holds an acks=all request until the in-sync replicas have its batches."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def wait(self, passage: Passage) -> bool:
        """Wait for the in-sync replicas if some of them have not fetched the batches yet. Return
        False then: the passage continues after the wait. Otherwise return True."""
        if not passage.pending:
            return True
        waiting = DelayedProduce(passage.pending, partial(_wait_ended, passage))
        timeout_ms = passage.request.timeout_ms
        if not self._replicas.wait_for_replicas(waiting, passage.appended, timeout_ms):
            return True
        passage.appended.clear()  # the wait has woken their followers and readers already
        passage.name_leaders()  # another broker may lead them by the end of the wait
        if passage.context.trace is not None:
            passage.context.trace.waits("Produce", timeout_ms)
        return False


def _wait_ended(passage: Passage) -> None:
    """Trace the end of the wait, and run the stations that are left."""
    if passage.context.trace is not None:
        passage.context.trace.woken(expired=_has_timed_out(passage.response))
    passage.resume_after_wait()


def _has_timed_out(response: ProduceResponse) -> bool:
    """Return whether some partition was not replicated before the timeout."""
    timed_out = ErrorCode.REQUEST_TIMED_OUT
    return any(
        partition.error_code == timed_out
        for topic in response.responses
        for partition in topic.partition_responses
    )
