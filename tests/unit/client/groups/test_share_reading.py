"""A member of a share group: joining, sessions, acknowledgements, errors, the end."""

from __future__ import annotations

from collections import deque

import pytest

from client.groups.share_member import ShareMember
from client.groups.share_reading import ShareReader
from client.refusals import Refused
from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge
from protocol.messages.share_acknowledge import (
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from protocol.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.record_batch import CorruptBatch
from tests.unit.client.groups.share_answers import TOPIC_ID
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import ScriptedCluster, topic_of


class Group:
    """A cluster whose coordinator gives partition 0 to the member, and whose leader answers with
    `fetches`, one after another."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.said: list[str] = []
        self.beats = deque([beat(), beat([0])])
        self.fetches: deque[ShareFetchResponse] = deque()
        self.acknowledged = ShareAcknowledgeResponse()
        self.cluster = ScriptedCluster([topic_of("t", [1], topic_id=TOPIC_ID)])
        self.cluster.answers = {
            "ShareGroupHeartbeatRequest": lambda _: (
                self.beats.popleft() if len(self.beats) > 1 else self.beats[0]
            ),
            "ShareFetchRequest": lambda _: self.fetches.popleft(),
            "ShareAcknowledgeRequest": lambda _: self.acknowledged,
        }
        self.member = ShareMember(self.cluster, "g", ["t"], "me", lambda: self.now_s)
        topics = self.cluster.topics(["t"])
        self.reader = ShareReader(self.cluster, self.member, topics, self.said.append, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def read(self, rounds: int, most: int | None = None) -> list[tuple[int, int]]:
        """The first offset and the end of each batch in some rounds, all accepted."""
        batches = self.reader.batches(lambda: most)
        found = []
        for batch in batches:
            if batch is not None:
                found.append((batch.first, batch.stop))
                self.reader.accept(batch, batch.stop)
                continue
            rounds -= 1
            if rounds == 0:
                break
        return found

    def epochs(self, name: str) -> list[int]:
        return [one.share_session_epoch for one in self.cluster.asked_for(name)]

    def accepted(self) -> list[list[tuple[int, int]]]:
        """The ranges of each acknowledgement."""
        return [
            [
                (batch.first_offset, batch.last_offset)
                for topic in request.topics
                for partition in topic.partitions
                for batch in partition.acknowledgement_batches
            ]
            for request in self.cluster.asked_for("ShareAcknowledgeRequest")
        ]


@pytest.fixture
def group() -> Group:
    return Group()


def beat(partitions: list[int] | None = None, code: int = 0) -> ShareGroupHeartbeatResponse:
    """An answer to a heartbeat, at epoch 2; with partitions an assignment."""
    own = None if partitions is None else Assignment([TopicPartitions(TOPIC_ID, partitions)])
    return ShareGroupHeartbeatResponse(
        error_code=code, member_epoch=2, heartbeat_interval_ms=5000, assignment=own
    )


def fetched(
    *ranges: tuple[int, int], start: int = 0, count: int = 4, code: int = 0, top: int = 0
) -> ShareFetchResponse:
    """An answer to ShareFetch: a batch of `count` records from `start` on, with these acquired."""
    records = packed([b"%d" % one for one in range(count)], start) if count else b""
    acquired = [AcquiredRecords(first, last, 1) for first, last in ranges]
    partition = PartitionData(0, code, records=memoryview(records), acquired_records=acquired)
    topics = [ShareFetchableTopicResponse(TOPIC_ID, [partition])]
    return ShareFetchResponse(error_code=top, responses=topics)


NOTHING = ShareFetchResponse()


def test_the_life_of_a_session(group: Group) -> None:
    group.fetches += [fetched((1, 2)), fetched((4, 5), (7, 7), start=4), NOTHING]
    batches = group.reader.batches(lambda: None)
    assert next(batches) is None  # joined, and no partitions yet
    group.now_s = 1.0
    batch = next(batches)
    assert batch is not None and (batch.first, batch.stop) == (1, 3)
    group.reader.accept(batch, batch.stop)
    assert group.accepted() == []
    batch = next(batches)
    assert batch is not None and (batch.first, batch.stop) == (4, 6)
    assert group.accepted() == [[(1, 2)]]
    group.reader.accept(batch, 5)  # the user has stopped within the batch
    group.reader.close()
    assert group.accepted() == [[(1, 2)], [(4, 4)]]
    assert group.epochs("ShareFetchRequest") == [0, 2]
    assert group.epochs("ShareAcknowledgeRequest") == [1, -1]
    first, second = group.cluster.asked_for("ShareFetchRequest")
    assert [part.partition_index for part in first.topics[0].partitions] == [0]
    assert second.topics == []
    heartbeats = group.cluster.asked_for("ShareGroupHeartbeatRequest")
    assert [one.member_epoch for one in heartbeats] == [0, 2, -1]
    assert [one.subscribed_topic_names for one in heartbeats] == [["t"], None, None]


def test_offsets_without_records_are_accepted_but_none_beyond_the_bytes(group: Group) -> None:
    group.fetches += [fetched((0, 1), (2, 9)), NOTHING, NOTHING]
    group.beats = deque([beat([0])])
    assert group.read(rounds=1) == [(0, 2), (2, 4)]
    assert group.accepted() == [[(0, 1), (2, 3)]]


def test_a_limit_is_asked_for_and_a_damaged_batch_is_not_accepted(group: Group) -> None:
    group.beats = deque([beat([0])])
    damaged = fetched((0, 3))
    data = bytearray(damaged.responses[0].partitions[0].records)
    data[-1] ^= 1
    damaged.responses[0].partitions[0].records = memoryview(bytes(data))
    group.fetches.append(damaged)
    with pytest.raises(CorruptBatch, match="t-0: the batch at 0 is damaged"):
        group.read(rounds=1, most=3)
    (request,) = group.cluster.asked_for("ShareFetchRequest")
    assert (request.max_records, request.share_acquire_mode) == (3, 1)
    group.reader.close()
    assert group.accepted() == [[]]


@pytest.mark.parametrize(
    "trouble",
    [
        fetched(top=ErrorCode.SHARE_SESSION_NOT_FOUND),
        fetched(count=0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
        fetched(count=0, code=ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_session_that_is_lost_is_opened_again(group: Group, trouble: ShareFetchResponse) -> None:
    group.beats = deque([beat([0])])
    group.fetches += [trouble, fetched((0, 3)), NOTHING]
    assert group.read(rounds=2) == [(0, 4)]
    assert group.epochs("ShareFetchRequest") == [0, 0, 2]


def test_records_whose_lock_has_expired_are_mentioned(group: Group) -> None:
    group.beats = deque([beat([0])])
    partition = share_acknowledge.PartitionData(0, ErrorCode.INVALID_RECORD_STATE)
    topics = [ShareAcknowledgeTopicResponse(TOPIC_ID, [partition])]
    group.acknowledged = ShareAcknowledgeResponse(responses=topics)
    group.fetches += [fetched((0, 3)), NOTHING]
    group.read(rounds=1)
    assert group.said == [
        "some printed records were not accepted, and may come again (INVALID_RECORD_STATE)"
    ]


def test_a_member_that_was_removed_joins_again(group: Group) -> None:
    group.beats = deque([beat([0]), beat(code=ErrorCode.UNKNOWN_MEMBER_ID), beat([0])])
    group.fetches += [NOTHING] * 3
    batches = group.reader.batches(lambda: None)
    for _ in range(3):
        group.now_s += 6.0
        assert next(batches) is None
    heartbeats = group.cluster.asked_for("ShareGroupHeartbeatRequest")
    assert [one.member_epoch for one in heartbeats][:3] == [0, 2, 0]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, "it has another type"),
        (ErrorCode.UNSUPPORTED_VERSION, "share groups are switched off in this cluster"),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, "as many members as group.share.max.size"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Read on group g"),
    ],
)
def test_a_group_that_does_not_take_the_member(group: Group, code: int, reason: str) -> None:
    group.beats = deque([beat(code=code)])
    with pytest.raises(Refused, match=reason):
        group.read(rounds=1)
    group.reader.close()
    assert len(group.cluster.asked_for("ShareGroupHeartbeatRequest")) == 1


def test_a_fetch_that_is_refused(group: Group) -> None:
    group.beats = deque([beat([0])])
    group.fetches.append(fetched(top=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(Refused, match="Read on group g and on its topics"):
        group.read(rounds=1)
