"""Records into topics and out of them, without a client library.

Seeding is acknowledged by all replicas in sync. Consuming has no group and commits nothing: where
to go on is told with the records, and the caller brings it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from client.core.fetching import VERSION as FETCH_VERSION
from client.core.fetching import bytes_of, fetch_request, visible_records
from client.core.leaders import KnownLeaders, Partition, by_leader, by_topic
from client.core.offsets import EARLIEST, LATEST
from client.core.producing import ACKS_OF_ALL, NewRecord, batch_of, in_batches, produce_request
from client.core.retries import LEADER, NOT_WRITTEN
from client.records.partitioning import Partitioner
from ottla.testing.frames import Json
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.messages.fetch import PartitionData
from protocol.messages.produce import ProduceRequest
from protocol.records import Record
from testbed.operation_error import OperationError
from testbed.operations.port import POLL_S, World, check
from testbed.operations.topics import Leaders, flat, leaders_at, offsets

PRODUCE_VERSION = 8
TIMEOUT_S = 10.0
BATCH_BYTES = 256 * 1024
FETCH_BYTES = 4 * 1024 * 1024
WAIT_S = 0.25
"""How long a leader may hold a Fetch: the others are asked after that."""
RECORDS_MAX = 100_000
RECORDS_BYTES_MAX = 32 * 1024 * 1024
"""What one answer holds at most, but for what one Fetch brings above it."""


async def seed(
    world: World,
    topic: str,
    records: Sequence[Mapping[str, Json]],
    compression: str = "none",
    timeout_s: float = TIMEOUT_S,
) -> list[list[int]]:
    """Write records: partition, offset and timestamp of each, in their order.

    A record has "key", "value", "headers" (pairs), "timestamp" (ms) and "partition"; what is left
    out is null, none, now, and the partition of its key as Java's clients choose it. Those without
    a key go to the partitions in turn.
    """
    codec = _codec(compression)
    deadline_s = world.now_s() + timeout_s
    leaders = await leaders_at(world, None, [topic])
    if topic not in leaders:
        raise OperationError("misuse", f"there is no topic {topic} to write to: create it before")
    placed: list[list[int]] = [[] for _ in records]
    for index, places in _by_partition(topic, records, len(leaders[topic])).items():
        batches = list(in_batches([NewRecord.of(records[at]) for at in places], BATCH_BYTES))
        in_order = iter(places)
        while batches:
            batch = batches.pop(0)
            now_ms = world.wall_ms()
            data = batch_of(batch, now_ms, codec)
            written = await _produce(world, (topic, index), data, deadline_s, len(batch) > 1)
            if written is None:
                batches[:0] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
                continue
            offset, append_ms = written
            for number, record in enumerate(batch):
                time_ms = record.time_ms(now_ms) if append_ms < 0 else append_ms
                placed[next(in_order)] = [index, offset + number, time_ms]
    return placed


async def consume(
    world: World,
    topic: str,
    positions: Mapping[str, int] | None = None,
    count: int | None = None,
    timeout_s: float = TIMEOUT_S,
    committed: bool = True,
    ends: Mapping[str, int] | None = None,
) -> dict[str, Json]:
    """Read on from `positions` (by partition; the start of the log where there is none).

    With a `count` until so many have come, or the time is over; without, all that is there now.
    `committed`: nothing of transactions that are open or were aborted. Tells "records",
    "positions", whether the topic "exists", and whether it is "cut_off": there is more than one
    answer holds. Ask on with these positions, and with the "ends", which say what "now" was.
    """
    reading = _Reading(world, topic, positions or {}, count, committed, ends)
    deadline_s = world.now_s() + timeout_s
    await reading.look()
    while not reading.is_done() and not reading.is_full():
        left_s = deadline_s - world.now_s()
        if left_s <= 0 and count is not None:
            break
        if left_s <= 0:
            raise OperationError(
                "deadline", f"{topic} was not read to its end in {timeout_s:g} s: {reading.rest()}"
            )
        await reading.read(min(left_s, WAIT_S))
    return {
        "records": [_shown(partition, record) for partition, record in reading.records],
        "positions": {str(partition): offset for partition, offset in reading.positions.items()},
        "exists": bool(reading.leaders),
        "cut_off": reading.is_full() and not reading.is_done(),
        "ends": reading.ends and {str(index): end for index, end in reading.ends.items()},
    }


async def visible_after(world: World, leaders: Leaders, topic: str, index: int, start: int) -> bool:
    """Whether a consumer that goes on at `start` has a record to come, as far as is committed."""
    leader = leaders[topic][index]
    while True:
        (data,) = (await _fetch(world, leader, {(topic, index): start}, 0, True)).values()
        if data.error_code:
            return True
        records, position = visible_records(
            bytes_of(data.records), data.aborted_transactions, start
        )
        if records or position == start:
            return bool(records)
        start = position


class _Reading:
    """One `consume`."""

    def __init__(
        self,
        world: World,
        topic: str,
        positions: Mapping[str, int],
        count: int | None,
        committed: bool,
        ends: Mapping[str, int] | None,
    ) -> None:
        self.records: list[tuple[int, Record]] = []
        self.positions = {int(partition): offset for partition, offset in positions.items()}
        self.leaders: dict[int, int] = {}
        self.ends = None if ends is None else {int(index): end for index, end in ends.items()}
        """Where "now" is, where that is what was asked for."""
        self._world = world
        self._topic = topic
        self._count = count
        self._committed = committed
        self._bytes = 0

    def is_done(self) -> bool:
        """Whether all that was asked for is there."""
        if self._count is not None:
            return len(self.records) >= self._count
        ends = self.ends
        return ends is not None and all(self.positions.get(p, 0) >= ends[p] for p in ends)

    def is_full(self) -> bool:
        """Whether that is all that one answer holds."""
        return len(self.records) >= RECORDS_MAX or self._bytes >= RECORDS_BYTES_MAX

    def rest(self) -> str:
        """Which partitions are not read to their end."""
        rest = [
            f"partition {index}, led by {self.leaders.get(index, -1)}, is at "
            f"{self.positions.get(index, 0)} of {end}"
            for index, end in (self.ends or {}).items()
            if self.positions.get(index, 0) < end
        ]
        return "; ".join(rest[:3])

    async def look(self) -> None:
        """Who leads which partition, and where to begin in those that are new."""
        topic, world = self._topic, self._world
        found = await leaders_at(world, None, [topic])
        self.leaders = found.get(topic, {})
        new = [(topic, index) for index in sorted(self.leaders) if index not in self.positions]
        for (_, index), offset in (await offsets(world, found, new, EARLIEST)).items():
            self.positions[index] = offset
        if self.ends is None and self._count is None:
            every = [(topic, index) for index in sorted(self.leaders)]
            ends = await offsets(world, found, every, LATEST, int(self._committed))
            self.ends = {index: offset for (_, index), offset in ends.items()}

    async def read(self, wait_s: float) -> None:
        """One Fetch of each leader; the last one that is asked may wait for records."""
        topic = self._topic
        asked = by_leader(
            flat({topic: self.leaders}), [(topic, index) for index in sorted(self.positions)]
        )
        again, before = not asked, len(self.records)
        # Others may have something already: only one that is alone is waited for.
        waits = self._count is not None and len(asked) == 1
        for leader, partitions in asked.items():
            positions = {at: self.positions[at[1]] for at in partitions}
            wait_ms = ceil(wait_s * 1000) if waits else 0
            answer = await _fetch(self._world, leader, positions, wait_ms, self._committed)
            for index, data in answer.items():
                again |= await self._take(index, data)
        if again or len(self.records) == before:
            if not self.is_done() and (again or not waits):
                await self._world.pause(POLL_S)
            await self.look()

    async def _take(self, index: int, data: PartitionData) -> bool:
        """What a Fetch gave of a partition; whether leaders are to be looked for again."""
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            del self.positions[index]  # deleted meanwhile: it begins where the log does
            return True
        if data.error_code in LEADER:
            return True
        check(data.error_code, f"{self._topic}-{index} cannot be read")
        found, position = visible_records(
            bytes_of(data.records), data.aborted_transactions, self.positions[index]
        )
        most = RECORDS_MAX if self._count is None else min(self._count, RECORDS_MAX)
        room = most - len(self.records)
        self.records += [(index, record) for record in found[:room]]
        self._bytes += sum(len(one.key or b"") + len(one.value or b"") for one in found[:room])
        self.positions[index] = position
        if len(found) > room:
            self.positions[index] = found[room].offset
        return False


# --- reading -------------------------------------------------------------------------------------


async def _fetch(
    world: World, leader: int, positions: Mapping[Partition, int], wait_ms: int, committed: bool
) -> dict[int, PartitionData]:
    request = fetch_request(positions, wait_ms, FETCH_BYTES, FETCH_BYTES, int(committed))
    answer = await world.ask(leader, request, FETCH_VERSION)
    check(answer.error_code, f"topic {', '.join(by_topic(positions))} cannot be read")
    return {one.partition_index: one for found in answer.responses for one in found.partitions}


def _shown(partition: int, record: Record) -> dict[str, Json]:
    return {
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": record.key,
        "value": record.value,
        "headers": [[name, value] for name, value in record.headers],
    }


# --- writing -------------------------------------------------------------------------------------


def _codec(name: str) -> Codec:
    try:
        return Codec[name.upper()]
    except KeyError:
        known = ", ".join(codec.name.lower() for codec in Codec)
        raise OperationError("misuse", f"no compression {name}: {known}") from None


def _by_partition(
    topic: str, records: Sequence[Mapping[str, Json]], partitions: int
) -> dict[int, list[int]]:
    """Which records go where, by their places."""
    found: dict[int, list[int]] = {}
    partitioner = Partitioner(partitions, 0)
    for at, record in enumerate(records):
        partition, key = record.get("partition"), record.get("key")
        if partition is None:
            partition = partitioner.of_batch() if key is None else partitioner.of_key(key)
        elif not 0 <= partition < partitions:
            raise OperationError(
                "failed", f"topic {topic} has no partition {partition}: it has {partitions}"
            )
        found.setdefault(partition, []).append(at)
    return found


async def _produce(
    world: World, place: Partition, batch: bytearray, deadline_s: float, can_be_split: bool
) -> tuple[int, int] | None:
    """Its first offset, once all replicas in sync have it, and the log's time for it; -1 where its
    records keep theirs. None: it is too large for the topic, and is to be split."""

    def request_of(_epoch: int) -> ProduceRequest:
        left_ms = max(int((deadline_s - world.now_s()) * 1000), 1)
        # A copy: whoever appends it writes into it, also where that fails after all.
        return produce_request(place, memoryview(bytearray(batch)), ACKS_OF_ALL, left_ms)

    answer = await world.run(
        KnownLeaders().at_leader(
            world.attempts(deadline_s), place, request_of, PRODUCE_VERSION, NOT_WRITTEN
        )
    )
    (one,) = answer.responses[0].partition_responses
    if one.error_code == ErrorCode.MESSAGE_TOO_LARGE and can_be_split:
        return None
    check(one.error_code, f"this was not written to {place[0]}-{place[1]}", one.error_message)
    return one.base_offset, one.log_append_time_ms
