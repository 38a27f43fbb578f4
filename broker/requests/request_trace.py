"""One request's way through this node: its stations, each with the time when it was there.

A trace is made for a request whose client asks for it (`broker.requests.tracer` says who that is).
Whoever has the request then tells its trace: the connection through
`broker.requests.request_times`, the request handler, the API, and the partition by way of
`broker.requests.traced_appends`. Each tells what it has just done, so a station's time is that of
its end; where its beginning is known too, `since_s` has it.

Owns the stations, at most `STATIONS_MAX` of them. Never: a record's key, value or headers, a clock
(it comes in), or what a request means.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol

from storage.log.file_records import FileRecords
from storage.log.log_append_info import LogAppendInfo
from storage.log.unified_log import UnifiedLog

STATIONS_MAX = 64
"""What comes after so many is left out, and counted."""
CLIENT_ID_MAX = 100
"""Characters of a client id that are kept."""

Fact = int | str | bool
WayOf = Callable[[int, bool], str]
"""How so many bytes of a file leave the node; whether nothing encrypts them."""


class StationName(Enum):
    """Where a request may be, and what its time there means."""

    RECEIVED = "received"
    """The network processor has the whole frame, and no request of the connection before it."""
    TAKEN = "taken"
    """It has a handler slot. As long as nothing waits in the request queue, that is at once."""
    DECODED = "decoded"
    """The request handler has read it, and its API is asked next."""
    APPENDED = "appended"
    """A partition's log has its batches; since the leader was asked to append them."""
    REFUSED = "refused"
    """A partition did not take them."""
    READ = "read"
    """A partition's log was looked into for a slice; since the look began."""
    WAITS = "waits"
    """It waits in a purgatory."""
    HANDLED = "handled"
    """Its handler has returned without an answer, and its slot is free."""
    FOLLOWER_READ = "follower_read"
    """The fetch of a follower was given the batches."""
    FOLLOWER_HAS = "follower_has"
    """The follower's next fetch has told that they are in its log."""
    HIGH_WATERMARK = "high_watermark"
    """The partition's high watermark is behind them: consumers may read them."""
    WOKEN = "woken"
    """What it waited for is there."""
    EXPIRED = "expired"
    """Its time in the purgatory was up."""
    ANSWERED = "answered"
    """Its answer is made, and waits for the connection."""
    SENDING = "sending"
    """The connection begins to send it."""
    SENT = "sent"
    """The kernel has all of it."""


class Station(NamedTuple):
    """Seconds are of the node's monotonic clock."""

    name: StationName
    at_s: float
    since_s: float | None
    facts: dict[str, Fact]


class Asks(Protocol):
    """What a trace keeps of a request's context."""

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
    """A partition, as a trace sees it."""

    @property
    def topic(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def log(self) -> UnifiedLog: ...


class TraceKeeper(Protocol):
    """Who has the trace."""

    clock_s: Callable[[], float]
    way_of: WayOf

    def changed(self, trace: RequestTrace) -> None:
        """A station was added, or all is over."""

    def keep(self, trace: RequestTrace) -> None:
        """It is one to be told of."""

    def follow(self, trace: RequestTrace, partition: Any, info: LogAppendInfo) -> None:
        """From now on the trace hears what becomes of that append."""


class RequestTrace:
    """See the module."""

    __slots__ = (
        "_asks",
        "_keeper",
        "_since_s",
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
        self, keeper: TraceKeeper, number: int, api: str, asks: Asks, size: int, wall_ms: int
    ) -> None:
        """`size`: of the request's frame, in bytes; `wall_ms`: the time of day."""
        self._keeper = keeper
        self._asks = asks
        self._since_s: float | None = None
        self.number = number
        self.api = api
        self.size = size
        self.wall_ms = wall_ms
        self.stations: list[Station] = []
        self.left_out = 0
        self.revision = 0
        """Of the keeper, when this trace changed last."""
        self.is_over = False
        """Whether its answer has left, or there is none. Followers may still come."""

    def revised(self, revision: int) -> None:
        """It has changed, and that is the keeper's number of it."""
        self.revision = revision

    def now_s(self) -> float:
        """The keeper's clock."""
        return self._keeper.clock_s()

    # --- the connection and the request handler --------------------------------------------------

    def came(self, received_s: float, taken_s: float | None) -> None:
        """When it came, and when it had a slot; None: at once."""
        self.add(StationName.RECEIVED, received_s, bytes=self.size)
        waited = taken_s is not None
        self.add(StationName.TAKEN, received_s if taken_s is None else taken_s, queued=waited)
        self.add(StationName.DECODED)

    def answered(self, handled_s: float, answered_s: float, *, leaves: bool) -> None:
        """It has its answer; without one that leaves, this is its end."""
        if handled_s < answered_s:
            self.add(StationName.HANDLED, handled_s)
        self.is_over = not leaves
        self.add(StationName.ANSWERED, answered_s, leaves=leaves)

    def sent(self, sending_s: float, sent_s: float) -> None:
        """The answer was sent between these."""
        self.add(StationName.SENDING, sending_s)
        self.is_over = True
        self.add(StationName.SENT, sent_s)

    # --- the API ---------------------------------------------------------------------------------

    def begins(self) -> None:
        """An append begins."""
        self._since_s = self.now_s()

    def appended(self, partition: TracedPartition, info: LogAppendInfo) -> None:
        """The leader's log has it; or had it before, from a producer that tried again."""
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
        self.add(StationName.APPENDED, None, self._since_s, **facts)
        self._keeper.follow(self, partition, info)

    def refused(self, partition: TracedPartition, error: str) -> None:
        """It was not appended there."""
        where: dict[str, Fact] = {"topic": partition.topic, "partition": partition.index}
        self.add(StationName.REFUSED, None, self._since_s, **where, error=error)

    def read(
        self,
        partition: TracedPartition,
        offset: int,
        records: FileRecords | bytes,
        high_watermark: int,
        span_s: tuple[float, float],
    ) -> None:
        """A slice of the log, or nothing. `span_s`: when the look began and ended."""
        facts: dict[str, Fact] = {
            "topic": partition.topic,
            "partition": partition.index,
            "offset": offset,
            "bytes": len(records),
            "high_watermark": high_watermark,
        }
        if records:  # bytes are held in memory, and have no place in a file
            plain = not self._asks.security_protocol.endswith("SSL")
            segment = partition.log.segments.floor(offset)
            facts |= {
                "segment": -1 if segment is None else segment.base_offset,
                "position": -1 if isinstance(records, bytes) else records.position,
                "way": self._keeper.way_of(len(records), plain),
            }
        self.add(StationName.READ, span_s[1], span_s[0], **facts)

    def keep(self) -> None:
        """It is one to be told of: it gives records."""
        self._keeper.keep(self)

    def waits(self, purgatory: str, longest_ms: int) -> None:
        """It is in the purgatory of that name, for so long at most."""
        self.add(StationName.WAITS, purgatory=purgatory, longest_ms=longest_ms)

    def woken(self, *, expired: bool, at_s: float | None = None) -> None:
        """It has left the purgatory."""
        self.add(StationName.EXPIRED if expired else StationName.WOKEN, at_s)

    # --- what is known of it ---------------------------------------------------------------------

    def add(
        self,
        name: StationName,
        at_s: float | None = None,
        since_s: float | None = None,
        **facts: Fact,
    ) -> None:
        """It was there at that time; None: now."""
        if len(self.stations) < STATIONS_MAX:
            self.stations.append(
                Station(name, self.now_s() if at_s is None else at_s, since_s, facts)
            )
        else:
            self.left_out += 1
        self._keeper.changed(self)

    def told(self) -> dict[str, object]:
        """All of it, for JSON; the stations in the order of their times."""
        asks = self._asks
        return {
            "kind": "request",
            "number": self.number,
            "revision": self.revision,
            "api": self.api,
            "version": asks.api_version,
            "client_id": (asks.client_id or "")[:CLIENT_ID_MAX],
            "client_host": asks.client_host,
            "listener": asks.listener_name,
            "wall_ms": self.wall_ms,
            "bytes": self.size,
            "over": self.is_over,
            "left_out": self.left_out,
            "stations": [_told(one) for one in sorted(self.stations, key=lambda one: one.at_s)],
        }


def _told(station: Station) -> dict[str, object]:
    told: dict[str, object] = {"name": station.name.value, "at_s": round(station.at_s, 7)}
    if station.since_s is not None:
        told["since_s"] = round(station.since_s, 7)
    return told | station.facts
