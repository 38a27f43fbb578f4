"""Invariants of what may be read: I5 and I6 in README.md, and that long polls wake."""

from __future__ import annotations

from typing import Any

from protocol.api_keys import ApiKey
from simulation.invariants.invariant import Invariant
from simulation.invariants.replica_watermarks import ReplicasWatermarksDoNotGoBack
from simulation.machines.layout import CHECKPOINT_MS
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.admins import Deleting
from tests.simulation.consumers import Fetching, Key
from tests.simulation.data_invariants import (
    CHECKPOINT_SLACK_MS,
    Fetched,
    Place,
    fetched,
    produced,
    where,
)


class WatermarksDoNotGoBack(Invariant):
    """I5: for one observer, within a leader epoch. I6: no read above them."""

    name = "I5"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seen: dict[tuple[str, Place, int, str, int], tuple[int, int, int]] = {}

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
        high, stable = data.high_watermark, data.last_stable_offset
        last_start, last_high, last_stable = self._seen.get(key, (0, 0, 0))
        if not exchange.about.from_leader:  # it may still be cut, see replica_watermarks.py
            stable = max(stable, last_stable)
        if start < last_start or high < last_high or stable < last_stable:
            raise self.broken(
                f"{key[0]} saw {where(key[1])} from {last_start} to {last_high}, stable up to "
                f"{last_stable}, in leader epoch {key[2]}, and now from {start} to {high}, stable "
                f"up to {stable}"
            )
        self._seen[key] = (start, high, stable)


class EpochsAreFenced(Invariant):
    """I5: who asks in a leader epoch is answered in that one, or refused (KIP-320)."""

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

    def unanswered(self, exchange: Exchange) -> None:
        self._in_epochs.pop(exchange, None)


class DeletedStaysDeleted(Invariant):
    """I5: what DeleteRecords took away is not read again, once a checkpoint has kept it."""

    name = "I5"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._deleted: dict[Place, list[tuple[float, int]]] = {}
        self._asked: dict[Place, int] = {}
        self._starts: dict[tuple[str, Place], tuple[int, float]] = {}
        """Where a replica's log starts, and since when: a checkpoint comes later."""
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
                if not self._has_another_leader(exchange, place):
                    known = self._deleted.setdefault(place, [])
                    known.append((self.world.now_ms, told.low_watermark))
        elif exchange.version >= 5:
            for one in fetched(exchange):
                if self._leads(exchange, one):
                    self._check(one.place, one.data.log_start_offset, exchange.sent_ms)

    def _has_another_leader(self, exchange: Exchange, place: Place) -> bool:
        """Whether the one that answered leads no more, as one that was paused and fenced: it
        deletes for itself and those that it takes to be alive (seed 200205)."""
        view = self.promises.view
        if view is None:
            return False
        topic = view.newest_image().topics.get_by_id(place[0])
        registration = topic.partitions.get(place[1]) if topic is not None else None
        return registration is None or registration.leader != view.at(exchange.node).node_id

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
        kept_ms = self._kept_ms(broker)
        for place, known in self._deleted.items():
            # A follower that was away when the answer was given learns of it when it is back, and
            # may lead after its death (seed 41092).
            start, since_ms = self._starts.pop((broker.address, place), (0, -1.0))
            self._deleted[place] = [
                (when_ms, offset)
                for when_ms, offset in known
                if when_ms < kept_ms and (start < offset or since_ms < kept_ms)
            ]

    def _kept_ms(self, broker: SimBroker) -> float:
        """What was so before this is in a checkpoint. None is written in a pause (seed 200084)."""
        period_ms = CHECKPOINT_MS + CHECKPOINT_SLACK_MS
        was_awake = broker.paused_ms >= broker.pause_began_ms
        if was_awake and self.world.now_ms - broker.paused_ms >= period_ms:
            return self.world.now_ms - period_ms
        return broker.pause_began_ms - period_ms

    def node_ran(self, broker: SimBroker) -> None:
        if not broker.is_broker:
            return
        for place in self._deleted:
            partition = broker.replicas.partition_by_id(*place)
            if partition is not None:
                start, key = partition.log.log_start_offset, (broker.address, place)
                if self._starts.get(key, (-1, 0.0))[0] != start:
                    self._starts[key] = (start, self.world.now_ms)

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
            if fetch.about.isolation and about.batch.topic in self.promises.transactional_topics:
                continue  # a transaction that is open may keep it back
            if not self.promises.may_read(fetch, about.batch.topic):
                continue  # what is denied ends no wait
            if fetch.handled_ms is not None and fetch.handled_ms < (exchange.handled_ms or 0):
                raise self.broken(
                    f"#{fetch.number} of {fetch.client} waits for {where(place)} from "
                    f"{asked.offset}, and {base} was acknowledged to {exchange.client}"
                )


WATERMARK_INVARIANTS = (
    ReplicasWatermarksDoNotGoBack,
    WatermarksDoNotGoBack,
    EpochsAreFenced,
    DeletedStaysDeleted,
    LongPollsWake,
)
