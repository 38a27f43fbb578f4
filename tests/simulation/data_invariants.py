"""Invariants of records: I1 to I4 in README.md.

`History` is what they share: which value was seen at which offset, by whomever. Partitions are
named by topic id, so that a topic made anew under an old name is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.admins import Deleting
from tests.simulation.consumers import FetchedPartition, Fetching
from tests.simulation.fetched_batches import committed_of, records_of
from tests.simulation.producers import Sending

Place = tuple[bytes, int]
CHECKPOINT_SLACK_MS = 1_500
NUMBERED = ("idempotent", "transfer", "copier")
"""How the names of clients begin that send with sequences: what they send is there once, and in
its order."""


@dataclass(slots=True)
class ReadPartition:
    """What the last reader found of one partition."""

    topic: str
    log_start: int
    end: int
    records: list[tuple[int, bytes]] = field(default_factory=list)
    committed: list[tuple[int, bytes]] = field(default_factory=list)
    """Those that a read_committed consumer gives to its user."""
    stable_end: int = 0
    """The last stable offset, as the last Fetch told."""

    def begin_at(self, log_start: int) -> None:
        """What was read before this has been deleted meanwhile."""
        self.log_start = log_start
        self.records = [one for one in self.records if one[0] >= log_start]
        self.committed = [one for one in self.committed if one[0] >= log_start]

    def take(
        self, position: int, records: list[tuple[int, bytes]], committed: list[tuple[int, bytes]]
    ) -> None:
        """A Fetch from `position` gave these."""
        self.records += [one for one in records if one[0] >= position]
        self.committed += [one for one in committed if one[0] >= position]


def payload(value: bytes) -> bytes:
    """A value without its padding: `producer/number`."""
    return value.rstrip(b".")


def sender_and_number(value: bytes) -> tuple[str, int]:
    sender, _, number = payload(value).decode().partition("/")
    return sender, int(number)


@dataclass(slots=True)
class Fetched:
    """What one partition gave to a Fetch."""

    asked: FetchedPartition
    data: Any
    records: list[tuple[int, bytes]]

    @property
    def place(self) -> Place:
        return self.asked.topic_id, self.asked.partition

    def committed(self) -> list[tuple[int, bytes]]:
        """What a read_committed consumer gives to its user."""
        known = committed_of(self.data.records, self.data.aborted_transactions)
        return [one for one in known if one[0] >= self.asked.offset]


def fetched(exchange: Exchange) -> list[Fetched]:
    """What a Fetch got, of partitions without an error; nothing for other requests."""
    if not isinstance(exchange.about, Fetching):
        return []
    if exchange.parsed is None:
        about = exchange.about
        ids = {one.topic_id: one.topic for one in about.asked.values()}
        exchange.parsed = []
        for topic in exchange.response.responses:
            name = topic.topic or ids.get(topic.topic_id, "")
            for data in topic.partitions:
                asked = about.asked.get((name, data.partition_index))
                if asked is not None and not data.error_code:
                    exchange.parsed.append(Fetched(asked, data, records_of(data.records)))
    found: list[Fetched] = exchange.parsed
    return found


def produced(exchange: Exchange) -> tuple[Sending, Place, ErrorCode, int]:
    """What a Produce was about, where, its error and the first offset."""
    about: Sending = exchange.about
    told = exchange.response.responses[0].partition_responses[0]
    place = (about.batch.topic_id, about.batch.partition)
    return about, place, ErrorCode(told.error_code), told.base_offset


class OneValuePerOffset(Invariant):
    """I2: an offset has one value, whoever looks, and one that was sent there.

    I3: a value of an idempotent producer has one offset.
    """

    name = "I2"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.at: dict[Place, dict[int, bytes]] = {}
        self._where: dict[tuple[Place, bytes], int] = {}
        self._deleted: dict[Place, int] = {}
        self._sent_to: dict[bytes, Place] = {}

    def sent(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Deleting):
            place = (about.topic_id, about.partition)
            self._deleted[place] = max(self._deleted.get(place, 0), about.offset)
        elif isinstance(about, Sending):
            for value in about.batch.values:
                self._sent_to[payload(value)] = about.batch.place

    def received(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.PRODUCE:
            about, place, error, base = produced(exchange)
            # What only the leader of a cluster has may be gone with it.
            kept = about.acks == -1 or not self.in_cluster
            if error is ErrorCode.NONE and base >= 0 and kept:
                for index, value in enumerate(about.batch.values):
                    self.seen(place, base + index, payload(value), "acknowledged")
        for one in fetched(exchange):
            for offset, value in one.records:
                self.seen(one.place, offset, payload(value), f"read by {exchange.client}")

    def seen(self, place: Place, offset: int, value: bytes, how: str) -> None:
        """`value` is at `offset`, as somebody was told."""
        if self._sent_to.get(value) != place:
            raise self.broken(f"{value!r} is {how} in {where(place)}, where nobody sent it")
        known = self.at.setdefault(place, {}).setdefault(offset, value)
        if known != value:
            raise self.broken(
                f"offset {offset} of {where(place)} held {known!r}, {value!r} is {how}"
            )
        if value.decode().startswith(NUMBERED):
            first = self._where.setdefault((place, value), offset)
            # What lies before the log start says nothing to a recovery (as in Kafka): a batch that
            # was deleted before its producer heard of it can come twice.
            if first != offset and first >= self._deleted.get(place, 0):
                self.name = "I3"
                raise self.broken(f"{value!r} is at {first} and at {offset} of {where(place)}")

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self.at.clear()
            self._where.clear()

    def at_end(self, final: Any) -> None:
        for place, read in final.partitions.items():
            for offset, value in read.records:
                self.seen(place, offset, payload(value), "read at the end")


class AcknowledgedIsReadable(Invariant):
    """I1: what was acknowledged, or read, is there after the last heal, and visible at once."""

    name = "I1"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.acknowledged: dict[Place, dict[bytes, int]] = {}
        self.read: dict[Place, int] = {}
        self._acked_ends: dict[Place, list[tuple[float, int, object]]] = {}
        self._spoken: dict[Exchange, dict[tuple[str, int], object]] = {}
        """In which leaderships an answer that is on its way was given."""

    def answered(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Sending):
            keys = [(about.batch.topic, about.batch.partition)]
        elif isinstance(about, Fetching):
            keys = list(about.asked)
        else:
            return
        self._spoken[exchange] = {key: self._leadership(exchange, *key) for key in keys}

    def received(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.PRODUCE:
            self._acked(exchange)
        for one in fetched(exchange):
            high_watermark = one.data.high_watermark
            self._visible(exchange, one, high_watermark)
            self.read[one.place] = max(self.read.get(one.place, 0), high_watermark)
        self._spoken.pop(exchange, None)

    def unanswered(self, exchange: Exchange) -> None:
        self._spoken.pop(exchange, None)

    def _acked(self, exchange: Exchange) -> None:
        about, place, error, base = produced(exchange)
        if error not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            return
        if self.in_cluster and about.acks != -1:
            return
        known = self.acknowledged.setdefault(place, {})
        for index, value in enumerate(about.batch.values):
            known[payload(value)] = base + index if base >= 0 else -1
        if base >= 0 and about.acks == -1:
            end = base + len(about.batch.values)
            by = self._spoken[exchange][about.batch.topic, place[1]]
            self._acked_ends.setdefault(place, []).append((self.world.now_ms, end, by))

    def _leadership(self, exchange: Exchange, topic: str, index: int) -> object:
        """In which leadership of a partition a broker speaks: a new one finds its own high
        watermark first."""
        view = self.promises.view
        if view is None:
            return None
        broker = view.at(exchange.node)
        partition = broker.replicas.partition(topic, index) if broker.alive else None
        return (exchange.node, broker.life, partition.leader_epoch if partition else -1)

    def _visible(self, exchange: Exchange, one: Fetched, high_watermark: int) -> None:
        place = one.place
        known = self._acked_ends.get(place, ())[-20:]
        by = self._spoken[exchange][one.asked.topic, place[1]] if known else None
        for when, end, acked_by in known:
            if when <= exchange.sent_ms and high_watermark < end and acked_by == by:
                raise self.broken(
                    f"{exchange.client} sees {where(place)} up to {high_watermark}, but up to "
                    f"{end} was acknowledged to all before it asked"
                )

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self.acknowledged.clear()
            self.read.clear()
            self._acked_ends.clear()

    def at_end(self, final: Any) -> None:
        for place, known in self.acknowledged.items():
            read = final.partitions.get(place)
            if read is None:
                continue  # the topic is gone: whether it may be is I13's question
            there = {payload(value): offset for offset, value in read.records}
            for value, offset in known.items():
                if value not in there and (offset >= read.log_start or not read.log_start):
                    raise self.broken(
                        f"{value!r}, acknowledged at {offset} of {where(place)}, is gone"
                    )
        for place, end in self.read.items():
            read = final.partitions.get(place)
            if read is not None and read.end < end:
                raise self.broken(f"{where(place)} was read up to {end} and now ends at {read.end}")


class OrderIsKept(Invariant):
    """I4: one idempotent producer's values stand in the order in which it sent them."""

    name = "I4"

    def received(self, exchange: Exchange) -> None:
        for one in fetched(exchange):
            self._check(one.place, one.records)

    def at_end(self, final: Any) -> None:
        for place, read in final.partitions.items():
            self._check(place, read.records)

    def _check(self, place: Place, records: list[tuple[int, bytes]]) -> None:
        last: dict[str, int] = {}
        before = -1
        for offset, value in records:
            if offset <= before:
                raise self.broken(f"offset {offset} after {before} in {where(place)}")
            before = offset
            sender, number = sender_and_number(value)
            if not sender.startswith(NUMBERED):
                continue
            if number <= last.get(sender, 0):
                raise self.broken(
                    f"{sender}'s {number} stands after its {last[sender]} in {where(place)}"
                )
            last[sender] = number


def where(place: Place) -> str:
    """A partition in words."""
    return f"partition {place[1]} of topic {place[0].hex()[:8]}"


DATA_INVARIANTS = (
    OneValuePerOffset,
    AcknowledgedIsReadable,
    OrderIsKept,
)
