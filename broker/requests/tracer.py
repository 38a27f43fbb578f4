"""The tracer of this node: which requests are traced, and the traces that are kept.

It traces the Produce and Fetch requests of clients whose id begins with `ottla-trace-`, if
`ottla.trace.requests` is set. These always go the general way; prepared requests of other clients
are not affected. A Fetch is kept if it returns records. Appends of partitions that this node
follows are kept separately: when the Fetch was sent, when it was answered, and when the append was
done.

It owns the last `TRACES_MAX` traces and the last `COPIES_MAX` appends of followers. With the bounds
of `broker.requests.request_trace`, that is a few megabytes at most. It holds names, offsets, sizes
and times, and no contents of records. Each change has a revision, so a reader can ask for newer
changes only.

All times are of the monotonic clock that the connections use. All nodes of one machine share it, so
their stations can be compared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from broker.requests.request_times import RequestTimes
from broker.requests.request_trace import RequestTrace, TracedPartition, TracedRequest, WayOf
from broker.requests.traced_appends import TracedAppends, WatchedPartition
from protocol.api_keys import ApiKey
from storage.log.log_append_info import LogAppendInfo

CLIENT_PREFIX = "ottla-trace-"
TRACES_MAX = 200
COPIES_MAX = 1000

_APIS = {int(ApiKey.PRODUCE): "Produce", int(ApiKey.FETCH): "Fetch"}


class FollowerFetchTimes(NamedTuple):
    """The times at which a follower's Fetch was sent and answered."""

    leader_id: int
    asked_s: float
    answered_s: float


class _Copy(NamedTuple):
    """One append of a follower."""

    revision: int
    facts: dict[str, object]

    def report(self) -> dict[str, object]:
        """Return this append as a JSON object."""
        return {"kind": "copy", "revision": self.revision} | self.facts


class Tracer:
    """The traces of a node's requests."""

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

    def request(
        self, request: TracedRequest, size: int, times: RequestTimes | None
    ) -> RequestTrace | None:
        """Return a new trace of a request that was just decoded; None if it is not a Produce or
        Fetch of a client to trace.

        A Produce is kept for the next reader at once; a Fetch only by `keep`.
        """
        api = _APIS.get(request.api_key)
        if (
            api is None
            or request.client_id is None
            or not request.client_id.startswith(CLIENT_PREFIX)
        ):
            return None
        self._numbers += 1
        trace = RequestTrace(self, self._numbers, api, request, size, self._wall_ms())
        if request.api_key == ApiKey.PRODUCE:
            self.keep(trace)
        if times is not None:
            times.set_trace(trace)
        return trace

    def keep(self, trace: RequestTrace) -> None:
        """Keep this trace for the next reader, in place of the oldest if TRACES_MAX are kept."""
        self._traces.append(trace)

    # --- for the traces (`TraceKeeper`) ----------------------------------------------------------

    def changed(self, trace: RequestTrace) -> None:
        """Give a trace that has changed a new revision."""
        self.revision += 1
        trace.revised(self.revision)

    def follow(self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo) -> None:
        """Watch an append: add to the trace, as it happens, which followers copy it and when
        consumers may read it."""
        self.appends.follow(trace, partition, info)

    # --- for followers ---------------------------------------------------------------------------

    def record_copy(
        self, partition: TracedPartition, first_offset: int, fetch: FollowerFetchTimes
    ) -> None:
        """Keep for the next reader that this node appended a leader's answer to a partition that it
        follows, from `first_offset` on."""
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

    # --- for readers -----------------------------------------------------------------------------

    def changes_since(self, since: int) -> list[RequestTrace | _Copy]:
        """Return the kept traces and copies whose revision is greater than `since`; 0: all."""
        changed: list[RequestTrace | _Copy] = [
            trace for trace in self._traces if trace.revision > since
        ]
        changed += [copy for copy in self._copies if copy.revision > since]
        return changed
