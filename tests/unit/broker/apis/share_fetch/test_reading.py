"""What a ShareFetch reads of a log, and what keeps its records with the group."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.share_fetch.reading import rotated
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.requests.admission import Admission
from broker.share.sessions import TopicIdPartition
from controller.authorization.rights import Rights
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.record_batch import patch_base_offset_and_epoch
from tests.clients.share_talk import ACCEPT, GAP, RELEASE
from tests.unit.broker.apis.share_fetch.share_fixture import ShareLeader
from tests.unit.controller.rights_fixture import ALICE, ListJudge, on_topic

READ = Operation.READ
GROUP = {(READ, Resource.GROUP, "g")}


class Leader(ShareLeader):
    """A leader with transactions."""

    def transaction(self, producer_id: int, sequence: int, records: int = 1) -> None:
        """Append a batch of a transaction, which stays open."""
        batch = self.replicas.batch(
            *[b"v"] * records,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        partition = self.replicas.partition("t")
        info = partition.append_as_leader(batch, 1, self.scheduler.wall_ms())
        assert not isinstance(info, ErrorCode) and not info.error
        partition.changed()

    def end(self, producer_id: int, *, commit: bool) -> None:
        """Append the marker of a producer's transaction."""
        marker = TransactionMarkerRequest(producer_id, 0, 0, commit)
        partition = self.replicas.partition("t")
        info = partition.append_end_txn_marker(marker, self.scheduler.wall_ms())
        assert not isinstance(info, ErrorCode) and not info.error
        partition.changed()

    def states(self) -> list[str]:
        """Return the records in flight of the only share-partition, and its start offset."""
        (key,) = self.manager.partitions.keys()
        ready = self.manager.partitions.ready(key)
        assert ready is not None
        return [
            f"start {ready.partition.start_offset}",
            *(f"{run.first}-{run.last} {run.state.name}" for run in ready.partition.runs()),
        ]


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(tmp_path, partitions=2)


# --- where a group begins -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reset", "answers"),
    [
        ("latest", ["m: 0", "m: 0 3-3 of 3-3"]),
        ("earliest", ["m: 0 0-2 of 0-0,1-1,2-2", "m: 0 3-3 of 3-3"]),
        ("by_duration:PT45S", ["m: 0 1-2 of 1-1,2-2", "m: 0 3-3 of 3-3"]),
        ("by_duration:P9999999D", ["m: 0 0-2 of 0-0,1-1,2-2", "m: 0 3-3 of 3-3"]),
        ("by_duration:PT1S", ["m: 0 OFFSET_NOT_AVAILABLE", "m: 0 3-3 of 3-3"]),
    ],
)
def test_a_new_group_begins_by_its_config(leader: Leader, reset: str, answers: list[str]) -> None:
    leader.configure(**{"share.auto.offset.reset": reset})
    for _ in range(3):
        leader.append(1)
        leader.scheduler.run_for(20_000)
    leader.fetch("m", 0, max_wait_ms=0)
    leader.append(1)
    leader.fetch("m", 1)
    assert leader.told() == answers


def test_a_new_leader_may_not_know_yet_where_a_group_begins(leader: Leader) -> None:
    leader.replicas.create("u", replicas=[1, 2], isr=[1, 2])
    leader.replicas.append("u", b"a")
    leader.replicas.move_leader("u", 2)
    leader.replicas.move_leader("u", 1)
    leader.configure(**{"share.auto.offset.reset": "latest"})
    leader.fetch("m", 0, topic="u", max_wait_ms=0)
    assert leader.told() == ["m: 0 OFFSET_NOT_AVAILABLE"]


def test_records_above_the_high_watermark_stay(leader: Leader) -> None:
    leader.replicas.create("u", replicas=[1, 2], isr=[1, 2])
    leader.replicas.append("u", b"a")
    leader.fetch("m", 0, topic="u", max_wait_ms=0)
    assert leader.told() == ["m: 0"]


# --- the log changes ------------------------------------------------------------------------------


def test_the_group_follows_the_start_of_the_log(leader: Leader) -> None:
    leader.append(4, 4, 4)
    leader.fetch("m", 0, max_records=1)
    leader.acknowledge("m", 1, (0, 3, RELEASE))
    leader.replicas.partition("t").delete_records(6)
    leader.fetch("m", 2)
    leader.fetch("m", 3)
    assert leader.told() == ["m: 0 0-3 of 0-3", "m: 0", "m: nothing", "m: 0 6-11 of 4-7,8-11"]


def test_a_waiting_fetch_sees_that_the_log_starts_later(leader: Leader) -> None:
    leader.append(1)
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 0, ACCEPT))
    leader.fetch("m", 2)
    leader.append(4)
    assert leader.told() == ["m: 0 0-0 of 0-0", "m: 0", "m: 0 1-4 of 1-4"]
    leader.fetch("m", 3)
    partition = leader.replicas.partition("t")
    partition.log.increment_log_start_offset(5)
    partition.changed()
    assert leader.told() == []
    leader.append(1)
    assert leader.told() == ["m: 0 5-5 of 5-5"]


def test_an_offset_behind_the_end_of_the_log_is_waited_for(leader: Leader) -> None:
    """After an unclean election the log may end before the group's start."""
    leader.append(4)
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 3, ACCEPT))
    log = leader.replicas.partition("t").log
    log.truncate_to(0)
    leader.fetch("m", 2)
    assert len(leader.told()) == 2
    leader.scheduler.run_for(500)
    assert leader.told() == ["m: nothing"]


def test_offsets_that_compaction_removed_are_acquired_with_their_neighbours(
    leader: Leader,
) -> None:
    """The client acknowledges them as gaps, as with Kafka."""
    leader.append(4)
    partition = leader.replicas.partition("t")
    later = bytearray(leader.replicas.batch(*[b"v"] * 4))
    patch_base_offset_and_epoch(later, 0, 10, 0)
    partition.log.append_as_follower(memoryview(later), 0)
    partition.log.update_high_watermark(14)
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 3, RELEASE), (4, 9, GAP), (10, 13, RELEASE))
    leader.fetch("m", 2)
    assert leader.told() == [
        "m: 0 0-13 of 0-3,10-13",
        "m: 0",
        "m: 0 0-3x2 10-13x2 of 0-3,10-13",
    ]


def test_a_damaged_log_is_an_error_of_the_partition(leader: Leader) -> None:
    leader.append(4, 4)
    leader.append(1, index=1)
    (segment,) = leader.replicas.partition("t").log.segments
    size = segment.size // 2
    Path(segment.path(".log")).write_bytes(b"\0" * 2 * size)
    leader.fetch("m", 0, [0, 1])
    assert leader.told() == ["m: 0 CORRUPT_MESSAGE; 1 0-0 of 0-0"]


# --- transactions ---------------------------------------------------------------------------------


def test_a_group_reads_uncommitted_records_by_default(leader: Leader) -> None:
    leader.transaction(1, 0, records=2)
    leader.fetch("m", 0)
    leader.end(1, commit=False)
    leader.fetch("m", 1)
    assert leader.told() == ["m: 0 0-1 of 0-1", "m: 0 2-2 of 2-2"]


def test_a_group_may_skip_aborted_transactions(leader: Leader) -> None:
    leader.configure(**{"share.isolation.level": "read_committed"})
    leader.append(2)
    leader.transaction(1, 0, records=2)
    leader.append(1)
    leader.fetch("m", 0)
    assert leader.told() == ["m: 0 0-1 of 0-1"], "up to the last stable offset"
    leader.fetch("m", 1)
    assert leader.told() == []
    leader.end(1, commit=False)
    assert leader.told() == ["m: 0 4-5 of 4-4,5-5"]
    assert leader.states() == ["start 0", "0-1 ACQUIRED", "2-3 ARCHIVED", "4-5 ACQUIRED"]
    leader.acknowledge("m", 2, (0, 1, ACCEPT), (4, 5, ACCEPT))
    assert leader.states() == ["start 6"]


def test_aborted_records_alone_do_not_hold_the_window(leader: Leader) -> None:
    leader.configure(**{"share.isolation.level": "read_committed"})
    leader.transaction(1, 0, records=3)
    leader.end(1, commit=False)
    leader.transaction(1, 3)
    leader.end(1, commit=True)
    leader.fetch("m", 0)
    assert leader.told() == ["m: 0 3-5 of 3-3,4-4,5-5"]
    assert leader.states()[0] == "start 3"


# --- rights ---------------------------------------------------------------------------------------


class Judged:
    """A leader whose client may do what is on a list."""

    def __init__(self, folder: Path, *topics: str) -> None:
        self.judge = ListJudge(GROUP | on_topic(READ, *topics))
        self.epochs = Admission()
        rights = Rights(self.judge, ALICE, None, self.epochs)
        self.leader = Leader(folder, rights=rights)

    def may_do(self, allowed: set[tuple[Operation, Resource, str]]) -> None:
        """From now on the client may do just this."""
        self.judge.allowed = allowed
        self.epochs.changed()


def test_a_member_must_be_allowed_to_read_group_and_topic(tmp_path: Path) -> None:
    judged = Judged(tmp_path, "t")
    leader = judged.leader
    leader.append(2)
    judged.may_do(on_topic(READ, "t"))
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 0, ACCEPT))
    judged.may_do(GROUP)
    leader.fetch("m", 0, max_wait_ms=0)
    leader.fetch("m", 1, acks={0: [(0, 0, ACCEPT)]})
    leader.acknowledge("m", 2, (0, 0, ACCEPT))
    judged.may_do(GROUP | on_topic(READ, "t"))
    leader.fetch("m", 3)
    assert leader.told() == [
        "m: GROUP_AUTHORIZATION_FAILED",
        "m: GROUP_AUTHORIZATION_FAILED",
        "m: 0 TOPIC_AUTHORIZATION_FAILED",
        "m: 0 TOPIC_AUTHORIZATION_FAILED not acknowledged: TOPIC_AUTHORIZATION_FAILED",
        "m: 0 TOPIC_AUTHORIZATION_FAILED",
        "m: 0 0-1 of 0-1",
    ]


def test_rights_that_are_lost_during_a_wait_count(tmp_path: Path) -> None:
    judged = Judged(tmp_path, "t")
    leader = judged.leader
    leader.fetch("m", 0)
    judged.may_do(GROUP)
    leader.append(1)
    judged.may_do(GROUP | on_topic(READ, "t"))
    leader.fetch("m", 1)
    leader.fetch("m", 2)
    judged.may_do(on_topic(READ, "t"))
    leader.append(1)
    assert leader.told() == [
        "m: 0 TOPIC_AUTHORIZATION_FAILED",
        "m: 0 0-0 of 0-0",
        "m: GROUP_AUTHORIZATION_FAILED",
    ]


# --- quotas ---------------------------------------------------------------------------------------


class Quota:
    """The quota of a client (`RequestQuota`): the bytes that it may have, and those counted."""

    def __init__(self, most: float, wait_ms: int = 0) -> None:
        self.most = most
        self.wait_ms = wait_ms
        self.counted: list[int] = []

    def exempt(self) -> None: ...

    def most_fetched(self) -> float:
        return self.most

    def fetched(self, size: int) -> int:
        self.counted.append(size)
        return self.wait_ms

    def take_partitions(self, count: int) -> bool:
        return True

    def answered(self, response: Message | None) -> int:
        return 0

    def handled(self) -> None: ...


def test_a_client_over_its_quota_acquires_nothing(leader: Leader) -> None:
    leader.append(2)
    leader.append(2, index=1)
    leader.fetch("m", 0, max_records=1)
    leader.quota = quota = Quota(1e9, wait_ms=100)
    leader.fetch("m", 1, [1], acks={0: [(0, 1, ACCEPT)]})
    assert leader.told() == ["m: 0 0-1 of 0-1", "m: 0; 1"]
    leader.quota = None
    leader.fetch("m", 2, max_wait_ms=0)
    assert leader.told() == ["m: 1 0-1 of 0-1"], "the first delivery still"
    assert len(quota.counted) == 1 and quota.counted[0] > 70


def test_records_that_a_throttled_client_does_not_get_wake_another(leader: Leader) -> None:
    leader.append(2)
    leader.fetch("a", 0)
    leader.fetch("b", 0)
    leader.quota = Quota(1e9, wait_ms=100)
    leader.fetch("c", 0)
    leader.quota = None
    leader.manager.connection_closed("a")
    assert leader.told() == ["a: 0 0-1 of 0-1", "b: 0 0-1x2 of 0-1"]
    leader.manager.connection_closed("b")
    assert leader.told() == ["c: nothing"]
    leader.fetch("a", 0)
    assert leader.told() == ["a: 0 0-1x3 of 0-1"]


def test_a_fetch_has_no_more_bytes_than_its_quota_allows_at_once(leader: Leader) -> None:
    leader.append(*[1] * 10)
    leader.quota = Quota(150)
    leader.fetch("m", 0)
    assert leader.told() == ["m: 0 0-1 of 0-0,1-1"]


def test_a_rotation() -> None:
    partitions = [TopicIdPartition(b"t" * 16, index) for index in range(3)]
    rotations = [[index for _, index in rotated(partitions, epoch)] for epoch in (-1, 0, 1, 2, 3)]
    assert rotations == [[0, 1, 2], [0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
    assert rotated([], 1) == []
