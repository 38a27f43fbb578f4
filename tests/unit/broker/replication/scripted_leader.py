"""A leader that a test answers for: what a fetcher asked, and the answers to give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from broker.replication.fetcher_settings import FetcherSettings
from broker.replication.partition import Partition
from broker.replication.replica_fetcher import ReplicaFetcher
from broker.requests.tracer import Tracer
from ground.ports import ChannelFailure
from protocol.errors import ErrorCode
from protocol.frames.message_codec import answer_to
from protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.record_batch import patch_base_offset_and_epoch
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.replication.on_the_wire import answer_as_read, as_read

ME = 1
LEADER = 2
SESSION_ID = 77


def as_fetch(request: Any) -> FetchRequest:
    """A Fetch as its frame has it."""
    fetch = as_read(request, FetchRequest.MAX_VERSION)
    assert isinstance(fetch, FetchRequest)
    return fetch


def settings_for(
    is_throttled: Callable[[Partition], bool] = lambda _: False,
    count_bytes: Callable[[Partition, int], None] = lambda *_: None,
    truncated: Callable[[], None] = lambda: None,
    wait_max_ms: int = 500,
    refused_by: Callable[[int, str], None] = lambda *_: None,
) -> FetcherSettings:
    limits = (1 << 20, 1, 10 << 20, wait_max_ms, 1000, 30_000)
    return FetcherSettings(ME, *limits, lambda: 9, is_throttled, count_bytes, refused_by, truncated)


class ScriptedLeader:
    """The channel to a leader: one request waits at a time, until the test answers it."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.waiting: Callable[[Any, ChannelFailure | None], None] | None = None
        self.closed = 0

    def send(
        self,
        request: Any,
        done: Callable[[Any, ChannelFailure | None], None],
        timeout_ms: float,
        version: int | None = None,
    ) -> None:
        assert self.waiting is None, "one request at a time"
        self.requests.append(request)
        self.waiting = done

    def close(self) -> None:
        self.closed += 1
        self.fail(ChannelFailure.LOST)

    def answer(self, response: Any) -> None:
        """Answer the request that waits: as it is read from the wire."""
        done, self.waiting = self.waiting, None
        assert done is not None, "nothing was asked"
        request = self.requests[-1]
        done(answer_as_read(answer_to(request), response, request.MAX_VERSION), None)

    def fail(self, failure: ChannelFailure) -> None:
        """Lose the request that waits, if any."""
        done, self.waiting = self.waiting, None
        if done is not None:
            done(None, failure)

    @property
    def fetch(self) -> FetchRequest:
        """The last request, a Fetch: as it is read from the wire."""
        return as_fetch(self.requests[-1])

    @property
    def list_offsets(self) -> ListOffsetsRequest:
        """The last request, a ListOffsets."""
        assert isinstance(self.requests[-1], ListOffsetsRequest)
        return self.requests[-1]

    def asked(self) -> dict[tuple[str, int], tuple[int, int, int, int]]:
        """What the last Fetch says of each partition (`Position`)."""
        return {
            (topic.topic_id.rstrip(b"_").decode(), one.partition): (
                one.current_leader_epoch,
                one.fetch_offset,
                one.log_start_offset,
                one.last_fetched_epoch,
            )
            for topic in self.fetch.topics
            for one in topic.partitions
        }

    def forgotten(self) -> list[tuple[str, int]]:
        """What the last Fetch wants no more."""
        return [
            (topic.topic_id.rstrip(b"_").decode(), index)
            for topic in self.fetch.forgotten_topics_data
            for index in topic.partitions
        ]

    def give(self, *partitions: tuple[str, PartitionData], session_id: int = SESSION_ID) -> None:
        """Answer a Fetch."""
        self.answer(
            FetchResponse(
                session_id=session_id,
                responses=[
                    FetchableTopicResponse("", topic_id_of(topic), [data])
                    for topic, data in partitions
                ],
            )
        )

    def give_offset(self, topic: str, offset: int, error: ErrorCode = ErrorCode.NONE) -> None:
        """Answer a ListOffsets of one partition."""
        one = ListOffsetsPartitionResponse(0, int(error), -1, offset, 0)
        self.answer(ListOffsetsResponse(0, [ListOffsetsTopicResponse(topic, [one])]))


class Follower:
    """Broker 1, which follows broker 2, and its fetcher."""

    def __init__(self, folder: str, wait_max_ms: int = 500, tracer: Tracer | None = None) -> None:
        self.replicas = Replicas(folder)
        self.scheduler = self.replicas.scheduler
        self.leader = ScriptedLeader()
        self.throttled = False
        self.counted: list[int] = []
        self.refusals: list[tuple[int, str]] = []
        settings = settings_for(
            lambda _: self.throttled,
            lambda _, size: self.counted.append(size),
            self.replicas.logs.checkpoint_soon,
            wait_max_ms,
            lambda *refusal: self.refusals.append(refusal),
        )
        settings = replace(settings, tracer=tracer)
        self.fetcher = ReplicaFetcher("f", LEADER, lambda: self.leader, self.scheduler, settings)

    def follow(self, *topics: str) -> Partition:
        """Make topics that broker 2 leads and follow them, in one go; the first partition."""
        made = [self.replicas.create(one, replicas=[ME, LEADER], leader=LEADER) for one in topics]
        for partition in made:
            self.fetcher.add(partition)
        self.run()
        return made[0]

    def run(self, duration_ms: float = 0) -> None:
        """Let time pass."""
        self.scheduler.run_for(duration_ms)

    def fill(self, partition: Partition, *epochs: int) -> None:
        """Put one record of each epoch into its log."""
        for epoch in epochs:
            info = partition.log.append_as_follower(
                records(partition.log.log_end_offset, epoch), max(epoch, partition.leader_epoch)
            )
            assert not info.error, info


def records(offset: int, epoch: int, count: int = 1, value: bytes = b"v") -> memoryview:
    """A batch as a leader of `epoch` has it at `offset`."""
    batch = bytearray(build_batch([Record(-1, 1_700_000_000_000, None, value)] * count))
    patch_base_offset_and_epoch(memoryview(batch), 0, offset, epoch)
    return memoryview(batch)


def data(
    batches: memoryview | bytes = b"",
    high_watermark: int = 0,
    *,
    error: ErrorCode = ErrorCode.NONE,
    log_start: int = 0,
    diverging: tuple[int, int] | None = None,
) -> PartitionData:
    """A partition's part of a Fetch response."""
    given = PartitionData(0, int(error), high_watermark, -1, log_start, records=batches)
    if diverging is not None:
        given.diverging_epoch = EpochEndOffset(*diverging)
    return given
