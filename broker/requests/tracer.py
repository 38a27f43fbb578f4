"""Who is traced on this node, and what is kept of that: `ottla.trace.requests`.

Traced are the Produce and Fetch requests of clients whose id begins with `ottla-trace-`. They go
the general way, always; all others go theirs, prepared requests included. A Fetch is kept if it
gives records. What other brokers lead and this one follows is kept apart: of each append of a
follower, when its Fetch was sent, answered and done.

Owns the last `TRACES_MAX` traces and the last `COPIES_MAX` appends of followers; with the bounds of
`broker.requests.request_trace`, that is a few megabytes at most. It holds names, offsets, sizes and
times, and nothing of a record. Each change has a revision, so that who asks again gets the news.

Times are of one clock, which comes in: the monotonic one that the connections use. All nodes of one
machine share it, so their stations can be laid side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from broker.requests.request_times import RequestTimes
from broker.requests.request_trace import Asks, RequestTrace, TracedPartition, WayOf
from broker.requests.traced_appends import TracedAppends, WatchedPartition
from protocol.api_keys import ApiKey
from storage.log.log_append_info import LogAppendInfo

CLIENT_PREFIX = "ottla-trace-"
TRACES_MAX = 200
COPIES_MAX = 1000

_APIS = {int(ApiKey.PRODUCE): "Produce", int(ApiKey.FETCH): "Fetch"}


class FollowerFetch(NamedTuple):
    """When a follower's Fetch was sent, and when its answer was there."""

    leader_id: int
    asked_s: float
    answered_s: float


class _Copy(NamedTuple):
    """One append of a follower."""

    revision: int
    facts: dict[str, object]

    def told(self) -> dict[str, object]:
        return {"kind": "copy", "revision": self.revision} | self.facts


class Tracer:
    """See the module."""

    def __init__(
        self, clock_s: Callable[[], float], wall_ms: Callable[[], int], way_of: WayOf
    ) -> None:
        self.clock_s = clock_s
        self.way_of = way_of
        self.revision = 0
        self.appends = TracedAppends(clock_s)
        self._wall_ms = wall_ms
        self._numbers = 0
        self._traces: deque[RequestTrace] = deque(maxlen=TRACES_MAX)
        self._copies: deque[_Copy] = deque(maxlen=COPIES_MAX)

    def request(self, asks: Asks, size: int, times: RequestTimes | None) -> RequestTrace | None:
        """The trace of a request that was read just now; None: it is not traced."""
        api = _APIS.get(asks.api_key)
        if api is None or asks.client_id is None or not asks.client_id.startswith(CLIENT_PREFIX):
            return None
        self._numbers += 1
        trace = RequestTrace(self, self._numbers, api, asks, size, self._wall_ms())
        if asks.api_key == ApiKey.PRODUCE:
            self.keep(trace)
        if times is not None:
            times.traced(trace)
        return trace

    def keep(self, trace: RequestTrace) -> None:
        """It is one to be told of."""
        self._traces.append(trace)

    # --- for the traces (`TraceKeeper`) ----------------------------------------------------------

    def changed(self, trace: RequestTrace) -> None:
        """See `TraceKeeper`."""
        self.revision += 1
        trace.revised(self.revision)

    def follow(self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo) -> None:
        """See `TraceKeeper`."""
        self.appends.follow(trace, partition, info)

    # --- for followers ---------------------------------------------------------------------------

    def copied(self, partition: TracedPartition, first_offset: int, fetch: FollowerFetch) -> None:
        """What is followed here has got longer, from that offset on, by the answer to a Fetch."""
        log = partition.log
        segment = log.active
        self.revision += 1
        facts = {
            "leader": fetch.leader_id,
            "topic": partition.topic,
            "partition": partition.index,
            "first_offset": first_offset,
            "end_offset": log.log_end_offset,
            "segment": segment.base_offset,
            "segment_bytes": segment.size,
            "asked_s": round(fetch.asked_s, 7),
            "answered_s": round(fetch.answered_s, 7),
            "appended_s": round(self.clock_s(), 7),
        }
        self._copies.append(_Copy(self.revision, facts))

    # --- for those who look ----------------------------------------------------------------------

    def news(self, since: int) -> list[RequestTrace | _Copy]:
        """What has changed after that revision; 0: all that there is."""
        found: list[RequestTrace | _Copy] = [t for t in self._traces if t.revision > since]
        found += [copy for copy in self._copies if copy.revision > since]
        return found
