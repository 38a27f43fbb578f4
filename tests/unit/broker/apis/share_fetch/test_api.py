"""ShareFetch: sessions, waits, acquisitions, and what an answer names."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import pytest

from broker.apis.share_fetch.reading import ShareFetch
from protocol.messages.metadata_records import RemoveTopicRecord
from tests.clients.share_talk import ACCEPT, GAP, REJECT, RELEASE, RENEW
from tests.unit.broker.apis.share_fetch.share_fixture import ShareLeader
from tests.unit.broker.fake_connection import Connection
from tests.unit.broker.replica_fixture import topic_id_of

RENEWS = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}


@pytest.fixture
def leader(tmp_path: Path) -> ShareLeader:
    return ShareLeader(tmp_path, partitions=3)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_there_is_acquired_at_once(leader: ShareLeader, version: int) -> None:
    leader.version = version
    leader.append(4, 4, 4)
    leader.fetch("m", 0)
    assert leader.told() == ["m: 0 0-11 of 0-3,4-7,8-11"]
    assert leader.answer.acquisition_lock_timeout_ms == 30_000
    assert leader.one().current_leader.leader_id == 0


# --- sessions (share_sessions of the recordings of Apache Kafka) ----------------------------------


def test_a_session_as_kafka_recorded_it(leader: ShareLeader) -> None:
    leader.fetch("m", 1, [0])
    leader.fetch("m", 0, max_wait_ms=0)
    leader.append(4, 4, 4)
    leader.fetch("m", 1)
    leader.fetch("m", 1)
    leader.fetch("m", 3)
    leader.fetch("m", 2, max_wait_ms=0)
    leader.fetch("m", -1)
    leader.fetch("m", 3)
    leader.fetch("m", 0)
    leader.fetch("m", 0, acks={0: [(0, 0, ACCEPT)]})
    leader.acknowledge("m", 0, (0, 0, ACCEPT))
    leader.acknowledge("m", 1, (0, 3, ACCEPT))
    leader.acknowledge("m", -1, (4, 4, ACCEPT))
    leader.fetch("m", 0)
    assert leader.told() == [
        "m: SHARE_SESSION_NOT_FOUND",
        "m: 0",
        "m: 0 0-11 of 0-3,4-7,8-11",
        "m: INVALID_SHARE_SESSION_EPOCH",
        "m: INVALID_SHARE_SESSION_EPOCH",
        "m: nothing",
        "m: nothing",
        "m: SHARE_SESSION_NOT_FOUND",
        "m: 0 0-11x2 of 0-3,4-7,8-11",
        "m: INVALID_REQUEST",
        "m: INVALID_SHARE_SESSION_EPOCH",
        "m: 0",
        "m: 0",
        "m: 0 5-11x3 of 4-7,8-11",
    ]


def test_a_session_is_full_after_a_wait(tmp_path: Path) -> None:
    leader = ShareLeader(tmp_path, **{"group.share.max.share.sessions": "1"})
    leader.append(1)
    leader.fetch("m", 0)
    leader.fetch("n", 0)
    assert leader.told() == ["m: 0 0-0 of 0-0"]
    leader.scheduler.run_for(499)
    assert leader.told() == []
    leader.scheduler.run_for(1)
    leader.fetch("n", 0, max_wait_ms=0)
    assert leader.told() == ["n: SHARE_SESSION_LIMIT_REACHED"] * 2
    leader.fetch("m", 0, max_wait_ms=0)
    assert leader.told() == ["m: 0"], "in place of its own session"


def test_an_answer_names_what_has_something_to_say(leader: ShareLeader) -> None:
    leader.fetch("m", 0, [0, 1, 2], max_wait_ms=0)
    leader.append(1, index=1)
    leader.fetch("m", 1)
    leader.fetch("m", 2, acks={1: [(0, 0, ACCEPT)]}, max_wait_ms=0)
    leader.fetch("m", 3, forgotten=[1], max_wait_ms=0)
    leader.append(1, index=1)
    leader.fetch("m", 4, max_wait_ms=0)
    leader.fetch("m", 5, [1], max_wait_ms=0)
    leader.fetch("m", 6, max_wait_ms=0)
    assert leader.told() == [
        "m: 0; 1; 2",
        "m: 1 0-0 of 0-0",
        "m: 1",
        "m: nothing",
        "m: nothing",
        "m: 1 1-1 of 1-1",
        "m: nothing",
    ]


def test_each_partition_has_its_turn_to_be_first(leader: ShareLeader) -> None:
    """Like Kafka: the order is rotated by the epoch, and what had records goes to the end."""
    for index in range(3):
        leader.append(*[1] * 9, index=index)
    leader.fetch("m", 0, [0, 1, 2], max_records=1)
    for epoch in range(1, 8):
        leader.fetch("m", epoch, max_records=1)
    first = [answer.split(" ")[1] for answer in leader.told()]
    assert first == ["0", "1", "1", "0", "1", "1", "2", "1"]


# --- waits ----------------------------------------------------------------------------------------


def test_a_fetch_waits_for_data(leader: ShareLeader) -> None:
    leader.fetch("m", 0)
    leader.fetch("n", 0)
    assert leader.told() == []
    leader.append(4)
    assert leader.told() == ["m: 0 0-3 of 0-3"]
    leader.scheduler.run_for(500)
    assert leader.told() == ["n: 0"]
    assert len(leader.manager.purgatory) == 0
    assert leader.manager.metrics.expired_fetches == 1


def test_a_fetch_waits_for_min_bytes_over_all_partitions(leader: ShareLeader) -> None:
    leader.fetch("m", 0, [0, 1], min_bytes=150)
    leader.append(1, index=0)
    assert leader.told() == []
    leader.append(1, index=1)
    leader.append(1, index=1)
    assert leader.told() == ["m: 0 0-0 of 0-0; 1 0-1 of 0-0,1-1"]


def test_min_bytes_0_is_enough(leader: ShareLeader) -> None:
    leader.fetch("m", 0, min_bytes=0)
    assert leader.told() == ["m: 0"]


def test_released_records_wake_a_member_that_waits(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("a", 0)
    leader.fetch("b", 0)
    leader.acknowledge("a", 1, (0, 1, ACCEPT), (2, 3, RELEASE))
    assert leader.told() == ["a: 0 0-3 of 0-3", "b: 0 2-3x2 of 0-3", "a: 0"]


def test_expired_locks_wake_a_member_that_waits(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("a", 0)
    leader.scheduler.run_for(29_800)
    leader.fetch("b", 0)
    leader.scheduler.run_for(300)
    assert leader.told() == ["a: 0 0-3 of 0-3", "b: 0 0-3x2 of 0-3"]
    (expired,) = leader.manager.metrics.expired_locks.values()
    assert expired == 4


def test_a_slow_load_is_waited_for(leader: ShareLeader) -> None:
    leader.append(4)
    leader.coordinator.held = []
    leader.fetch("a", 0)
    leader.fetch("b", 0)
    assert leader.told() == [] and len(leader.coordinator.held) == 1
    leader.coordinator.go_on()
    assert leader.told() == ["a: 0 0-3 of 0-3"]


def test_a_stop_answers_those_who_wait(leader: ShareLeader) -> None:
    leader.fetch("m", 0)
    leader.replicas.manager.complete_waiting()
    assert leader.told() == ["m: 0"]


# --- limits ---------------------------------------------------------------------------------------


def test_an_unknown_acquire_mode_matters_only_where_there_is_a_partition(
    leader: ShareLeader,
) -> None:
    leader.fetch("m", 0, [9], share_acquire_mode=7)
    leader.fetch("m", 1, [0], share_acquire_mode=7)
    assert leader.told() == ["m: 9 UNKNOWN_TOPIC_OR_PARTITION", "m: UNKNOWN_SERVER_ERROR"]


def test_acquire_modes_as_kafka_recorded_them(leader: ShareLeader) -> None:
    leader.append(5, 5, 5, 5)
    leader.fetch("m1", 0, max_records=3)
    leader.fetch("m1", 1, max_records=7)
    leader.fetch("m2", 0, max_records=3, share_acquire_mode=1)
    leader.fetch("m1", -1)
    leader.fetch("m2", 1, max_records=7, share_acquire_mode=1)
    leader.fetch("m1", 0, max_records=1)
    leader.fetch("m1", 1, share_acquire_mode=7)
    leader.fetch("m1", 2, max_records=0)
    assert leader.told() == [
        "m1: 0 0-4 of 0-4",
        "m1: 0 5-14 of 5-9,10-14",
        "m2: 0 15-17 of 15-19",
        "m1: nothing",
        "m2: 0 0-4x2 5-6x2 of 0-4,5-9",
        "m1: 0 7-14x2 of 5-9,10-14",
        "m1: UNKNOWN_SERVER_ERROR",
        "m1: nothing",
    ]


def test_a_full_window_as_kafka_recorded_it(leader: ShareLeader) -> None:
    leader.configure(**{"share.partition.max.record.locks": "100"})
    leader.append(40, 40, 40, 40, 40)
    leader.fetch("m", 0, max_records=1_000)
    leader.fetch("m", 1, max_wait_ms=0)
    leader.fetch("m", 2, acks={0: [(0, 39, ACCEPT)]})
    leader.fetch("m", 3, acks={0: [(41, 79, ACCEPT)]}, max_wait_ms=0)
    assert leader.told() == [
        "m: 0 0-119 of 0-39,40-79,80-119",
        "m: nothing",
        "m: 0 120-159 of 120-159",
        "m: 0",
    ]


def test_an_acknowledgement_wakes_as_many_members_as_have_room(
    leader: ShareLeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader.configure(**{"share.partition.max.record.locks": "100"})
    leader.append(*[40] * 10)
    for number in range(3):
        leader.fetch(f"m{number}", 0, max_records=40)
    for number in range(20):
        leader.fetch(f"waits{number}", 0, max_records=40)
    assert len(leader.told()) == 3
    tried: list[str] = []
    is_complete_after = ShareFetch.is_complete_after

    def counted(self: ShareFetch, changed: Hashable) -> bool:
        tried.append(self._session.key.member_id)
        return is_complete_after(self, changed)

    monkeypatch.setattr(ShareFetch, "is_complete_after", counted)
    leader.acknowledge("m0", 1, (0, 39, ACCEPT))
    assert leader.told() == ["waits0: 0 120-159 of 120-159", "m0: 0"]
    assert tried == ["waits0"]


def test_deliveries_are_counted_and_throttled_as_kafka_recorded(leader: ShareLeader) -> None:
    leader.append(8)
    leader.fetch("m", 0)
    for epoch, (first, last) in enumerate([(0, 7), (0, 7), (0, 7), (0, 3), (4, 7), (0, 0)], 1):
        leader.coordinator.held = []
        leader.fetch("m", epoch, acks={0: [(first, last, RELEASE)]})
        leader.coordinator.go_on()
    acquired = [answer.split(" ")[2] for answer in leader.told()]
    assert acquired == ["0-7", "0-7x2", "0-7x3", "0-3x4", "4-7x4", "0-0x5", "1-1x5"]


def test_max_bytes_is_shared_by_the_partitions(leader: ShareLeader) -> None:
    for index in range(2):
        leader.append(*[1] * 10, index=index)
    leader.fetch("m", 0, [0, 1], max_bytes=300)
    assert leader.told() == ["m: 0 0-1 of 0-0,1-1; 1 0-1 of 0-0,1-1"]
    leader.fetch("m", 1, max_bytes=1)
    assert leader.told() == ["m: 1 2-2 of 2-2"], "one batch at least"


def test_only_batches_with_acquired_records_are_sent(leader: ShareLeader) -> None:
    leader.append(5, 5, 5)
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 6, ACCEPT), (7, 8, RELEASE))
    leader.fetch("m", 2)
    assert leader.told()[-1] == "m: 0 7-8x2 of 5-9"


def test_batch_size_splits_what_is_acquired(leader: ShareLeader) -> None:
    leader.append(4, 4, 4)
    leader.append(4, 4, index=1)
    leader.fetch("m", 0, batch_size=5)
    leader.fetch("m", 1, [1], batch_size=0)
    assert leader.told() == ["m: 0 0-7 8-11 of 0-3,4-7,8-11", "m: 1 0-3 4-7 of 0-3,4-7"]


# --- acknowledgements in a fetch ------------------------------------------------------------------


def test_acknowledgements_are_written_before_the_answer(leader: ShareLeader) -> None:
    leader.append(2, 2)
    leader.fetch("m", 0, max_records=2)
    leader.coordinator.held = []
    leader.fetch("m", 1, acks={0: [(0, 1, ACCEPT)]})
    assert leader.told() == ["m: 0 0-1 of 0-1"]
    leader.coordinator.go_on()
    assert leader.told() == ["m: 0 2-3 of 2-3"]


def test_renewals_fetch_nothing(leader: ShareLeader) -> None:
    leader.append(4, 4)
    leader.fetch("m", 0, max_records=4)
    leader.scheduler.run_for(20_000)
    leader.fetch("m", 1, acks={0: [(0, 0, RENEW)]}, max_wait_ms=0, max_records=0)
    leader.fetch("m", 2, acks={0: [(0, 0, RENEW)]}, is_renew_ack=True)
    leader.fetch("m", 2, acks={0: [(0, 0, RENEW)]}, is_renew_ack=True, **RENEWS)
    leader.scheduler.run_for(15_000)
    leader.fetch("n", 0, max_records=3)
    assert leader.told() == [
        "m: 0 0-3 of 0-3",
        "m: 0 not acknowledged: INVALID_REQUEST",
        "m: INVALID_REQUEST",
        "m: 0",
        "n: 0 1-3x2 of 0-3",
    ]


def test_the_last_fetch_acknowledges_and_releases(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("m", 0)
    leader.fetch("m", -1, acks={0: [(0, 1, ACCEPT), (3, 3, GAP)]})
    leader.fetch("n", 0)
    assert leader.told() == ["m: 0 0-3 of 0-3", "m: 0", "n: 0 2-2x2 of 0-3"]


# --- ends of sessions -----------------------------------------------------------------------------


def test_a_closed_connection_releases_its_records(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("a", 0)
    leader.fetch("b", 0)
    leader.manager.connection_closed("a")
    assert leader.told() == ["a: 0 0-3 of 0-3", "b: 0 0-3x2 of 0-3"]
    leader.fetch("a", 1)
    assert leader.told() == ["a: SHARE_SESSION_NOT_FOUND"]
    assert leader.manager.metrics.evicted_sessions == 1


def test_a_fetch_of_a_closed_connection_acquires_nothing(leader: ShareLeader) -> None:
    leader.fetch("a", 0)
    leader.manager.connection_closed("a")
    leader.append(4)
    leader.fetch("b", 0)
    assert leader.told() == ["a: SHARE_SESSION_NOT_FOUND", "b: 0 0-3 of 0-3"]


def test_a_closed_connection_gets_no_session(leader: ShareLeader) -> None:
    """A long request may be decoded after its connection has closed."""
    leader.connection = Connection()
    leader.connection.ended()
    leader.fetch("a", 0)
    assert leader.told() == ["a: SHARE_SESSION_NOT_FOUND"]
    assert len(leader.manager.sessions) == 0


def test_a_session_that_goes_on_elsewhere_ends_the_wait(leader: ShareLeader) -> None:
    leader.fetch("a", 0, max_wait_ms=0)
    leader.fetch("a", 1)
    leader.acknowledge("a", 2, (0, 0, ACCEPT))
    leader.append(4)
    leader.fetch("a", 3)
    assert leader.told()[-2:] == ["a: INVALID_SHARE_SESSION_EPOCH", "a: 0 0-3 of 0-3"]


def test_a_group_without_members_here_is_forgotten(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("a", 0)
    leader.fetch("a", -1)
    assert len(leader.manager.partitions.keys()) == 1
    partition = leader.replicas.partition("t")
    assert leader.manager in partition.listeners
    leader.manager.connection_closed("a")
    assert leader.manager.partitions.keys() == []
    assert leader.manager not in partition.listeners
    leader.manager.connection_closed("a connection without a session")


# --- partitions that are gone, and errors ---------------------------------------------------------


def test_what_cannot_be_fetched_is_told_at_once(leader: ShareLeader) -> None:
    leader.fetch("m", 0, [7])
    leader.fetch("m", 0, topic="none")
    assert leader.told() == ["m: 7 UNKNOWN_TOPIC_OR_PARTITION", "m: 0 UNKNOWN_TOPIC_ID"]


def test_another_leader_is_named(leader: ShareLeader) -> None:
    leader.replicas.register(2)
    leader.replicas.create("u", replicas=[1, 2], leader=2)
    leader.fetch("m", 0, topic="u")
    assert leader.told() == ["m: 0 NOT_LEADER_OR_FOLLOWER"]
    assert (leader.one().current_leader.leader_id, leader.one().current_leader.leader_epoch) == (
        2,
        0,
    )
    (node,) = leader.answer.node_endpoints
    assert (node.node_id, node.host, node.port) == (2, "host-2", 9092)


def test_a_lost_leadership_ends_the_wait(tmp_path: Path) -> None:
    leader = ShareLeader(tmp_path)
    leader.replicas.register(2)
    leader.replicas.create("u", replicas=[1, 2])
    leader.fetch("m", 0, topic="u")
    leader.replicas.move_leader("u", 2)
    assert leader.told() == ["m: 0 NOT_LEADER_OR_FOLLOWER"]
    assert leader.manager.partitions.keys() == []
    leader.fetch("m", 1, max_wait_ms=0)
    leader.replicas.move_leader("u", 1)
    leader.fetch("m", 2, max_wait_ms=0)
    leader.fetch("m", 3, max_wait_ms=0)
    assert leader.told() == ["m: 0 NOT_LEADER_OR_FOLLOWER", "m: 0", "m: nothing"]


def test_a_deleted_topic_ends_the_wait(leader: ShareLeader) -> None:
    leader.fetch("m", 0)
    leader.replicas.replay(RemoveTopicRecord(topic_id_of("t")))
    leader.fetch("m", 1)
    assert leader.told() == ["m: 0 UNKNOWN_TOPIC_ID", "m: 0 UNKNOWN_TOPIC_ID"]
    assert leader.manager.partitions.keys() == []


def test_a_cluster_without_share_groups(leader: ShareLeader) -> None:
    leader.append(4)
    leader.fetch("a", 0)
    leader.fetch("b", 0)
    leader.set_share_version(0)
    leader.fetch("a", 1)
    leader.acknowledge("a", 2, (0, 3, ACCEPT))
    leader.set_share_version(1)
    leader.fetch("a", 1)
    leader.fetch("a", 0)
    assert leader.told() == [
        "a: 0 0-3 of 0-3",
        "b: SHARE_SESSION_NOT_FOUND",
        "a: UNSUPPORTED_VERSION",
        "a: UNSUPPORTED_VERSION",
        "a: SHARE_SESSION_NOT_FOUND",
        "a: 0 0-3 of 0-3",
    ]


@pytest.mark.parametrize(
    ("group", "member"), [(None, "m"), ("g", ""), ("g", None), ("g", "m" * 37)]
)
def test_a_member_needs_a_group_and_an_id(
    leader: ShareLeader, group: str | None, member: str | None
) -> None:
    leader.fetch(member, 0, group=group, connection="c")  # type: ignore[arg-type]
    leader.acknowledge(member, 1, (0, 0, ACCEPT), group=group)  # type: ignore[arg-type]
    assert leader.told() == [f"{member}: INVALID_REQUEST"] * 2


def test_rejected_records_go_to_the_dead_letter_topic(leader: ShareLeader) -> None:
    leader.configure(**{"errors.deadletterqueue.topic.name": "dead"})
    leader.append(2)
    leader.fetch("m", 0)
    leader.acknowledge("m", 1, (0, 0, REJECT), (1, 1, ACCEPT))
    ((letter, done),) = leader.letters
    assert (letter.first, letter.last, letter.is_rejected) == (0, 0, True)
    done()
    (key,) = leader.manager.partitions.keys()
    ready = leader.manager.partitions.ready(key)
    assert ready is not None and ready.partition.start_offset == 2
