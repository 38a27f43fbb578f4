"""The records of a share group: acquired for a member, and accepted after they were handled.

The loop behind `ottla consume --share-group`. Fetches from one leader at a time, and acknowledges
what was handled before the next fetch. `close` releases all other records at once. Owns the share
sessions, no connection and no clock. Follows KIP-932 (ShareFetch, ShareAcknowledge).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.fetching import bytes_of
from client.core.leaders import Partition
from client.core.retries import LEADER, PAUSE_S
from client.groups.share_member import ShareMember
from client.records.reading import Batch
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge
from protocol.messages.metadata import MetadataResponseTopic
from protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from protocol.messages.share_fetch import (
    AcquiredRecords,
    FetchPartition,
    FetchTopic,
    PartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.record_batch import (
    CorruptBatch,
    RecordBatchHeader,
    crc_is_valid,
    iterate_batches,
)

WAIT_MS = 500
BYTES_MAX = 16 * 1024 * 1024
RECORDS_MAX = 500
_ACCEPT = 1
_AT_MOST_MAX_RECORDS = 1
"""The mode of ShareFetch in which MaxRecords is a strict limit (KIP-1206)."""
_CLOSE = -1
_NO_SESSION = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)
_NOT_YET = (*LEADER, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_SERVER_ERROR)
"""The errors of a partition after which to fetch again: its leader moved, or does not know the
group yet, for which Kafka answers UNKNOWN_SERVER_ERROR."""

Range = tuple[int, int]
"""The first and the last offset of records."""


@dataclass(slots=True)
class _Session:
    """A share session at a broker: the epoch of the next request, and its partitions."""

    partitions: list[Partition]
    epoch: int = 0


class ShareReader:
    """The records that a member of a share group acquires.

    `for batch in reader.batches(): …; reader.accept(batch, end)`
    """

    def __init__(
        self,
        cluster: ClusterClient,
        member: ShareMember,
        topics: Mapping[str, MetadataResponseTopic],
        say: Callable[[str], None],
        sleep: Callable[[float], None],
    ) -> None:
        """Begin without sessions. `topics`: their metadata. `say` tells the user, in one line, if
        records are delivered again although they were handled. `sleep` waits for seconds."""
        self._cluster = cluster
        self._member = member
        self._topics = topics
        self._say = say
        self._sleep = sleep
        self._sessions: dict[int, _Session] = {}
        self._accepted: dict[Partition, list[Range]] = {}
        """The handled records that are not acknowledged yet; all are of one broker."""
        self._next = 0
        """The first offset of the acquired range that is not accepted."""

    @property
    def is_assigned(self) -> bool:
        """Whether the member has partitions."""
        return bool(self._member.assignment)

    def batches(self, most: Callable[[], int | None]) -> Iterator[Batch | None]:
        """Yield batches with acquired records, and None after each round of fetches without any.

        `most` returns the most records to acquire, None for no limit. Raises Refused, StartError,
        CorruptBatch.
        """
        while True:
            self._member.beat()
            leaders = self._cluster.by_leader(self._topics, self._partitions())
            has_records = False
            for node_id, partitions in leaders.items():
                for batch in self._fetched(node_id, partitions, most()):
                    has_records = True
                    yield batch
                self._acknowledge(node_id)
                self._member.beat()
            if not has_records:
                if not leaders:
                    self._sleep(PAUSE_S)
                yield None

    def accept(self, batch: Batch, end: int) -> None:
        """Accept the acquired records of a yielded batch up to, without, the offset `end`."""
        self._accept((batch.topic, batch.partition), end - 1)

    def close(self) -> None:
        """Acknowledge the accepted records, release all others, and leave the group.

        If a broker does not answer, its locks expire instead.
        """
        for node_id in list(self._sessions):
            with suppress(StartError, Refused):
                self._acknowledge(node_id, is_last=True)
        with suppress(StartError, Refused):
            self._member.leave()

    # --- fetching ---------------------------------------------------------------------------------

    def _partitions(self) -> list[Partition]:
        """Return the assigned partitions of topics that are known by their id, sorted."""
        names_by_id = {topic.topic_id: name for name, topic in self._topics.items()}
        return sorted(
            (names_by_id[topic_id], index)
            for topic_id, indexes in self._member.assignment.items()
            if topic_id in names_by_id
            for index in indexes
        )

    def _fetched(
        self, node_id: int, partitions: list[Partition], most: int | None
    ) -> Iterator[Batch]:
        """Send a ShareFetch, and yield the batches of the response with acquired records."""
        session = self._sessions.get(node_id)
        if session is None or session.partitions != partitions:
            session = self._sessions[node_id] = _Session(partitions)
        request = ShareFetchRequest(
            self._member.group,
            self._member.member_id,
            session.epoch,
            WAIT_MS,
            1,
            BYTES_MAX,
            RECORDS_MAX if most is None else min(most, RECORDS_MAX),
            RECORDS_MAX,
            0 if most is None else _AT_MOST_MAX_RECORDS,
            topics=self._fetch_topics(partitions) if session.epoch == 0 else [],
        )
        answer = self._cluster.call_at(node_id, request, ShareFetchResponse)
        if answer.error_code in _NO_SESSION:
            del self._sessions[node_id]
            return
        self._check(answer.error_code, answer.error_message)
        session.epoch += 1
        names_by_id = {topic.topic_id: name for name, topic in self._topics.items()}
        for topic in answer.responses:
            for partition in topic.partitions:
                at = names_by_id[topic.topic_id], partition.partition_index
                yield from self._acquired(node_id, at, partition)

    def _acquired(self, node_id: int, at: Partition, partition: PartitionData) -> Iterator[Batch]:
        """Yield the batches of a partition with acquired records, and accept what has no records
        for clients: control batches, and offsets that compaction has removed."""
        if partition.error_code in _NOT_YET:
            self._sessions.pop(node_id, None)
            self._topics = self._cluster.topics(list(self._topics))
            self._sleep(PAUSE_S)
            return
        self._check(partition.error_code, partition.error_message)
        data = memoryview(bytes_of(partition.records))
        batches = list(iterate_batches(data, allow_partial_tail=True))
        end = batches[-1][1].next_offset if batches else 0
        for acquired in partition.acquired_records:
            self._next = acquired.first_offset
            for pos, header in batches:
                batch = _batch_of(at, data, pos, header, acquired)
                if batch is not None:
                    yield batch
            self._accept(at, min(acquired.last_offset, end - 1))

    def _fetch_topics(self, partitions: list[Partition]) -> list[FetchTopic]:
        """Return the part of a ShareFetch that names the partitions of a new session."""
        indexes: dict[str, list[FetchPartition]] = {}
        for name, index in partitions:
            indexes.setdefault(name, []).append(FetchPartition(index))
        return [FetchTopic(self._topics[name].topic_id, own) for name, own in indexes.items()]

    def _check(self, code: int, message: str | None) -> None:
        """Raise Refused if the code is an error."""
        if code:
            needs = f"Read on group {self._member.group} and on its topics"
            raise Refused(f"group {self._member.group}: {why(code, message, needs)}")

    # --- acknowledging ----------------------------------------------------------------------------

    def _accept(self, at: Partition, last: int) -> None:
        """Note that the records of the acquired range up to `last` are handled."""
        if last >= self._next:
            self._accepted.setdefault(at, []).append((self._next, last))
            self._next = last + 1

    def _acknowledge(self, node_id: int, *, is_last: bool = False) -> None:
        """Send the acknowledgements of the handled records; with `is_last`, close the session."""
        session = self._sessions.get(node_id)
        accepted = self._accepted if session is not None and session.epoch > 0 else {}
        if session is None or not (accepted or is_last):
            return
        own = {at: ranges for at, ranges in accepted.items() if at in session.partitions}
        for at in own:
            del self._accepted[at]
        request = ShareAcknowledgeRequest(
            self._member.group,
            self._member.member_id,
            _CLOSE if is_last else session.epoch,
            topics=self._acknowledge_topics(own),
        )
        session.epoch += 1
        answer = self._cluster.call_at(node_id, request, ShareAcknowledgeResponse)
        codes = [answer.error_code]
        codes += [part.error_code for topic in answer.responses for part in topic.partitions]
        if own and any(codes):
            reason = ErrorCode(next(filter(None, codes))).name
            self._say(f"some printed records were not accepted, and may come again ({reason})")
        if answer.error_code:
            self._sessions.pop(node_id, None)

    def _acknowledge_topics(
        self, ranges: Mapping[Partition, list[Range]]
    ) -> list[AcknowledgeTopic]:
        """Return the part of a ShareAcknowledge that accepts these records."""
        partitions: dict[str, list[AcknowledgePartition]] = {}
        for (name, index), own in ranges.items():
            batches = [
                share_acknowledge.AcknowledgementBatch(first, last, [_ACCEPT])
                for first, last in own
            ]
            partitions.setdefault(name, []).append(AcknowledgePartition(index, batches))
        return [
            AcknowledgeTopic(self._topics[name].topic_id, own) for name, own in partitions.items()
        ]


def _batch_of(
    at: Partition,
    data: memoryview,
    pos: int,
    header: RecordBatchHeader,
    acquired: AcquiredRecords,
) -> Batch | None:
    """Return the records of the batch at `pos` that are in the acquired range, None if it has none
    for clients. Raises CorruptBatch if the checksum is wrong."""
    first = max(acquired.first_offset, header.base_offset)
    stop = min(acquired.last_offset + 1, header.next_offset)
    if header.is_control or first >= stop:
        return None
    if not crc_is_valid(data, pos, header):
        raise CorruptBatch(f"{at[0]}-{at[1]}: the batch at {header.base_offset} is damaged")
    return Batch(*at, header, data, pos, first, stop)
