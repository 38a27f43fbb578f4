"""One Produce request on its way through the stations, with their results so far.

A station is a function that does one step of the work for a passage, and returns:

* True: the step is done, and the next station follows at once.
* False: the passage has ended, or the station calls `resume_after_wait` or `fail` at a later time.

So a passage is always at one station, and a connection has one passage at a time. Stations leave
their results in the passage for the stations after them. An exception after a wait is answered
here; an exception before that is answered by the request handler, as for any API.

Never knows what a station does, or their order (`broker.apis.produce.api`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from broker.apis.produce.answers import add_beside, refused_whole
from broker.apis.produce.verified_transaction import VerifiedTransaction
from broker.purgatory.delayed_operations import PendingAck, ReplicatedPartition
from broker.replication.partition import Partition
from broker.requests.context import RequestContext
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from storage.log.log_validator import RecordCheckResult

_log = logging.getLogger(f"ottla.{__name__}")

ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (Kafka's `AdminUtils`)."""
TOPIC_IDS_FROM = 13

RecordCheckResults: TypeAlias = dict[int, RecordCheckResult]
"""Results of the validation before the append, by `id()` of the partition's data in the request."""


class Passage:
    """A Produce request in progress: its context, the results so far, and the stations left."""

    __slots__ = ("_respond", "_stations", "appended", "by_topic_id", "context", "denied",
                 "internal_allowed", "record_check_results", "names_leaders", "pending", "refused",
                 "request", "response", "verified")  # fmt: skip

    def __init__(
        self,
        stations: Iterable[Station],
        context: RequestContext,
        request: ProduceRequest,
        respond: Callable[[ProduceResponse], None],
    ) -> None:
        """`respond` also takes the errors of an acks=0 request."""
        self._stations = iter(stations)
        self._respond = respond
        self.context = context
        self.by_topic_id = context.api_version >= TOPIC_IDS_FROM
        self.internal_allowed = context.client_id == ADMIN_CLIENT_ID
        self.request = request
        """The part of the request that may still be appended. `deny` replaces this object and
        leaves the decoded request as it was, because a shortcut is prepared from that."""
        self.denied: list[TopicProduceResponse] = []
        self.refused: list[TopicProduceResponse] = []
        """Answers for the partitions whose records the interceptor rejected."""
        self.verified: VerifiedTransaction | None = None
        self.record_check_results: RecordCheckResults = {}
        self.response = ProduceResponse()
        """An answer for each partition that the station of appends handled."""
        self.appended: list[Partition] = []
        """Partitions that were appended to, and whose waiting requests are not woken yet."""
        self.pending: dict[ReplicatedPartition, PendingAck] = {}
        """Appends that wait for the in-sync replicas; empty unless acks=all."""
        self.names_leaders = False
        """Whether some partition may be led by another broker."""

    # --- results of the stations -----------------------------------------------------------------

    def deny(self, denied: list[TopicProduceResponse], allowed: list[TopicProduceData]) -> None:
        """Keep only the `allowed` topics in the request, and `denied` as the answers for the
        others.
        """
        request = self.request
        fields = request.transactional_id, request.acks, request.timeout_ms
        self.request = ProduceRequest(*fields, allowed)
        self.denied = denied

    def set_verified(self, verified: VerifiedTransaction) -> None:
        """Store the coordinator's answer about the partitions of the transaction."""
        self.verified = verified

    def name_leaders(self) -> None:
        """Let the response name the leader of each partition that is led by another broker."""
        self.names_leaders = True

    # --- from station to station -----------------------------------------------------------------

    def resume(self) -> None:
        """Run the stations that are left, until one of them has to wait or ends the passage."""
        for station in self._stations:
            if not station(self):
                return

    def resume_after_wait(self) -> None:
        """Run the stations that are left now, after a station that had to wait. An exception is
        answered by `fail`."""
        try:
            self.resume()
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  answered, as in the request handler
            self.fail(error)

    def after_slices(self, _nothing: None, error: Exception | None) -> None:
        """Run the stations that are left, after a station's work in slices. If that raised `error`,
        answer by `fail` instead."""
        if error is None:
            self.resume_after_wait()
        else:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Log the error and answer UNKNOWN_SERVER_ERROR for all partitions that are left."""
        _log.error("PRODUCE v%d failed: %s", self.context.api_version, error, exc_info=error)
        self.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

    def refuse(self, error: ErrorCode) -> Literal[False]:
        """Answer `error` for all partitions that are left, and return False."""
        self.end(refused_whole(self.request, error))
        return False

    def end(self, response: ProduceResponse) -> None:
        """Send `response` for the partitions that are left, with the answers for those rejected
        before.
        """
        if self.refused:
            add_beside(self.refused, response)
        response.responses += self.denied
        self._respond(response)


Station: TypeAlias = Callable[[Passage], bool]
"""Does one step of the work for a passage; returns whether the next station follows at once."""
