"""Consume, transform, produce: members of a group that copy one topic into another, exactly once.

A copier reads its partitions as read_committed, writes a copy of each record, commits the positions
it has come to with TxnOffsetCommit, as the member that it is in the generation that it is in
(KIP-447), and ends its transaction. Where anything goes wrong it aborts, asks for the committed
positions, waiting for those that are pending, and begins there again.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.consumers import STALE, FetchedPartition, Fetching
from tests.simulation.fetched_batches import Records, bounds_of, committed_of
from tests.simulation.group_members import ELSEWHERE, FORGOTTEN, REJOIN, GroupMember, Key
from tests.simulation.transaction_manager import TIMEOUT_MS, TRIES_MAX, TransactionManager
from tests.simulation.transactions import Moving, Txn

READ_COMMITTED = 1
FETCH_VERSIONS = (7, 9, 11, 12)
MAX_BYTES = 1_500


class Copier(GroupMember):
    """See the module: copies `topics` to partitions of `target`."""

    def __init__(
        self, name: str, *where: Any, group: str, topics: list[str], target: str, protocol: int
    ) -> None:
        super().__init__(name, *where, group=group, topics=topics, instance_id=None)
        self.target = target
        self.stable = True
        self.manager = TransactionManager(self, name, protocol, 4_000)
        self.copied = 0
        self._expelled: ErrorCode | None = None
        """Why it has to join again."""

    def life(self) -> Waits:
        yield from self.learn_all([*self.names, self.target])
        yield from super().life()

    def _serve(self) -> Waits:
        """Copy and heartbeat until told to join again."""
        known = False
        self._expelled = None
        while not self.stopping:
            yield 100.0 + self.chance.random() * 500.0
            if not self.manager.ready:
                yield from self.manager.init()
                known = False
                continue
            if not known:
                if not (yield from self._read_offsets()):
                    return
                known = True
            if self.chance.random() < 0.3:
                error = yield from self._heartbeat()
                if error:
                    yield from self._react(error)
                    return
            dice = 0.5 if self.calm else self.chance.random()
            if dice < 0.02:
                self.manager.forget()  # dies; the next one starts afresh, under the same id
                self.member_id, self.generation = "", -1
                self.hang_up()
                return
            if dice < 0.04:
                yield 7_000.0  # longer than its session, and than its transaction may take
            known = yield from self._copy()
            if self._expelled is not None:
                yield from self._react(self._expelled)
                return

    # --- one transaction -------------------------------------------------------------------------

    def _copy(self) -> Waits:
        """Copy what there is in one of the partitions; whether its position is still known."""
        if not self.assigned:
            return True
        key = self.chance.choice(self.assigned)
        read = yield from self._fetch(key)
        if read is None:
            return True
        records, end = read
        txn = self.manager.begin()
        txn.offsets[(self.group, key)] = end
        written = yield from self._write(txn, key, records)
        if written and (yield from self._move(txn, key, end)):
            commit = self.calm or self.chance.random() < 0.9
            ended = yield from self.manager.end(txn, commit)
            if ended and commit:
                self.positions[key] = end
            return ended and commit
        if self.manager.ready:
            yield from self.manager.end(txn, commit=False)
        self.manager.forget()
        return False

    def _fetch(self, key: Key) -> Waits:
        """(committed records, the position after them), or None where there is nothing."""
        name, partition = key
        topic = self.topics.get(name)
        leader = topic.leaders.get(partition) if topic is not None else None
        if topic is None or not leader:
            yield self.pause_ms()
            yield from self.learn(self.names)
            return None
        position = self.positions[key]
        asked = FetchedPartition(name, topic.topic_id, partition, position, topic.epochs[partition])
        version = self.chance.choice(FETCH_VERSIONS)
        if version < 9:
            asked.leader_epoch = -1
        part = FetchPartition(partition, asked.leader_epoch, position)
        part.partition_max_bytes = MAX_BYTES
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=100,
            isolation_level=READ_COMMITTED,
            topics=[FetchTopic(name, partitions=[part])],
        )
        about = Fetching({key: asked}, READ_COMMITTED, 0, 100, in_session=False, from_leader=True)
        response = yield from self.call(request, version, leader, about=about)
        if response is None or response.error_code or not response.responses:
            yield from self.learn(self.names)
            return None
        told = response.responses[0].partitions[0]
        if told.error_code:
            if ErrorCode(told.error_code) not in STALE and not self.is_refused(told.error_code):
                raise Violation("I1", f"{self.name} is told {ErrorCode(told.error_code)!r}")
            yield self.pause_ms()
            yield from self.learn(self.names)
            return None
        bounds = bounds_of(told.records)
        if bounds is None:
            return None
        records = committed_of(told.records, told.aborted_transactions)
        return [one for one in records if one[0] >= position], bounds[1]

    def _write(self, txn: Txn, key: Key, records: Records) -> Waits:
        if not records:
            return True  # markers only: the position moves all the same
        source, target = yield from self.know(key[0], self.target)
        partitions = sorted(target.leaders)
        partition = partitions[key[1] % len(partitions)]
        if not (yield from self.manager.add(txn, [(self.target, partition)])):
            return False
        values = []
        for offset, _ in records:
            self.copied += 1
            value = f"{self.name}/{self.copied}".encode()
            txn.copied[value] = ((source.topic_id, key[1]), offset)
            values.append(value)
        batch = self.manager.batch(txn, target, partition, values)
        return (yield from self.manager.produce([batch], [*self.names, self.target]))

    def _move(self, txn: Txn, key: Key, end: int) -> Waits:
        """TxnOffsetCommit; whether the offset is in the transaction."""
        if not (yield from self.manager.add_offsets(txn, self.group)):
            return False
        version = 5 if self.manager.protocol == 2 else 3
        part = TxnOffsetCommitRequestPartition(key[1], end, -1, self.name)
        request = TxnOffsetCommitRequest(
            txn.transactional_id,
            self.group,
            txn.producer_id,
            txn.producer_epoch,
            self.generation,
            self.member_id,
            None,
            [TxnOffsetCommitRequestTopic(key[0], partitions=[part])],
        )
        about = Moving(txn, self.group, self.generation)
        for _ in range(TRIES_MAX):
            if self.coordinator is None:
                yield from self._find()
                continue
            response = yield from self._ask(request, version, timeout_ms=TIMEOUT_MS, about=about)
            if response is None:
                self.manager.taint()
                continue
            error = ErrorCode(response.topics[0].partitions[0].error_code)
            if error is ErrorCode.NONE:
                return True
            if error in (*FORGOTTEN, *REJOIN):
                self._expelled = error
                return False
            if not self.manager.goes_on_after(error):
                return False
            if error in ELSEWHERE:
                self.coordinator = None
            yield self.pause_ms()
        return False
