"""The way of one request through this node: its stations, each with its time.

A trace is made for a request whose client asks for it (`broker.requests.tracer` says which these
are). The components that handle the request add to its trace: the connection through
`broker.requests.request_times`, the request handler, the API, and the partition through
`broker.requests.traced_appends`. Each adds what it has just done, so a station's time is that of
its end. If its beginning is known too, `since_s` has it.

It owns the stations, at most `STATIONS_MAX` of them. It never has a record's key, value or headers,
nor a clock of its own, and never knows what a request means.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol

from storage.log.file_records import FileRecords
from storage.log.log_append_info import LogAppendInfo
from storage.log.unified_log import UnifiedLog

STATIONS_MAX = 64
"""The number of stations that are kept; further ones are only counted."""
CLIENT_ID_MAX = 100
"""The number of characters of a client id that are kept."""

Fact = int | str | bool
WayOf = Callable[[int, bool], str]
"""A function that returns how bytes of a file leave the node, by their number and whether the
connection is unencrypted."""


class StationName(Enum):
    """The stations of a request, and what the time of each means."""

    RECEIVED = "received"
    """The network processor has the whole frame, and the connection has no earlier request under
    way."""
    TAKEN = "taken"
    """The request has a handler slot. That is at once as long as the request queue is empty."""
    DECODED = "decoded"
    """The request handler has decoded the request, and calls its API next."""
    APPENDED = "appended"
    """A partition's log has its batches; it began when the leader was asked to append them."""
    REFUSED = "refused"
    """A partition rejected its batches."""
    READ = "read"
    """A slice of a partition's log was looked up; it began with the look-up."""
    WAITS = "waits"
    """The request waits in a purgatory."""
    HANDLED = "handled"
    """The request's handler has returned without an answer, and its slot is free."""
    FOLLOWER_READ = "follower_read"
    """The Fetch of a follower was answered with the batches."""
    FOLLOWER_HAS = "follower_has"
    """The follower's next Fetch has shown that the batches are in its log."""
    HIGH_WATERMARK = "high_watermark"
    """The partition's high watermark is beyond the batches: consumers may read them."""
    WOKEN = "woken"
    """The condition for which the request waited is met."""
    EXPIRED = "expired"
    """The request's time in the purgatory is over."""
    ANSWERED = "answered"
    """The answer is ready, and waits for the connection."""
    SENDING = "sending"
    """The connection begins to send the answer."""
    SENT = "sent"
    """The kernel has the whole answer."""


class Station(NamedTuple):
    """A station of a request. Its seconds are those of the node's monotonic clock."""

    name: StationName
    at_s: float
    since_s: float | None
    facts: dict[str, Fact]


class TracedRequest(Protocol):
    """The parts of a request's context that a trace keeps."""

    @property
    def api_key(self) -> int: ...
    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str | None: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener_name(self) -> str: ...
    @property
    def security_protocol(self) -> str: ...


class TracedPartition(Protocol):
    """The parts of a partition that a trace uses."""

    @property
    def topic(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def log(self) -> UnifiedLog: ...


class TraceKeeper(Protocol):
    """The owner of traces."""

    clock_s: Callable[[], float]
    way_of: WayOf

    def changed(self, trace: RequestTrace) -> None:
        """Give the trace a new revision, because a station was added."""

    def keep(self, trace: RequestTrace) -> None:
        """Keep this trace for the next reader."""

    def follow(self, trace: RequestTrace, partition: Any, info: LogAppendInfo) -> None:
        """Watch an append: add to the trace, as it happens, which followers copy it and when
        consumers may read it."""


class RequestTrace:
    """The stations of one request."""

    __slots__ = (
        "_request",
        "_keeper",
        "_append_began_s",
        "api",
        "is_over",
        "left_out",
        "number",
        "revision",
        "size",
        "stations",
        "wall_ms",
    )

    def __init__(
        self,
        keeper: TraceKeeper,
        number: int,
        api: str,
        request: TracedRequest,
        size: int,
        wall_ms: int,
    ) -> None:
        """Begin a trace. `size` is that of the request's frame, in bytes; `wall_ms` is the time of
        day."""
        self._keeper = keeper
        self._request = request
        self._append_began_s: float | None = None
        self.number = number
        self.api = api
        self.size = size
        self.wall_ms = wall_ms
        self.stations: list[Station] = []
        self.left_out = 0
        self.revision = 0
        """The keeper's revision at which this trace changed last."""
        self.is_over = False
        """Whether the answer was sent, or the request gets none. Followers may still add
        stations."""

    def revised(self, revision: int) -> None:
        """Set the keeper's revision of the last change."""
        self.revision = revision

    def now_s(self) -> float:
        """Return the time by the keeper's clock."""
        return self._keeper.clock_s()

    # --- the connection and the request handler --------------------------------------------------

    def came(self, received_s: float, taken_s: float | None) -> None:
        """Add the stations RECEIVED and TAKEN at these times, and DECODED now. `taken_s` is when
        the request got a handler slot; None: at once."""
        self.add(StationName.RECEIVED, received_s, bytes=self.size)
        waited = taken_s is not None
        self.add(StationName.TAKEN, received_s if taken_s is None else taken_s, queued=waited)
        self.add(StationName.DECODED)

    def answered(self, handled_s: float, answered_s: float, *, leaves: bool) -> None:
        """Add the stations HANDLED, if the handler returned before the answer was ready, and
        ANSWERED. If no answer `leaves`, the trace is over."""
        if handled_s < answered_s:
            self.add(StationName.HANDLED, handled_s)
        self.is_over = not leaves
        self.add(StationName.ANSWERED, answered_s, leaves=leaves)

    def sent(self, sending_s: float, sent_s: float) -> None:
        """Add the stations SENDING and SENT at these times. The trace is over."""
        self.add(StationName.SENDING, sending_s)
        self.is_over = True
        self.add(StationName.SENT, sent_s)

    # --- the API ---------------------------------------------------------------------------------

    def begins(self) -> None:
        """Set the start of the next append's station to now."""
        self._append_began_s = self.now_s()

    def appended(self, partition: TracedPartition, info: LogAppendInfo) -> None:
        """Add that the leader's log has the batches, maybe from an earlier try of the producer.
        Watch the append until all followers have it and consumers may read it."""
        facts: dict[str, Fact] = {
            "topic": partition.topic,
            "partition": partition.index,
            "first_offset": info.first_offset,
            "last_offset": info.last_offset,
            "leader_epoch": partition.leader_epoch,
        }
        if info.duplicate:
            facts["duplicate"] = True
        else:
            segment = partition.log.active
            facts |= {
                "bytes": info.size,
                "segment": segment.base_offset,
                "position": segment.size - info.size,
            }
        self.add(StationName.APPENDED, None, self._append_began_s, **facts)
        self._keeper.follow(self, partition, info)

    def refused(self, partition: TracedPartition, error: str) -> None:
        """Add that a partition rejected the append."""
        where: dict[str, Fact] = {"topic": partition.topic, "partition": partition.index}
        self.add(StationName.REFUSED, None, self._append_began_s, **where, error=error)

    def read(
        self,
        partition: TracedPartition,
        offset: int,
        records: FileRecords | bytes,
        high_watermark: int,
        span_s: tuple[float, float],
    ) -> None:
        """Add that a slice of the log, or nothing, was read. `span_s` is when the look-up began and
        ended."""
        facts: dict[str, Fact] = {
            "topic": partition.topic,
            "partition": partition.index,
            "offset": offset,
            "bytes": len(records),
            "high_watermark": high_watermark,
        }
        if records:  # bytes are held in memory, and have no position in a file
            plain = not self._request.security_protocol.endswith("SSL")
            segment = partition.log.segments.floor(offset)
            facts |= {
                "segment": -1 if segment is None else segment.base_offset,
                "position": -1 if isinstance(records, bytes) else records.position,
                "way": self._keeper.way_of(len(records), plain),
            }
        self.add(StationName.READ, span_s[1], span_s[0], **facts)

    def keep(self) -> None:
        """Keep the trace for the next reader, because the request returns records."""
        self._keeper.keep(self)

    def waits(self, purgatory: str, longest_ms: int) -> None:
        """Add that the request waits in a purgatory, for at most `longest_ms`."""
        self.add(StationName.WAITS, purgatory=purgatory, longest_ms=longest_ms)

    def woken(self, *, expired: bool, at_s: float | None = None) -> None:
        """Add the station EXPIRED or WOKEN: the request has left the purgatory. `at_s` is None for
        now."""
        self.add(StationName.EXPIRED if expired else StationName.WOKEN, at_s)

    # --- the stations ----------------------------------------------------------------------------

    def add(
        self,
        name: StationName,
        at_s: float | None = None,
        since_s: float | None = None,
        **facts: Fact,
    ) -> None:
        """Add a station at `at_s`; None: now. If STATIONS_MAX is reached, only count it. Either way
        the trace has changed."""
        if len(self.stations) < STATIONS_MAX:
            self.stations.append(
                Station(name, self.now_s() if at_s is None else at_s, since_s, facts)
            )
        else:
            self.left_out += 1
        self._keeper.changed(self)

    def report(self) -> dict[str, object]:
        """Return the whole trace for JSON, with the stations in the order of their times."""
        request = self._request
        return {
            "kind": "request",
            "number": self.number,
            "revision": self.revision,
            "api": self.api,
            "version": request.api_version,
            "client_id": (request.client_id or "")[:CLIENT_ID_MAX],
            "client_host": request.client_host,
            "listener": request.listener_name,
            "wall_ms": self.wall_ms,
            "bytes": self.size,
            "over": self.is_over,
            "left_out": self.left_out,
            "stations": [
                _station_report(station)
                for station in sorted(self.stations, key=lambda station: station.at_s)
            ],
        }


def _station_report(station: Station) -> dict[str, object]:
    """Return the station as a JSON object; times in seconds, rounded to 0.1 µs."""
    fields: dict[str, object] = {"name": station.name.value, "at_s": round(station.at_s, 7)}
    if station.since_s is not None:
        fields["since_s"] = round(station.since_s, 7)
    return fields | station.facts
