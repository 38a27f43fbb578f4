"""Reading partitions from their leaders: the loop behind `ottla consume`.

One Fetch is on its way to each leader while what came before is decoded; its answer waits in the
socket meanwhile. Owns where each partition is read next. Batches are given whole, their checksums
looked at; what was deleted meanwhile is passed over and counted. Never commits anything.

Follows KIP-74 (a batch that is larger than asked for comes all the same), KIP-98 (aborted
transactions are left out by the list that a Fetch brings).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import BlockingClient, wait_for_answers
from client.cluster import Cluster
from client.core.fetching import NAMES_VERSION_MAX, HiddenBatches, fetch_request
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST
from client.core.retries import LEADER, LEADERS_WITHIN_S, PAUSE_S
from client.offsets import list_offsets
from client.refusals import Leaderless, Refused, why
from protocol.compression import decompress
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.fetch import FetchResponse, PartitionData
from protocol.messages.metadata import MetadataResponseTopic
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordBatchHeader,
    crc_is_valid,
    iterate_batches,
)
from protocol.records import UNPACKED_LIMIT_BYTES

PARTITION_BYTES_MAX = 4 * 1024 * 1024
ANSWER_BYTES_MAX = 16 * 1024 * 1024
WAIT_MS = 500
METADATA_EACH_S = 30.0
"""How often a topic that is followed is looked at for new partitions and another identity."""
SAID_AFTER_S = 2.0
"""A shorter wait, for a restart or an election, is not reported."""
LONG_PAUSE_S = 0.5


class Batch(NamedTuple):
    """One batch of a partition, at `pos` of `data`; of its records those of `first` up to `stop`
    were asked for."""

    topic: str
    partition: int
    header: RecordBatchHeader
    data: memoryview
    pos: int
    first: int
    stop: int

    @property
    def is_whole(self) -> bool:
        """Whether all of its records were asked for."""
        return self.header.base_offset >= self.first and self.header.last_offset < self.stop

    def unpacked(self) -> bytes:
        """The bytes of its records. Raises DecompressionLimit, CorruptBatch."""
        packed = self.data[self.pos + HEADER_SIZE : self.pos + self.header.size_in_bytes]
        if self.header.compression:
            return decompress(self.header.compression, packed, UNPACKED_LIMIT_BYTES)
        return bytes(packed)


@dataclass(slots=True)
class Position:
    """Where a partition is read next, and before which offset it ends; None: it never does."""

    offset: int
    stop: int | None = None
    deleted: int = 0
    """Offsets that were gone before they were read."""

    @property
    def is_done(self) -> bool:
        return self.stop is not None and self.offset >= self.stop

    def move(self, offset: int) -> None:
        """Go on from there."""
        self.offset = offset

    def skip_deleted(self, first: int) -> None:
        """Go on at the first offset that is left."""
        self.deleted += first - self.offset
        self.offset = first

    def follow(self) -> None:
        """Never end."""
        self.stop = None


@dataclass(frozen=True, slots=True)
class Follow:
    """Options of a reader without an end, which waits for brokers that are away."""

    say: Callable[[str], None]
    """Tells a person what the run goes on after."""
    new_partitions: bool = True
    """Whether partitions that come later are read, from their start."""


class Reader:
    """`for batch in Reader(cluster, positions).batches(): …`."""

    def __init__(
        self,
        cluster: Cluster,
        positions: Mapping[Partition, Position],
        isolation_level: int,
        partition_bytes_max: int = PARTITION_BYTES_MAX,
        follow: Follow | None = None,
    ) -> None:
        """`positions`: of each partition to read; they move as batches are given. An answer brings
        at most `partition_bytes_max` of each, or one batch that is larger. `follow`: go on without
        end, whatever happens to brokers and topics."""
        self._cluster = cluster
        self._follow = follow
        self.positions = dict(positions)
        self._isolation_level = isolation_level
        self._partition_bytes_max = partition_bytes_max
        self._leaders: dict[int, list[Partition]] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._looked_at = time.monotonic()
        self._trouble_since: float | None = None
        self._trouble_is_told = False

    def batches(self, *, wait_ms: int = WAIT_MS) -> Iterator[Batch]:
        """Each batch, until all partitions are at their stops. Raises Refused, StartError.

        Whoever stops before that leaves no answer behind that the next reader would take for its
        own: the connections on which one is owed are closed.
        """
        self._find_leaders()
        try:
            while any(not one.is_done for one in self.positions.values()):
                self._look_for_changes()
                clients = self._ask_all(wait_ms)
                for client in wait_for_answers(list(clients), 1 + wait_ms / 1000):
                    yield from self._answered(clients[client], client, wait_ms)
        finally:
            self._cluster.drop_owing()

    # --- asking -----------------------------------------------------------------------------------

    def _find_leaders(self) -> None:
        open_ones = [at for at, one in self.positions.items() if not one.is_done]
        topics = self._cluster.led_topics([name for name, _ in open_ones]) if open_ones else {}
        self._looked_at = time.monotonic()
        for name, topic in topics.items():
            self._check_identity(name, topic)
            if self._follow is not None and self._follow.new_partitions:
                for partition in topic.partitions:
                    self.positions.setdefault((name, partition.partition_index), Position(0))
        open_ones = [at for at, one in self.positions.items() if not one.is_done]
        self._leaders = self._cluster.by_leader(topics, open_ones)

    def _check_identity(self, name: str, topic: MetadataResponseTopic) -> None:
        """A topic that was deleted and made again has other records at the same offsets. Raises
        Refused if it is not followed, but read up to an end."""
        known = self._topic_ids.setdefault(name, topic.topic_id)
        if known == topic.topic_id:
            return
        if self._follow is None:
            raise Refused(f"topic {name} was deleted and made again while it was read")
        self._topic_ids[name] = topic.topic_id
        self._follow.say(f"topic {name} was deleted and made again: it is read from its start")
        for (topic_name, _), position in self.positions.items():
            if topic_name == name:
                position.move(0)

    def _look_for_changes(self) -> None:
        """Ask once in a while for partitions and leaders, if the topics are followed."""
        if self._follow is None or time.monotonic() - self._looked_at < METADATA_EACH_S:
            return
        self._looked_at = time.monotonic()
        with suppress(StartError, Leaderless):  # a Fetch that fails tells, and is waited for
            self._find_leaders()

    def _ask_all(self, wait_ms: int) -> dict[BlockingClient, int]:
        """Have a Fetch under way to each leader; the connections and whose they are."""
        clients = {}
        for node_id in list(self._leaders):
            try:
                client = self._cluster.node(node_id)
                if client.waiting or self._ask(node_id, client, wait_ms):
                    clients[client] = node_id
            except (OSError, ProtocolError, StartError) as error:
                self._again(node_id, error)
                return self._ask_all(wait_ms)
        return clients

    def _ask(self, node_id: int, client: BlockingClient, wait_ms: int) -> bool:
        """Send a Fetch; False where nothing of this leader is wanted any more."""
        open_ones = {
            at: self.positions[at].offset
            for at in self._leaders.get(node_id, ())
            if not self.positions[at].is_done
        }
        if not open_ones:
            return False
        request = fetch_request(
            open_ones, wait_ms, ANSWER_BYTES_MAX, self._partition_bytes_max, self._isolation_level
        )
        client.send(request, NAMES_VERSION_MAX)
        return True

    def _again(self, node_id: int, error: Exception | None) -> None:
        """Find the leaders anew: a broker died, or a partition moved. Raises after a while, unless
        the topics are followed."""
        self._cluster.drop(node_id)
        while True:
            self._wait(node_id, error)
            try:
                self._find_leaders()
            except (StartError, Leaderless) as trouble:
                if self._follow is None:
                    raise
                error = trouble
            else:
                return

    def _wait(self, node_id: int, error: Exception | None) -> None:
        """Pause before the leaders are looked for again. Raises StartError if that has lasted."""
        now = time.monotonic()
        if self._trouble_since is None:
            self._trouble_since = now
        waited_s = now - self._trouble_since
        if self._follow is not None:
            if waited_s > SAID_AFTER_S and not self._trouble_is_told:
                self._trouble_is_told = True
                self._follow.say(f"waiting for the cluster: {error or 'no leader'}")
        elif waited_s > LEADERS_WITHIN_S:
            if isinstance(error, StartError):
                raise error
            raise StartError(f"broker {node_id} does not answer ({error})") from error
        time.sleep(PAUSE_S if waited_s < SAID_AFTER_S else LONG_PAUSE_S)

    # --- answers ----------------------------------------------------------------------------------

    def _answered(self, node_id: int, client: BlockingClient, wait_ms: int) -> Iterator[Batch]:
        try:
            answer = client.receive(FetchResponse)
            found, moved = self._taken(answer)
            if not moved:
                self._trouble_since, self._trouble_is_told = None, False
                self._rotate(node_id, found)
                self._ask(node_id, client, wait_ms)
        except (OSError, ProtocolError) as error:
            self._again(node_id, error)
            return
        except (StartError, Leaderless) as error:
            if self._follow is None:
                raise
            self._again(node_id, error)
            return
        yield from found
        if moved:
            self._again(node_id, None)

    def _taken(self, answer: FetchResponse) -> tuple[list[Batch], bool]:
        """The batches of an answer, and whether a partition is led by somebody else now."""
        found: list[Batch] = []
        moved = False
        if answer.error_code:
            raise Refused(f"Fetch: {why(answer.error_code, None, '')}")
        for topic in answer.responses:
            for one in topic.partitions:
                at = (topic.topic, one.partition_index)
                if one.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._skip_deleted(at)
                elif one.error_code in LEADER:
                    moved = True
                elif one.error_code:
                    reason = why(one.error_code, None, f"Read on topic {topic.topic}")
                    raise Refused(f"{topic.topic}-{one.partition_index}: {reason}")
                else:
                    found += self._batches_of(at, one)
        return found, moved

    def _batches_of(self, at: Partition, data: PartitionData) -> list[Batch]:
        position = self.positions[at]
        view = data.records if isinstance(data.records, memoryview) else memoryview(b"")
        hidden = HiddenBatches(data.aborted_transactions)
        found = []
        for pos, header in iterate_batches(view, allow_partial_tail=True):
            if position.is_done:
                break
            if header.last_offset < position.offset:
                continue
            if not crc_is_valid(view, pos, header):
                raise CorruptBatch(f"{at[0]}-{at[1]}: the batch at {header.base_offset} is damaged")
            if not hidden.hides(header, view, pos):
                stop = header.next_offset if position.stop is None else position.stop
                found.append(Batch(*at, header, view, pos, position.offset, stop))
            position.move(header.next_offset)
        limit = data.last_stable_offset if self._isolation_level else data.high_watermark
        if not view and position.stop is not None and position.offset >= limit:
            position.move(position.stop)  # what lay there is gone
        return found

    def _skip_deleted(self, at: Partition) -> None:
        """Go on at the first offset that is left. Raises Refused where there is none behind."""
        topics = self._cluster.led_topics([at[0]])
        position = self.positions[at]
        before = position.offset
        self._check_identity(at[0], topics[at[0]])
        if position.offset != before:
            return
        first = list_offsets(self._cluster, topics, {at: EARLIEST})[at]
        if first <= position.offset and self._follow is not None:
            end = list_offsets(self._cluster, topics, {at: LATEST})[at]
            self._follow.say(f"{at[0]}-{at[1]} was cut off at offset {end}: it goes on there")
            position.move(end)
            return
        if first <= position.offset:
            raise Refused(f"{at[0]}-{at[1]}: it ends before offset {position.offset}")
        position.skip_deleted(first)

    def _rotate(self, node_id: int, found: list[Batch]) -> None:
        """Let those that gave nothing be first in the next Fetch: an answer has an end."""
        partitions = self._leaders.get(node_id, [])
        if len(partitions) > 1 and found:
            given = {(one.topic, one.partition) for one in found}
            partitions.sort(key=given.__contains__)
