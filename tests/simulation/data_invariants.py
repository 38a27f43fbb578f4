"""Invariants of records: I1 to I6 in README.md, and that long polls wake.

`History` is what they share: which value was seen at which offset, by whomever. Partitions are
named by topic id, so that a topic made anew under an old name is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.simulation.admins import Deleting
from tests.simulation.consumers import Asked, Fetching, Key, records_of
from tests.simulation.invariants import Invariant
from tests.simulation.producers import IDEMPOTENT, Sending
from tests.simulation.sim_broker import SimBroker
from tests.simulation.sim_network import Exchange

Place = tuple[bytes, int]
CHECKPOINT_MS = 2_000
"""`log.flush.start.offset.checkpoint.interval.ms` of simulated brokers."""
CHECKPOINT_SLACK_MS = 1_500


@dataclass(slots=True)
class ReadPartition:
    """What the last reader found of one partition."""

    topic: str
    log_start: int
    end: int
    records: list[tuple[int, bytes]] = field(default_factory=list)


def payload(value: bytes) -> bytes:
    """A value without its padding: `producer/number`."""
    return value.rstrip(b".")


def sender_and_number(value: bytes) -> tuple[str, int]:
    sender, _, number = payload(value).decode().partition("/")
    return sender, int(number)


@dataclass(slots=True)
class Fetched:
    """What one partition gave to a Fetch."""

    asked: Asked
    data: Any
    records: list[tuple[int, bytes]]

    @property
    def place(self) -> Place:
        return self.asked.topic_id, self.asked.partition


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
        if value.startswith(IDEMPOTENT.encode()):
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

    def received(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.PRODUCE:
            self._acked(exchange)
        for one in fetched(exchange):
            high_watermark = one.data.high_watermark
            self._visible(exchange, one, high_watermark)
            self.read[one.place] = max(self.read.get(one.place, 0), high_watermark)

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
            by = self._leadership(exchange, about.batch.topic, place[1])
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
        by = self._leadership(exchange, one.asked.topic, place[1]) if known else None
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
            if not sender.startswith(IDEMPOTENT):
                continue
            if number <= last.get(sender, 0):
                raise self.broken(
                    f"{sender}'s {number} stands after its {last[sender]} in {where(place)}"
                )
            last[sender] = number


class WatermarksDoNotGoBack(Invariant):
    """I5: for one observer, within a leader epoch. I6: no read above them."""

    name = "I5"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seen: dict[tuple[str, Place, int, str, int], tuple[int, int]] = {}
        self._inside: dict[tuple[str, Place], tuple[Any, int, int]] = {}

    def received(self, exchange: Exchange) -> None:
        for one in fetched(exchange):
            self._ordered(exchange, one.place, one.data)
            self._below(exchange, one)
            if one.asked.leader_epoch >= 0:
                view = self.promises.view
                source = ("", 0)
                if view is not None:  # followers answer, too, each with what it knows
                    source = (exchange.node, view.at(exchange.node).life)
                observer = (exchange.client, one.place, one.asked.leader_epoch, *source)
                self._onward(exchange, observer, one.data)

    def _ordered(self, exchange: Exchange, place: Place, data: Any) -> None:
        start = data.log_start_offset if exchange.version >= 5 else 0
        if not start <= data.last_stable_offset <= data.high_watermark:
            raise self.broken(
                f"{where(place)}: log start {start}, last stable offset "
                f"{data.last_stable_offset}, high watermark {data.high_watermark}"
            )

    def _below(self, exchange: Exchange, one: Fetched) -> None:
        data = one.data
        bound = data.last_stable_offset if exchange.about.isolation else data.high_watermark
        for offset, _ in one.records:
            if offset >= bound:
                self.name = "I6"
                raise self.broken(
                    f"{exchange.client} is given {offset} of {where(one.place)}, above {bound}"
                )

    def _onward(self, exchange: Exchange, key: tuple[str, Place, int, str, int], data: Any) -> None:
        start = data.log_start_offset if exchange.version >= 5 else 0
        last_start, last_high = self._seen.get(key, (0, 0))
        if start < last_start or data.high_watermark < last_high:
            raise self.broken(
                f"{key[0]} saw {where(key[1])} from {last_start} to {last_high} in leader epoch "
                f"{key[2]}, and now from {start} to {data.high_watermark}"
            )
        self._seen[key] = (start, data.high_watermark)

    def node_ran(self, broker: SimBroker) -> None:
        """The same inside a broker, for every partition."""
        if not broker.is_broker:
            return
        for partition in broker.replicas.partitions():
            log = partition.log
            if partition.topic in self.promises.unclean_topics:
                continue
            place = (partition.topic_id, partition.index)
            known, start, high = self._inside.get((broker.address, place), (None, 0, 0))
            if known is not log:  # another life; or a replica that was taken away is given again
                start = high = 0
            if not start <= log.log_start_offset <= log.high_watermark <= log.log_end_offset:
                raise self.broken(
                    f"{partition!r}: log start {start} → {log.log_start_offset}, high watermark "
                    f"{high} → {log.high_watermark}, end {log.log_end_offset}"
                )
            if log.high_watermark < high:
                raise self.broken(f"{partition!r}: high watermark {high} → {log.high_watermark}")
            if log.high_watermark != high or log.log_start_offset != start or known is not log:
                state = (log, log.log_start_offset, log.high_watermark)
                self._inside[(broker.address, place)] = state


class EpochsAreFenced(Invariant):
    """I5: who asks in a leader epoch is answered in that one, and refused by any other (KIP-320)."""

    name = "I5"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._in_epochs: dict[Exchange, dict[Key, list[int]]] = {}

    def handled(self, exchange: Exchange) -> None:
        if isinstance(exchange.about, Fetching) and self.in_cluster:
            self._in_epochs[exchange] = {}
            self._note(exchange)

    def answered(self, exchange: Exchange) -> None:
        if exchange in self._in_epochs:
            self._note(exchange)

    def _note(self, exchange: Exchange) -> None:
        view = self.promises.view
        assert view is not None
        broker = view.at(exchange.node)
        for key in exchange.about.asked:
            partition = broker.replicas.partition(*key)
            if partition is not None:
                epochs = self._in_epochs[exchange].setdefault(key, [])
                epochs.append(partition.leader_epoch)

    def received(self, exchange: Exchange) -> None:
        known = self._in_epochs.pop(exchange, None)
        if known is None:
            return
        for one in fetched(exchange):
            key, asked = (one.asked.topic, one.asked.partition), one.asked.leader_epoch
            if asked >= 0 and asked not in known.get(key, ()):
                raise self.broken(
                    f"{exchange.client} asks {exchange.node} for {key} in leader epoch {asked}, "
                    f"and is answered in {known.get(key)}"
                )

    def given_up(self, exchange: Exchange) -> None:
        self._in_epochs.pop(exchange, None)


class DeletedStaysDeleted(Invariant):
    """I5: what DeleteRecords took away is not read again, once a checkpoint has kept it."""

    name = "I5"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._deleted: dict[Place, list[tuple[float, int]]] = {}
        self._asked: dict[Place, int] = {}
        self._died_ms = -1.0

    def sent(self, exchange: Exchange) -> None:
        if isinstance(exchange.about, Deleting):
            place = (exchange.about.topic_id, exchange.about.partition)
            self._asked[place] = max(self._asked.get(place, 0), exchange.about.offset)

    def received(self, exchange: Exchange) -> None:
        if isinstance(exchange.about, Deleting):
            told = exchange.response.topics[0].partitions[0]
            assert exchange.answered_ms is not None
            # An answer that was on its way when its broker died promises nothing more.
            if not told.error_code and exchange.answered_ms > self._died_ms:
                place = (exchange.about.topic_id, exchange.about.partition)
                known = self._deleted.setdefault(place, [])
                known.append((self.world.now_ms, told.low_watermark))
        elif exchange.version >= 5:
            for one in fetched(exchange):
                if self._leads(exchange, one):
                    self._check(one.place, one.data.log_start_offset, exchange.sent_ms)

    def _leads(self, exchange: Exchange, one: Fetched) -> bool:
        """Whether the leader has answered, as far as anybody knows: others may be behind."""
        view = self.promises.view
        if view is None:
            return True
        return exchange.about.from_leader and not view.is_replaced(
            view.at(exchange.node), one.asked.topic, one.asked.partition
        )

    def _check(self, place: Place, log_start: int, asked_ms: float) -> None:
        floor = max((o for when, o in self._deleted.get(place, ()) if when <= asked_ms), default=0)
        if log_start < floor:
            raise self.broken(f"{where(place)} starts at {log_start}, deleted up to {floor}")
        if log_start > self._asked.get(place, 0):
            raise self.broken(f"{where(place)} starts at {log_start}: nobody deleted that much")

    def power_lost(self, broker: SimBroker) -> None:
        self._deleted.clear()

    def node_ended(self, broker: SimBroker, why: str) -> None:
        if broker.lost_a_dir:
            self._deleted.clear()  # no checkpoint could be written there
        if broker.clean:
            return
        self._died_ms = self.world.now_ms
        kept_ms = self.world.now_ms - CHECKPOINT_MS - CHECKPOINT_SLACK_MS
        for place, known in self._deleted.items():
            self._deleted[place] = [one for one in known if one[0] < kept_ms]

    def at_end(self, final: Any) -> None:
        for place, read in final.partitions.items():
            self._check(place, read.log_start, self.world.now_ms)


class LongPollsWake(Invariant):
    """I20: a fetch that waits for one byte is answered as soon as there is one."""

    name = "I20"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: dict[Exchange, None] = {}

    def handled(self, exchange: Exchange) -> None:
        if isinstance(exchange.about, Fetching) and exchange.about.min_bytes <= 1:
            self._waiting[exchange] = None

    def answered(self, exchange: Exchange) -> None:
        self._waiting.pop(exchange, None)

    def node_ended(self, broker: SimBroker, why: str) -> None:
        self._waiting = {one: None for one in self._waiting if one.node != broker.address}

    def received(self, exchange: Exchange) -> None:
        if exchange.key is not ApiKey.PRODUCE:
            return
        about, place, error, base = produced(exchange)
        if error or base < 0:
            return
        for fetch in self._waiting:
            asked = fetch.about.asked.get((about.batch.topic, place[1]))
            if asked is None or asked.topic_id != place[0] or asked.offset > base:
                continue
            if self.in_cluster and (about.acks != -1 or fetch.node != exchange.node):
                continue  # not committed yet, or by another leader
            if fetch.handled_ms is not None and fetch.handled_ms < (exchange.handled_ms or 0):
                raise self.broken(
                    f"#{fetch.number} of {fetch.client} waits for {where(place)} from "
                    f"{asked.offset}, and {base} was acknowledged to {exchange.client}"
                )


def where(place: Place) -> str:
    """A partition in words."""
    return f"partition {place[1]} of topic {place[0].hex()[:8]}"


DATA_INVARIANTS = (
    OneValuePerOffset,
    AcknowledgedIsReadable,
    OrderIsKept,
    WatermarksDoNotGoBack,
    EpochsAreFenced,
    DeletedStaysDeleted,
    LongPollsWake,
)
