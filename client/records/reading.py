"""Reading partitions from their leaders: the loop behind `ottla consume`.

One Fetch is in flight to each leader while the batches of the last response are decoded; its
response waits in the socket meanwhile. Owns the position in each partition. Batches are yielded
whole, with verified checksums; deleted offsets are skipped and counted. Never commits anything.

Follows KIP-74 (a batch that is larger than the limit is returned all the same), KIP-98 (aborted
transactions are left out by the list in a Fetch response).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import BlockingClient, wait_for_answers
from client.cluster import ClusterClient
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
"""The interval at which a followed topic is checked for new partitions and another topic id."""
SAID_AFTER_S = 2.0
"""The seconds of trouble after which the user is told; a restart or an election takes less."""
LONG_PAUSE_S = 0.5


class Batch(NamedTuple):
    """A batch of a partition, at `pos` of `data`.

    The reader wants the records with offsets from `first` up to, without, `stop`.
    """

    topic: str
    partition: int
    header: RecordBatchHeader
    data: memoryview
    pos: int
    first: int
    stop: int

    @property
    def is_whole(self) -> bool:
        """Whether the reader wants all records of the batch."""
        return self.header.base_offset >= self.first and self.header.last_offset < self.stop

    def unpacked(self) -> bytes:
        """Return the batch's records, decompressed. Raises DecompressionLimit, CorruptBatch."""
        packed = self.data[self.pos + HEADER_SIZE : self.pos + self.header.size_in_bytes]
        if self.header.compression:
            return decompress(self.header.compression, packed, UNPACKED_LIMIT_BYTES)
        return bytes(packed)


@dataclass(slots=True)
class ReadPosition:
    """The next offset to read in a partition, and the offset `stop` before which reading ends.

    `stop` None: reading never ends.
    """

    offset: int
    stop: int | None = None
    deleted: int = 0
    """The number of offsets that were deleted before they were read."""

    @property
    def is_done(self) -> bool:
        """Whether the position has reached its stop; never without a stop."""
        return self.stop is not None and self.offset >= self.stop

    def move(self, offset: int) -> None:
        """Set the next offset to read."""
        self.offset = offset

    def skip_deleted(self, first: int) -> None:
        """Continue at `first`, the log's first offset, and count the offsets before it."""
        self.deleted += first - self.offset
        self.offset = first

    def follow(self) -> None:
        """Remove the stop, so that reading never ends."""
        self.stop = None


@dataclass(frozen=True, slots=True)
class Follow:
    """Options of a reader without an end, which waits for unavailable brokers."""

    say: Callable[[str], None]
    """A function that tells the user, in one line, about trouble after which reading goes on."""
    new_partitions: bool = True
    """Whether partitions added later are read, from their start."""


class Reader:
    """A reader of partitions: `for batch in Reader(cluster, positions, level).batches(): …`."""

    def __init__(
        self,
        cluster: ClusterClient,
        positions: Mapping[Partition, ReadPosition],
        isolation_level: int,
        partition_bytes_max: int = PARTITION_BYTES_MAX,
        follow: Follow | None = None,
        *,
        needs_all_leaders: bool = True,
    ) -> None:
        """Begin at `positions`, which move as batches are yielded.

        A response has at most `partition_bytes_max` bytes of each partition, or one batch that is
        larger. `follow`: read without an end, whatever happens to brokers and topics.
        `needs_all_leaders`: wait until the other partitions of the topics have leaders, too.
        """
        self._cluster = cluster
        self._follow = follow
        self.positions = dict(positions)
        self._needs_all_leaders = needs_all_leaders
        self._isolation_level = isolation_level
        self._partition_bytes_max = partition_bytes_max
        self._leaders: dict[int, list[Partition]] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._looked_at = time.monotonic()
        self._trouble_since: float | None = None
        self._trouble_is_reported = False

    def batches(self, *, wait_ms: int = WAIT_MS) -> Iterator[Batch]:
        """Fetch from all leaders, and yield each batch until all partitions have reached their
        stops.

        If the caller stops earlier, the connections with outstanding responses are closed, so that
        the next reader does not receive them. Raises Refused, StartError, CorruptBatch.
        """
        self._find_leaders()
        try:
            while any(not position.is_done for position in self.positions.values()):
                self._look_for_changes()
                clients = self._ask_all(wait_ms)
                for client in wait_for_answers(list(clients), 1 + wait_ms / 1000):
                    yield from self._batches_from(clients[client], client, wait_ms)
        finally:
            self._cluster.drop_owing()

    # --- requests ---------------------------------------------------------------------------------

    def _find_leaders(self) -> None:
        """Look up the leaders of the partitions that are not done, and store them.

        Adds new partitions if the settings follow them. Raises Leaderless as `led_topics` does, and
        Refused if a topic was created again and the reader does not follow topics.
        """
        unread = [at for at, position in self.positions.items() if not position.is_done]
        topics = self._led_topics(unread) if unread else {}
        self._looked_at = time.monotonic()
        for name, topic in topics.items():
            self._check_identity(name, topic)
            if self._follow is not None and self._follow.new_partitions:
                for partition in topic.partitions:
                    self.positions.setdefault((name, partition.partition_index), ReadPosition(0))
        unread = [at for at, position in self.positions.items() if not position.is_done]
        self._leaders = self._cluster.by_leader(topics, unread)

    def _led_topics(self, partitions: Sequence[Partition]) -> dict[str, MetadataResponseTopic]:
        """Return the metadata of the partitions' topics. Raises Leaderless, Refused, StartError."""
        names = [name for name, _ in partitions]
        return self._cluster.led_topics(names, None if self._needs_all_leaders else partitions)

    def _check_identity(self, name: str, topic: MetadataResponseTopic) -> None:
        """Move all positions of a topic to 0 if the topic was deleted and created again: its
        offsets then have other records. Tell the user by `Follow.say`.

        Raises Refused instead if the reader does not follow topics.
        """
        topic_id = self._topic_ids.setdefault(name, topic.topic_id)
        if topic_id == topic.topic_id:
            return
        if self._follow is None:
            raise Refused(f"topic {name} was deleted and made again while it was read")
        self._topic_ids[name] = topic.topic_id
        self._follow.say(f"topic {name} was deleted and made again: it is read from its start")
        for (topic_name, _), position in self.positions.items():
            if topic_name == name:
                position.move(0)

    def _look_for_changes(self) -> None:
        """Look for new partitions and leaders every METADATA_EACH_S, if topics are followed."""
        if self._follow is None or time.monotonic() - self._looked_at < METADATA_EACH_S:
            return
        self._looked_at = time.monotonic()
        with suppress(StartError, Leaderless):  # the next Fetch fails, and `_recover` waits
            self._find_leaders()

    def _ask_all(self, wait_ms: int) -> dict[BlockingClient, int]:
        """Send a Fetch to each leader that has none in flight.

        Returns the ids of all leaders with a Fetch in flight, by connection.
        """
        clients = {}
        for node_id in list(self._leaders):
            try:
                client = self._cluster.node(node_id)
                if client.waiting or self._ask(node_id, client, wait_ms):
                    clients[client] = node_id
            except (OSError, ProtocolError, StartError) as error:
                self._recover(node_id, error)
                return self._ask_all(wait_ms)
        return clients

    def _ask(self, node_id: int, client: BlockingClient, wait_ms: int) -> bool:
        """Send a Fetch to a leader and return True. Return False, without sending, if all of its
        partitions are done."""
        offsets = {
            at: self.positions[at].offset
            for at in self._leaders.get(node_id, ())
            if not self.positions[at].is_done
        }
        if not offsets:
            return False
        request = fetch_request(
            offsets, wait_ms, ANSWER_BYTES_MAX, self._partition_bytes_max, self._isolation_level
        )
        client.send(request, NAMES_VERSION_MAX)
        return True

    def _recover(self, node_id: int, error: Exception | None) -> None:
        """Close the connection to the broker, and look for the leaders again, with pauses, until
        they are found.

        Raises StartError or Leaderless if that fails for too long, unless the topics are followed.
        """
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
        """Sleep before the next look for the leaders. If the topics are followed, tell the user
        once by `Follow.say`, after SAID_AFTER_S.

        After LEADERS_WITHIN_S, raises StartError, unless the topics are followed.
        """
        now = time.monotonic()
        if self._trouble_since is None:
            self._trouble_since = now
        waited_s = now - self._trouble_since
        if self._follow is not None:
            if waited_s > SAID_AFTER_S and not self._trouble_is_reported:
                self._trouble_is_reported = True
                self._follow.say(f"waiting for the cluster: {error or 'no leader'}")
        elif waited_s > LEADERS_WITHIN_S:
            if isinstance(error, StartError):
                raise error
            raise StartError(f"broker {node_id} does not answer ({error})") from error
        time.sleep(PAUSE_S if waited_s < SAID_AFTER_S else LONG_PAUSE_S)

    # --- responses --------------------------------------------------------------------------------

    def _batches_from(self, node_id: int, client: BlockingClient, wait_ms: int) -> Iterator[Batch]:
        """Receive a Fetch response, send the next request, then yield the batches of the response.

        Recovers from lost connections and moved leaders; raises StartError and Leaderless unless it
        follows.
        """
        try:
            answer = client.receive(FetchResponse)
            batches, moved = self._batches_in(answer)
            if not moved:
                self._trouble_since, self._trouble_is_reported = None, False
                self._rotate(node_id, batches)
                self._ask(node_id, client, wait_ms)
        except (OSError, ProtocolError) as error:
            self._recover(node_id, error)
            return
        except (StartError, Leaderless) as error:
            if self._follow is None:
                raise
            self._recover(node_id, error)
            return
        yield from batches
        if moved:
            self._recover(node_id, None)

    def _batches_in(self, answer: FetchResponse) -> tuple[list[Batch], bool]:
        """Return the batches in a response, and whether a partition has another leader now. Moves
        the positions.

        Raises Refused, CorruptBatch, Leaderless, StartError.
        """
        batches: list[Batch] = []
        moved = False
        if answer.error_code:
            raise Refused(f"Fetch: {why(answer.error_code, None, '')}")
        for topic in answer.responses:
            for partition in topic.partitions:
                at = (topic.topic, partition.partition_index)
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._skip_deleted(at)
                elif partition.error_code in LEADER:
                    moved = True
                elif partition.error_code:
                    reason = why(partition.error_code, None, f"Read on topic {topic.topic}")
                    raise Refused(f"{topic.topic}-{partition.partition_index}: {reason}")
                else:
                    batches += self._batches_of(at, partition)
        return batches, moved

    def _batches_of(self, at: Partition, data: PartitionData) -> list[Batch]:
        """Return the visible batches in a partition's answer, and move its position behind them.

        Raises CorruptBatch at a wrong checksum.
        """
        position = self.positions[at]
        view = data.records if isinstance(data.records, memoryview) else memoryview(b"")
        hidden = HiddenBatches(data.aborted_transactions)
        batches = []
        for pos, header in iterate_batches(view, allow_partial_tail=True):
            if position.is_done:
                break
            if header.last_offset < position.offset:
                continue
            if not crc_is_valid(view, pos, header):
                raise CorruptBatch(f"{at[0]}-{at[1]}: the batch at {header.base_offset} is damaged")
            if not hidden.hides(header, view, pos):
                stop = header.next_offset if position.stop is None else position.stop
                batches.append(Batch(*at, header, view, pos, position.offset, stop))
            position.move(header.next_offset)
        limit = data.last_stable_offset if self._isolation_level else data.high_watermark
        if not view and position.stop is not None and position.offset >= limit:
            position.move(position.stop)  # the records up to there were deleted
        return batches

    def _skip_deleted(self, at: Partition) -> None:
        """Move a position to the log's first offset, after OFFSET_OUT_OF_RANGE, and count the
        offsets before it as deleted.

        If the position is after the log's end, a followed partition continues at the end. Raises
        Refused if it is not followed.
        """
        topics = self._led_topics([at])
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

    def _rotate(self, node_id: int, batches: list[Batch]) -> None:
        """Sort the leader's partitions so that those without batches come first in the next Fetch,
        whose response is limited."""
        partitions = self._leaders.get(node_id, [])
        if len(partitions) > 1 and batches:
            delivered = {(batch.topic, batch.partition) for batch in batches}
            partitions.sort(key=delivered.__contains__)
