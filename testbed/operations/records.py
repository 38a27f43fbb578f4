"""Records into topics and out of them, without a client library.

Seeded records are acknowledged by all replicas in sync. Consuming uses no group and commits
nothing: the next positions are returned with the records, and the caller sends them back.
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
from testbed.operations.port import POLL_S, OperationWorld, check
from testbed.operations.topics import Leaders, flat, leaders_at, offsets

PRODUCE_VERSION = 8
TIMEOUT_S = 10.0
BATCH_BYTES = 256 * 1024
FETCH_BYTES = 4 * 1024 * 1024
WAIT_S = 0.25
"""How long a leader may hold a Fetch while it has no records."""
RECORDS_MAX = 100_000
RECORDS_BYTES_MAX = 32 * 1024 * 1024
"""The limits of one answer; a single Fetch may exceed the bytes."""


async def seed(
    world: OperationWorld,
    topic: str,
    records: Sequence[Mapping[str, Json]],
    compression: str = "none",
    timeout_s: float = TIMEOUT_S,
) -> list[list[int]]:
    """Write records, and return partition, offset and timestamp (ms) of each, in their order.

    A record has "key", "value", "headers" (pairs), "timestamp" (ms) and "partition". Defaults:
    null, no headers, now, and the partition of the key as Java's clients choose it. Records without
    a key go to the partitions in turn. Raises OperationError if the topic is missing or a batch is
    not written.
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
    world: OperationWorld,
    topic: str,
    positions: Mapping[str, int] | None = None,
    count: int | None = None,
    timeout_s: float = TIMEOUT_S,
    committed: bool = True,
    ends: Mapping[str, int] | None = None,
) -> dict[str, Json]:
    """Read from `positions` (by partition; the start of the log for those that are not named).

    With `count`: until so many records are read, or `timeout_s` is over. Without: up to the current
    ends; raises OperationError if they are not reached in time. `committed`: skip records of open
    and aborted transactions. Returns "records", "positions", whether the topic "exists", and
    "cut_off": whether there are more records than one answer holds. For those, call again with the
    returned positions and the returned "ends", which are the ends at the first call.
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
        "records": [_record_json(partition, record) for partition, record in reading.records],
        "positions": {str(partition): offset for partition, offset in reading.positions.items()},
        "exists": bool(reading.leaders),
        "cut_off": reading.is_full() and not reading.is_done(),
        "ends": reading.ends and {str(index): end for index, end in reading.ends.items()},
    }


async def visible_after(
    world: OperationWorld, leaders: Leaders, topic: str, index: int, start: int
) -> bool:
    """Return whether a consumer with read_committed at offset `start` has a record still to read;
    True also if the leader answers an error."""
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
    """The state of one `consume`."""

    def __init__(
        self,
        world: OperationWorld,
        topic: str,
        positions: Mapping[str, int],
        count: int | None,
        committed: bool,
        ends: Mapping[str, int] | None,
    ) -> None:
        """Begin a reading. `positions` and `ends` are offsets by partition number as text; `ends`
        None: up to the ends that `look` finds. `count` None: up to the ends."""
        self.records: list[tuple[int, Record]] = []
        self.positions = {int(partition): offset for partition, offset in positions.items()}
        self.leaders: dict[int, int] = {}
        self.ends = None if ends is None else {int(index): end for index, end in ends.items()}
        """By partition, the offset at which to stop; None with a `count`, or before `look`."""
        self._world = world
        self._topic = topic
        self._count = count
        self._committed = committed
        self._bytes = 0

    def is_done(self) -> bool:
        """Return whether all records that the caller wants are read: `count` of them, or those
        before the ends."""
        if self._count is not None:
            return len(self.records) >= self._count
        ends = self.ends
        return ends is not None and all(self.positions.get(p, 0) >= ends[p] for p in ends)

    def is_full(self) -> bool:
        """Return whether the answer is as large as it may be, in records or bytes."""
        return len(self.records) >= RECORDS_MAX or self._bytes >= RECORDS_BYTES_MAX

    def rest(self) -> str:
        """Return words about the first three partitions that are not read to their end."""
        rest = [
            f"partition {index}, led by {self.leaders.get(index, -1)}, is at "
            f"{self.positions.get(index, 0)} of {end}"
            for index, end in (self.ends or {}).items()
            if self.positions.get(index, 0) < end
        ]
        return "; ".join(rest[:3])

    async def look(self) -> None:
        """Look up the leaders, and the start of the log of partitions without a position. In the
        first call, if there is no `count`, also look up the ends."""
        topic, world = self._topic, self._world
        leaders = await leaders_at(world, None, [topic])
        self.leaders = leaders.get(topic, {})
        new = [(topic, index) for index in sorted(self.leaders) if index not in self.positions]
        for (_, index), offset in (await offsets(world, leaders, new, EARLIEST)).items():
            self.positions[index] = offset
        if self.ends is None and self._count is None:
            every = [(topic, index) for index in sorted(self.leaders)]
            ends = await offsets(world, leaders, every, LATEST, int(self._committed))
            self.ends = {index: offset for (_, index), offset in ends.items()}

    async def read(self, wait_s: float) -> None:
        """Send one Fetch to each leader, and add the records that come. With a single leader and a
        `count`, it may wait up to `wait_s` for records. Without new records, or after an error,
        pause and look the leaders up again."""
        topic = self._topic
        requested = by_leader(
            flat({topic: self.leaders}), [(topic, index) for index in sorted(self.positions)]
        )
        again, before = not requested, len(self.records)
        # With several leaders, another may have records already: only a single leader may wait.
        waits = self._count is not None and len(requested) == 1
        for leader, partitions in requested.items():
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
        """Add the records that a Fetch returned for a partition, and move its position. Return
        whether leaders must be looked up again. Raises OperationError for an error that no new
        leader mends."""
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            del self.positions[
                index
            ]  # its records were deleted meanwhile: `look` starts again at the log's start
            return True
        if data.error_code in LEADER:
            return True
        check(data.error_code, f"{self._topic}-{index} cannot be read")
        visible, position = visible_records(
            bytes_of(data.records), data.aborted_transactions, self.positions[index]
        )
        most = RECORDS_MAX if self._count is None else min(self._count, RECORDS_MAX)
        room = most - len(self.records)
        self.records += [(index, record) for record in visible[:room]]
        self._bytes += sum(len(r.key or b"") + len(r.value or b"") for r in visible[:room])
        self.positions[index] = position
        if len(visible) > room:
            self.positions[index] = visible[room].offset
        return False


# --- reading -------------------------------------------------------------------------------------


async def _fetch(
    world: OperationWorld,
    leader: int,
    positions: Mapping[Partition, int],
    wait_ms: int,
    committed: bool,
) -> dict[int, PartitionData]:
    """Fetch a topic's partitions, and return each partition's data by its index.

    Raises OperationError at an error of the whole answer; errors of partitions are in the data.
    """
    request = fetch_request(positions, wait_ms, FETCH_BYTES, FETCH_BYTES, int(committed))
    answer = await world.ask(leader, request, FETCH_VERSION)
    check(answer.error_code, f"topic {', '.join(by_topic(positions))} cannot be read")
    return {data.partition_index: data for topic in answer.responses for data in topic.partitions}


def _record_json(partition: int, record: Record) -> dict[str, Json]:
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
    """Return the codec of this name, such as `gzip`. Raises OperationError for an unknown name."""
    try:
        return Codec[name.upper()]
    except KeyError:
        names = ", ".join(codec.name.lower() for codec in Codec)
        raise OperationError("misuse", f"no compression {name}: {names}") from None


def _by_partition(
    topic: str, records: Sequence[Mapping[str, Json]], partitions: int
) -> dict[int, list[int]]:
    """Return, by partition, the indexes of the records that go there. Raises OperationError for a
    partition that does not exist."""
    placed: dict[int, list[int]] = {}
    partitioner = Partitioner(partitions, 0)
    for at, record in enumerate(records):
        partition, key = record.get("partition"), record.get("key")
        if partition is None:
            partition = partitioner.of_batch() if key is None else partitioner.of_key(key)
        elif not 0 <= partition < partitions:
            raise OperationError(
                "failed", f"topic {topic} has no partition {partition}: it has {partitions}"
            )
        placed.setdefault(partition, []).append(at)
    return placed


async def _produce(
    world: OperationWorld, place: Partition, batch: bytearray, deadline_s: float, can_be_split: bool
) -> tuple[int, int] | None:
    """Write a batch, and return its first offset and its append time (ms, or -1 if the records keep
    theirs) when all replicas in sync have it. Return None if it is too large for the topic and can
    be split."""

    def request_of(_epoch: int) -> ProduceRequest:
        """Return the request with a copy of the batch, and the time that is left as its
        time-out."""
        left_ms = max(int((deadline_s - world.now_s()) * 1000), 1)
        # A copy: the append writes into the batch, even if it fails in the end.
        return produce_request(place, memoryview(bytearray(batch)), ACKS_OF_ALL, left_ms)

    answer = await world.run(
        KnownLeaders().at_leader(
            world.attempts(deadline_s), place, request_of, PRODUCE_VERSION, NOT_WRITTEN
        )
    )
    (response,) = answer.responses[0].partition_responses
    if response.error_code == ErrorCode.MESSAGE_TOO_LARGE and can_be_split:
        return None
    check(
        response.error_code,
        f"this was not written to {place[0]}-{place[1]}",
        response.error_message,
    )
    return response.base_offset, response.log_append_time_ms
