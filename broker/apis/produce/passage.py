"""One Produce on its way along the stations, and the runner that takes it from one to the next.

A station is a function that does one thing to a passage, at once or later:

* True: it is done, and the next one follows at once.
* False: the passage goes on later, when somebody calls `go_on_later`, or `fail`; or it is over.

So a passage is always at one station, and a connection has one passage. What the stations find out
lies in the passage, for those behind them. Whatever fails after a wait is answered here; what fails
before is the request handler's, as for any API.

Never knows what a station does, or the order of them (`broker.apis.produce.api`).
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
from storage.log.log_validator import LookedAt

_log = logging.getLogger(f"ottla.{__name__}")

ADMIN_CLIENT_ID = "__admin_client"
"""Of those who may write to internal topics (Kafka's `AdminUtils`)."""
TOPIC_IDS_FROM = 13

Looked: TypeAlias = dict[int, LookedAt]
"""By the identity of the partition's part of the request."""


class Passage:
    """A request under way, and what is known of it so far."""

    __slots__ = ("_respond", "_stations", "appended", "by_topic_id", "context", "denied",
                 "internal_allowed", "looked", "names_leaders", "pending", "refused", "request",
                 "response", "verified")  # fmt: skip

    def __init__(
        self,
        stations: Iterable[Station],
        context: RequestContext,
        request: ProduceRequest,
        respond: Callable[[ProduceResponse], None],
    ) -> None:
        """`respond` takes the errors of an acks=0 request, too."""
        self._stations = iter(stations)
        self._respond = respond
        self.context = context
        self.by_topic_id = context.api_version >= TOPIC_IDS_FROM
        self.internal_allowed = context.client_id == ADMIN_CLIENT_ID
        self.request = request
        """What is left to be appended. The request that came stays as its frame has it: by that,
        others are prepared."""
        self.denied: list[TopicProduceResponse] = []
        self.refused: list[TopicProduceResponse] = []
        """By an interceptor."""
        self.verified: VerifiedTransaction | None = None
        self.looked: Looked = {}
        self.response = ProduceResponse()
        """For each partition that the logs were asked about."""
        self.appended: list[Partition] = []
        """Whose waiting requests have not been told yet."""
        self.pending: dict[ReplicatedPartition, PendingAck] = {}
        """With acks=all."""
        self.names_leaders = False
        """Whether some partition may be led elsewhere."""

    # --- what stations find out ------------------------------------------------------------------

    def deny(self, denied: list[TopicProduceResponse], allowed: list[TopicProduceData]) -> None:
        """Note that the sender may write to these topics alone."""
        request = self.request
        what = request.transactional_id, request.acks, request.timeout_ms
        self.request = ProduceRequest(*what, allowed)
        self.denied = denied

    def verify(self, verified: VerifiedTransaction) -> None:
        """Note what is known of the partitions' transaction."""
        self.verified = verified

    def name_leaders(self) -> None:
        """Have the answer say where a partition is led, if not here."""
        self.names_leaders = True

    # --- the way ---------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Pass the stations that are left, until one of them takes longer."""
        for station in self._stations:
            if not station(self):
                return

    def go_on_later(self) -> None:
        """Go on from a station that has taken longer."""
        try:
            self.go_on()
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  answered, as in the request handler
            self.fail(error)

    def after_slices(self, _nothing: None, error: Exception | None) -> None:
        """Go on from a station whose work took several turns of the loop; `error`: it failed."""
        if error is None:
            self.go_on_later()
        else:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End with UNKNOWN_SERVER_ERROR for all partitions that are left."""
        _log.error("PRODUCE v%d failed: %s", self.context.api_version, error, exc_info=error)
        self.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

    def refuse(self, error: ErrorCode) -> Literal[False]:
        """End with `error` for all partitions that are left."""
        self.end(refused_whole(self.request, error))
        return False

    def end(self, response: ProduceResponse) -> None:
        """Answer what is left with `response`, and all else as it was refused on the way."""
        if self.refused:
            add_beside(self.refused, response)
        response.responses += self.denied
        self._respond(response)


Station: TypeAlias = Callable[[Passage], bool]
