"""I30: what leaders do with the records of share groups, and what members are told of them.

Each acquisition is looked at in the event in which it happens, wherever the answer gets lost. Of a
leader that was replaced nothing is expected: it may deliver what its successor does, in Kafka, too.
What it had persisted before its successor loaded the states counts all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from broker.share.delivery.share_partition import SharePartition
from broker.share.record_state import RecordState
from broker.share.sessions import MemberKey, ShareSession
from broker.share.share_partition_manager import SharePartitionManager
from broker.share.share_partitions import Ready
from broker.share.state.share_log import SharePartitionKey
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import OfEachBroker
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from simulation.sim_trace import Shared
from tests.simulation.share_groups.share_model import Lock, SharedRecords
from tests.simulation.share_groups.share_session import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Place,
    acknowledged,
    acquired,
    verdicts,
)
from tests.simulation.share_groups.share_settings import SharedGroup

OF_RECORDS = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)


class RecordsAreShared(OfEachBroker):
    """The check of I30. `models`: those of the share-partitions, for checks at the end."""

    name = "I30"

    def __init__(self, *arguments: Any, groups: tuple[SharedGroup, ...]) -> None:
        super().__init__(*arguments)
        self.groups = {group.name: group for group in groups}
        self.models: dict[tuple[str, Place], SharedRecords] = {}
        self.told: dict[tuple[str, Place], dict[int, None]] = {}
        """Which records members were given."""
        self.counts: Counter[str] = Counter()
        self._managers: dict[str, SharePartitionManager] = {}
        self._states: dict[SharePartition, _Looked] = {}
        self._given: dict[tuple[MemberKey, Place, int, int], None] = {}
        """To which member a record was delivered for the how maniest time."""
        self._releases: dict[Exchange, list[tuple[Place, int, int]]] = {}
        """Place, offset and delivery count of what a request releases."""
        self._ignored: dict[Exchange, dict[tuple[Place, int], None]] = {}
        """What a request acknowledges before the start offset: it is answered without an error, and
        nothing is written."""
        self._of_others: dict[Exchange, dict[tuple[Place, int], None]] = {}
        """What a request acknowledges though another member has it."""

    def model(self, group_id: str, place: Place) -> SharedRecords:
        """Return the model of a share-partition."""
        key = (group_id, place)
        if key not in self.models:
            self.models[key] = SharedRecords(self.groups[group_id].limit)
        return self.models[key]

    @property
    def shared(self) -> Shared:
        """The counts of events so far."""
        return Shared(**self.counts)

    # --- at leaders ----------------------------------------------------------------------------

    def node_ran(self, broker: SimBroker) -> None:
        """Hear of all acquisitions of a new process from its first on."""
        manager = manager_of(broker)
        if manager is None or self._managers.get(broker.address) is manager:
            return
        self._managers[broker.address] = manager
        acquired_by, take_back = manager.partitions.acquired, manager.take_back

        def was_acquired(key: SharePartitionKey) -> None:
            acquired_by(key)
            self._look(broker, manager, key)

        def is_taken_back(key: SharePartitionKey, member_id: str, ranges: Any) -> None:
            take_back(key, member_id, ranges)
            ready = manager.partitions.ready(key)
            if ready is None or ready.partition not in self._states:
                return
            for one in ranges:
                for offset in range(one.first, one.last + 1):
                    self._states[ready.partition].acquired.pop(offset, None)
                    self.model(*_split(key)).locks.pop(offset, None)

        vars(manager.partitions)["acquired"] = was_acquired
        vars(manager)["take_back"] = is_taken_back
        for key in manager.partitions.keys():  # noqa: SIM118
            self._look(broker, manager, key)

    def _look(
        self, broker: SimBroker, manager: SharePartitionManager, key: SharePartitionKey
    ) -> None:
        """Look at a share-partition: what was acquired, and whether its states move as they may."""
        ready = manager.partitions.ready(key)
        if ready is None or key.group_id not in self.groups:
            return
        looked = self._states.get(ready.partition)
        if looked is None:
            looked = self._states[ready.partition] = _Looked()
            self.counts["loads"] += 1
        if ready.partition.start_offset < looked.start:
            raise self._broken(key, looked.start, "the start offset falls")
        looked.start = ready.partition.start_offset
        replaced = self._is_replaced(broker, key, ready)
        finals: dict[int, None] = {}
        for run in runs_of(ready.partition):
            offsets = range(max(run.first, looked.start), run.last + 1)
            if run.state.is_final and run.change is None:
                finals.update(dict.fromkeys(offsets))
            elif any(offset in looked.finals for offset in offsets):
                raise self._broken(key, offsets[0], f"what was final is {run.state.name}")
            if run.state is RecordState.ACQUIRED:
                session = manager.sessions.find(MemberKey(key.group_id, run.member))
                now_ms = self.world.now_ms
                until_ms = run.lock_until_ms or now_ms
                for offset in offsets:
                    lock = Lock(session, ready.partition, run.deliveries, now_ms, until_ms)
                    self._take(key, run.member, offset, lock, manager, replaced)
        looked.finals = finals

    def _take(
        self,
        key: SharePartitionKey,
        member: str,
        offset: int,
        lock: Lock,
        manager: SharePartitionManager,
        replaced: bool,
    ) -> None:
        """A record is acquired: since now, or it was known."""
        group_id, place = _split(key)
        given = (MemberKey(group_id, member), place, offset, lock.deliveries)
        looked = self._states[ready_partition(lock)]
        known = looked.acquired.get(offset)
        if known == (member, lock.deliveries):
            return
        looked.acquired[offset] = (member, lock.deliveries)
        self._given[given] = None
        self.counts["deliveries"] += 1
        self.counts["redeliveries"] += lock.deliveries > 1
        model = self.model(group_id, place)
        if replaced:
            model.deliveries[offset] = max(lock.deliveries, model.deliveries.get(offset, 0))
            return
        last = model.locks.get(offset)
        if last is not None and not _is_open(manager, last.holder):
            model.unlock(offset, last.holder)
        why = model.delivered(offset, lock)
        if why is not None:
            raise self._broken(key, offset, f"{member} gets it, and {why}")

    def _is_replaced(self, broker: SimBroker, key: SharePartitionKey, ready: Ready) -> bool:
        """Whether another leadership has begun that this leader does not know of."""
        if self.promises.view is None:
            return False
        topics = self.promises.view.newest_image().topics
        topic = topics.get_by_id(key.topic_id)
        held = None if topic is None else topic.partitions.get(key.partition)
        return held is None or held.leader_epoch > ready.leader_epoch

    def _broken(self, key: SharePartitionKey, offset: int, why: str) -> Exception:
        return self.broken(
            f"offset {offset} of {key.topic_id.hex()}-{key.partition} in {key.group_id}: {why}"
        )

    # --- what members do and are told ----------------------------------------------------------

    def handled(self, exchange: Exchange) -> None:
        if exchange.key not in OF_RECORDS or exchange.request.group_id not in self.groups:
            return
        request = exchange.request
        manager = self._managers.get(exchange.node)
        session = None
        if manager is not None:
            session = manager.sessions.find(MemberKey(request.group_id, request.member_id))
        for place, offset, kind in acknowledged(request):
            model = self.model(request.group_id, place)
            if manager is not None:
                ready = manager.partitions.ready(SharePartitionKey(request.group_id, *place))
                if ready is not None and offset < ready.partition.start_offset:
                    self._ignored.setdefault(exchange, {})[place, offset] = None
            lock = model.locks.get(offset)
            if (
                lock is not None
                and isinstance(lock.holder, ShareSession)
                and lock.holder.key != (request.group_id, request.member_id)
                and manager is not None
                and _is_held(manager, lock, self.world.now_ms)
            ):
                self._of_others.setdefault(exchange, {})[place, offset] = None
            if kind == RELEASE and session is not None:
                count = model.unlock(offset, session)
                self._releases.setdefault(exchange, []).append((place, offset, count))
            elif kind in (ACCEPT, REJECT, GAP):
                letter = kind == REJECT and model.may_end.get(offset, True)
                model.may_end[offset] = letter

    def answered(self, exchange: Exchange) -> None:
        manager = self._managers.get(exchange.node)
        if exchange.key not in OF_RECORDS or manager is None:
            return
        if exchange.node in self.brokers:
            for key in manager.partitions.keys():  # noqa: SIM118
                if key.group_id == exchange.request.group_id:
                    self._look(self.brokers[exchange.node], manager, key)

    def unanswered(self, exchange: Exchange) -> None:
        self._releases.pop(exchange, None)
        self._ignored.pop(exchange, None)
        self._of_others.pop(exchange, None)

    def received(self, exchange: Exchange) -> None:
        if exchange.key not in OF_RECORDS or exchange.request.group_id not in self.groups:
            return
        group_id, errors = exchange.request.group_id, verdicts(exchange)
        assert exchange.answered_ms is not None
        ignored, of_others = self._ignored.pop(exchange, {}), self._of_others.pop(exchange, {})
        for place, offset, kind in acknowledged(exchange.request):
            error = errors.get(place, ErrorCode.UNKNOWN_SERVER_ERROR)
            if error is not ErrorCode.NONE or (place, offset) in ignored:
                continue
            if (place, offset) in of_others:
                key = SharePartitionKey(group_id, *place)
                raise self._broken(key, offset, f"{exchange.client} acknowledges another's")
            self._acknowledged(exchange, place, offset, kind)
        for place, offset, count in self._releases.pop(exchange, ()):
            model = self.model(group_id, place)
            if errors.get(place, ErrorCode.UNKNOWN_SERVER_ERROR) is ErrorCode.NONE:
                model.released[offset] = max(count, model.released.get(offset, 0))
        for place, first, last, count, there in acquired(exchange):
            told = self.told.setdefault((group_id, place), {})
            told.update(dict.fromkeys(offset for offset in there if first <= offset <= last))
            member = MemberKey(group_id, exchange.request.member_id)
            for offset in range(first, last + 1):
                if (member, place, offset, count) not in self._given:
                    key = SharePartitionKey(group_id, *place)
                    raise self._broken(key, offset, f"{member[1]} is told it has it {count} times")

    def _acknowledged(self, exchange: Exchange, place: Place, offset: int, kind: int) -> None:
        """An acknowledgement was answered without an error."""
        assert exchange.answered_ms is not None and exchange.handled_ms is not None
        group = self.groups[exchange.request.group_id]
        model, why = self.model(group.name, place), None
        self.counts[NAMES[kind]] += 1
        if kind in (ACCEPT, REJECT, GAP):
            why = model.ended(offset, exchange.answered_ms)
        elif kind == RENEW:
            lock = model.locks.get(offset)
            if lock is not None and lock.since_ms <= exchange.handled_ms < lock.until_ms:
                lock.until_ms = max(lock.until_ms, exchange.handled_ms + group.lock_ms)
        if why is not None:
            key = SharePartitionKey(group.name, *place)
            raise self._broken(key, offset, f"it is delivered after {why}")

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            for model in self.models.values():
                model.forget_answers()


NAMES = {GAP: "gaps", ACCEPT: "accepts", RELEASE: "releases", REJECT: "rejects", RENEW: "renewals"}


class _Looked:
    """A share-partition at its leader, as it was last."""

    def __init__(self) -> None:
        self.start = -1
        self.finals: dict[int, None] = {}
        self.acquired: dict[int, tuple[str, int]] = {}
        """Member and delivery count of each record's newest delivery."""


def manager_of(broker: SimBroker) -> SharePartitionManager | None:
    """Return what a broker's share-partitions are in, once there are any."""
    if broker.node is None or broker.node.broker is None:
        return None
    return broker.node.broker.parts.share_fetching.begun_manager


def ready_partition(lock: Lock) -> SharePartition:
    """Return the share-partition of a lock."""
    assert isinstance(lock.leader, SharePartition)
    return lock.leader


def runs_of(partition: SharePartition) -> Iterator[Any]:
    """Yield the records in flight, in runs of the same state."""
    for batch in partition._window.batches:
        yield from batch.runs


def _is_open(manager: SharePartitionManager, session: object) -> bool:
    return isinstance(session, ShareSession) and manager.sessions.is_open(session)


def _is_held(manager: SharePartitionManager, lock: Lock, now_ms: float) -> bool:
    """Whether a lock holds at its leader, and its session is open."""
    leaders = [manager.partitions.ready(key) for key in manager.partitions.keys()]  # noqa: SIM118
    is_loaded = any(one is not None and one.partition is lock.leader for one in leaders)
    return is_loaded and now_ms < lock.until_ms and _is_open(manager, lock.holder)


def _split(key: SharePartitionKey) -> tuple[str, Place]:
    return key.group_id, (key.topic_id, key.partition)
