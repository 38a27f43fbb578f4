"""I31: once all is calm, a share group has finished all records, and has lost none.

Each record is accepted, rejected, acknowledged as a gap, or was delivered as often as it may be. In
a group with a dead-letter topic, what was neither accepted nor a gap is there. The share
coordinator has all of it: who loads its states delivers nothing again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from broker.coordinator.coordinator_log import LogRecord
from broker.replication.partition import Partition
from broker.share.record_state import RecordState
from broker.share.state.share_log import SHARE_TOPIC, SharePartitionKey
from broker.share.state.share_metrics import ShareMetrics
from broker.share.state.share_state import ShareState
from broker.share.state.share_state_shard import ShareStateShard
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from simulation.invariants.invariant import OfEachBroker
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.admins import Deleting
from tests.simulation.consumer_groups.group_log import batches_of
from tests.simulation.share_groups.share_invariants import RecordsAreShared, manager_of, runs_of
from tests.simulation.share_groups.share_model import SharedRecords
from tests.simulation.share_groups.share_session import Place
from tests.simulation.share_groups.share_settings import SharedGroup

LETTER = ("__dlq.errors.topic", "__dlq.errors.partition", "__dlq.errors.offset")
"""The headers that name the original record."""


class NoRecordIsLost(OfEachBroker):
    """The check of I31, at the end of a run."""

    name = "I31"

    def __init__(self, *arguments: Any, records: RecordsAreShared, topics: list[str]) -> None:
        super().__init__(*arguments)
        self._records = records
        self._topics = topics
        self.letters = 0
        """How many dead letters there are."""
        self._deleted: dict[Place, int] = {}
        """Where a log may begin by DeleteRecords. A group may go on from there, though the log of
        the next leader begins before it, as that of a deposed leader may."""

    def sent(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Deleting):
            place = (about.topic_id, about.partition)
            self._deleted[place] = max(self._deleted.get(place, 0), about.offset)

    def at_end(self, final: Any) -> None:
        if self.promises.power_lost_ms >= 0 and not self.in_cluster:
            return
        states = self._states()
        for group in self._records.groups.values():
            letters = self._letters_of(group)
            for place, read in final.partitions.items():
                if read.topic not in self._topics:
                    continue
                read_records = read.committed if group.reads_committed else read.records
                records = [offset for offset, _ in read_records]
                self._look_at_told(group, place, records, read.log_start)
                records = [one for one in records if one >= self._deleted.get(place, 0)]
                self._look_at_state(states, group, place, records)
                model = self._records.model(group.name, place)
                for offset in records:
                    self._look_at(group, (read.topic, place[1], offset), model, letters)

    def _look_at(
        self,
        group: SharedGroup,
        record: tuple[str, int, int],
        model: SharedRecords,
        letters: dict[tuple[str, int, int], int],
    ) -> None:
        offset = record[2]
        given_up = model.deliveries.get(offset, 0) >= group.limit
        if offset not in model.may_end and not given_up:
            raise self.broken(f"{record} was never finished in {group.name}")
        if group.dead_letters and model.may_end.get(offset, True) and record not in letters:
            raise self.broken(f"{record} is no dead letter of {group.name}")

    def _look_at_told(
        self, group: SharedGroup, place: Place, records: list[int], log_start: int
    ) -> None:
        """Members get records that are there, and those of committed transactions alone, where the
        group says so."""
        known = dict.fromkeys(records)
        for offset in self._records.told.get((group.name, place), ()):
            if offset >= log_start and offset not in known:
                raise self.broken(f"{group.name} got {offset} of {place}, no record for it")

    def _look_at_state(
        self,
        states: Mapping[SharePartitionKey, ShareState],
        group: SharedGroup,
        place: Place,
        records: list[int],
    ) -> None:
        state = states.get(SharePartitionKey(group.name, *place))
        finals = {
            offset
            for batch in ([] if state is None else state.batches)
            if batch.state.is_final or batch.state is RecordState.ARCHIVING
            for offset in range(batch.first, batch.last + 1)
        }
        start = -1 if state is None else state.start_offset
        # A record is given up at the end of its lock, whatever becomes of the write.
        model = self._records.model(group.name, place)
        sure = [one for one in records if model.deliveries.get(one, 0) < group.limit]
        left = [one for one in sure if one >= start and one not in finals]
        if left:
            raise self.broken(f"{left} of {place} are not persisted as finished in {group.name}")

    def _states(self) -> Mapping[SharePartitionKey, ShareState]:
        """Return the states in the share coordinator's log, which may have no leader now. That the
        coordinator has the states of its log is I30."""
        shard = ShareStateShard(self.world, lambda *_: True, 0, ShareMetrics())
        for partition in self._longest_replicas(SHARE_TOPIC):
            for batch in batches_of(partition, uncommitted=True):
                for entry in batch:
                    shard.replay(LogRecord(entry.offset, entry.key, entry.value))
        return shard.states

    def _letters_of(self, group: SharedGroup) -> dict[tuple[str, int, int], int]:
        """Return the original records of a group's dead letters, and how often they are there."""
        found: dict[tuple[str, int, int], int] = {}
        if not group.dead_letters:
            return found
        for partition in self._longest_replicas(group.dead_letters):
            read = partition.log.read(partition.log.log_start_offset, 1 << 24)
            data = read.records if isinstance(read.records, bytes) else read.records.read()
            view = memoryview(data)
            for position, _ in iterate_batches(view):
                for one in iterate_records(view, position):
                    headers = {name: bytes(value or b"").decode() for name, value in one.headers}
                    topic, index, offset = (headers[name] for name in LETTER)
                    record = (topic, int(index), int(offset))
                    found[record] = found.get(record, 0) + 1
        self.letters = sum(found.values())
        return found

    def _longest_replicas(self, topic: str) -> Iterable[Partition]:
        """Return for each partition of a topic the replica with the highest high watermark: the
        partition may have no leader at this moment."""
        longest: dict[int, Partition] = {}
        for broker in self.brokers.values():
            for partition in broker.replicas.partitions():
                if partition.topic == topic:
                    longest[partition.index] = max(
                        longest.get(partition.index, partition),
                        partition,
                        key=lambda replica: replica.log.high_watermark,
                    )
        return longest.values()


def undrained(records: RecordsAreShared, topics: list[str], brokers: list[SimBroker]) -> bool:
    """Whether a group has not finished a partition of some topics yet, as its leader knows."""
    led = [
        (broker, partition)
        for broker in brokers
        if broker.node is not None and broker.serving
        for partition in broker.replicas.partitions()
        if partition.topic in topics and partition.is_leader
    ]
    return any(
        not _is_finished(broker, group, partition)
        for group in records.groups
        for broker, partition in led
    )


def _is_finished(broker: SimBroker, group: str, partition: Partition) -> bool:
    """Whether all records of a partition are final. The start offset may stay before them until the
    leader reads on from there: it does not know yet whether the log has more than was persisted."""
    manager = manager_of(broker)
    key = SharePartitionKey(group, partition.topic_id, partition.index)
    ready = None if manager is None else manager.partitions.ready(key)
    if ready is None:
        return False
    finals = {
        offset
        for run in runs_of(ready.partition)
        if run.state.is_final and run.change is None
        for offset in range(run.first, run.last + 1)
    }
    expected = range(ready.partition.start_offset, partition.log.high_watermark)
    return all(offset in finals for offset in expected)
