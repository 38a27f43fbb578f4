"""The fetcher's conversation with a leader, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.requests.tracer import Tracer
from ground.ports import ChannelFailure
from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.broker.replication.scripted_leader import (
    LEADER,
    ME,
    SESSION_ID,
    Follower,
    data,
    records,
)


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(str(tmp_path))


# --- sessions ------------------------------------------------------------------------------------


def test_a_wait_of_0_is_asked_for_as_1_ms(tmp_path: Path) -> None:
    follower = Follower(str(tmp_path), wait_max_ms=0)
    follower.follow("a")
    assert follower.leader.fetch.max_wait_ms == 1  # not one request after the other at full speed


def test_a_session_begins_with_all_partitions_and_goes_on_with_those_that_moved(
    follower: Follower,
) -> None:
    leader = follower.leader
    follower.follow("a", "b")
    fetch = leader.fetch
    assert (fetch.session_id, fetch.session_epoch) == (0, 0)
    assert (fetch.max_wait_ms, fetch.min_bytes, fetch.max_bytes) == (500, 1, 10 << 20)
    assert fetch.replica_state is not None
    assert (fetch.replica_state.replica_id, fetch.replica_state.replica_epoch) == (ME, 9)
    assert leader.asked() == {("a", 0): (0, 0, 0, -1), ("b", 0): (0, 0, 0, -1)}
    leader.give(("a", data(records(0, 0, 3), 0)), ("b", data()))
    assert (leader.fetch.session_id, leader.fetch.session_epoch) == (SESSION_ID, 1)
    assert leader.asked() == {("a", 0): (0, 3, 0, 0)}
    leader.give(("a", data(high_watermark=3)))
    assert leader.fetch.session_epoch == 2
    assert leader.asked() == {}
    leader.give()
    assert (leader.asked(), leader.forgotten()) == ({}, [])


def test_without_a_session_every_request_names_all(follower: Follower) -> None:
    follower.follow("a", "b")
    for _ in range(2):
        follower.leader.give(session_id=0)
        assert len(follower.leader.asked()) == 2
        assert (follower.leader.fetch.session_id, follower.leader.fetch.session_epoch) == (0, 0)


@pytest.mark.parametrize(
    ("error", "session_id"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, SESSION_ID),
    ],
)
def test_a_session_that_the_leader_lost_begins_anew_at_once(
    follower: Follower, error: ErrorCode, session_id: int
) -> None:
    leader = follower.leader
    follower.follow("a", "b")
    leader.give()
    leader.answer(FetchResponse(error_code=int(error)))
    assert (leader.fetch.session_id, leader.fetch.session_epoch) == (session_id, 0)
    assert len(leader.asked()) == 2
    leader.answer(FetchResponse(error_code=int(error)))
    assert leader.waiting is None  # twice in a row: not at once
    follower.run(100)
    assert leader.waiting is not None


def test_a_partition_that_left_is_forgotten_once(follower: Follower) -> None:
    leader = follower.leader
    a = follower.follow("a", "b")
    leader.give()
    follower.fetcher.remove(a)
    leader.give()
    assert leader.forgotten() == [("a", 0)]
    leader.give()
    assert leader.forgotten() == []
    assert leader.asked() == {}


def test_adding_it_again_in_the_same_epoch_changes_nothing(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.leader.give()
    follower.fetcher.add(partition)
    follower.run()
    assert follower.leader.closed == 0
    follower.leader.give()
    assert follower.leader.asked() == {}


# --- data ----------------------------------------------------------------------------------------


def test_batches_are_appended_as_they_are_and_the_watermark_is_bounded_by_the_end(
    follower: Follower,
) -> None:
    partition = follower.follow("a")
    batches = bytes(records(0, 0, 2)) + bytes(records(2, 0, 2))
    follower.leader.give(("a", data(memoryview(batches), 9)))
    log = partition.log
    assert (log.log_end_offset, log.high_watermark) == (4, 4)
    assert log.read(0, 1 << 20).records.read() == batches  # type: ignore[union-attr]
    assert follower.counted == [len(batches)]
    ((one),) = follower.fetcher.partitions()
    assert one.lag == 5


def test_what_was_committed_is_not_taken_back_by_a_leader_that_does_not_know_it_yet(
    follower: Follower,
) -> None:
    partition = follower.follow("a")
    follower.leader.give(("a", data(records(0, 0, 4), 3)))
    follower.leader.give(("a", data(high_watermark=1)))
    assert partition.log.high_watermark == 3


def test_a_change_of_the_watermark_or_log_start_is_told(follower: Follower) -> None:
    partition = follower.follow("a")
    heard: list[tuple[int, int]] = []

    class Listener:
        def partition_changed(self, changed: object) -> None:
            heard.append((partition.log.high_watermark, partition.log.log_start_offset))

    partition.listeners[Listener()] = None
    follower.leader.give(("a", data(records(0, 0, 4), 0)))
    assert heard == []
    follower.leader.give(("a", data(high_watermark=4)))
    follower.leader.give(("a", data(high_watermark=4, log_start=2)))
    assert heard == [(4, 0), (4, 2)]
    assert follower.leader.asked() == {("a", 0): (0, 4, 2, 0)}


def test_an_answer_to_a_question_of_an_older_epoch_is_not_taken(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.leader.give()
    follower.follow("b")  # gives up the request under way; the next change does not, so soon
    follower.replicas.move_leader("a", LEADER)  # the leader again, in epoch 1
    follower.fetcher.add(partition)
    follower.leader.give(("a", data(records(0, 0), 1)))
    assert partition.log.log_end_offset == 0
    assert follower.leader.asked() == {("a", 0): (1, 0, 0, -1)}


def test_what_comes_after_the_request_was_given_up_is_not_taken(follower: Follower) -> None:
    partition = follower.follow("a")
    done = follower.leader.waiting
    assert done is not None
    follower.follow("b")
    assert follower.leader.closed == 1
    late = FetchableTopicResponse("", topic_id_of("a"), [data(records(0, 0), 1)])
    done(FetchResponse(session_id=5, responses=[late]), None)
    assert partition.log.log_end_offset == 0


def test_a_partition_that_became_a_leader_takes_nothing(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.replicas.move_leader("a", ME)
    follower.fetcher.remove(partition)
    follower.leader.give(("a", data(records(0, 0), 1)))
    assert partition.log.log_end_offset == 0


def test_damage_delays_its_partition_and_no_other(follower: Follower) -> None:
    follower.follow("a", "b")
    damaged = records(0, 0)
    damaged[-1] ^= 1
    follower.leader.give(("a", data(damaged, 1)), ("b", data(records(0, 0), 1)))
    assert follower.leader.asked() == {("b", 0): (0, 1, 0, 0)}
    assert follower.leader.forgotten() == [("a", 0)]
    assert follower.leader.fetch.max_wait_ms == 50  # so that "a" need not wait for data of "b"
    follower.run(50)
    follower.leader.give()
    assert follower.leader.asked() == {("a", 0): (0, 0, 0, -1)}
    follower.leader.give(("a", data(records(0, 0), 1)))
    assert follower.replicas.partition("a").log.high_watermark == 1


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_an_error_delays_for_longer_and_longer(follower: Follower, error: ErrorCode) -> None:
    follower.follow("a")
    leader = follower.leader
    waits = []
    for _ in range(7):
        before = follower.scheduler.now_ms
        leader.give(("a", data(error=error)))
        if leader.waiting is not None:  # the request that forgets it
            assert leader.forgotten() == [("a", 0)]
            leader.give()
        follower.scheduler.run_until(lambda: leader.waiting is not None)
        waits.append(follower.scheduler.now_ms - before)
    assert waits == [50, 100, 200, 400, 800, 1000, 1000]
    leader.give(("a", data(records(0, 0), 1)))
    leader.give(("a", data(error=error)))
    leader.give()
    follower.run(50)
    assert leader.asked() == {("a", 0): (0, 1, 0, 0)}  # a success begins the waits anew


def test_a_fenced_partition_waits_for_the_metadata(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.leader.give(("a", data(error=ErrorCode.FENCED_LEADER_EPOCH)))
    follower.leader.give()
    follower.run(60_000)
    assert follower.leader.waiting is None
    assert list(follower.fetcher.failed) == [partition]
    follower.replicas.move_leader("a", LEADER)
    follower.fetcher.add(partition)
    follower.run()
    assert follower.leader.asked() == {("a", 0): (1, 0, 0, -1)}
    assert not follower.fetcher.failed


@pytest.mark.parametrize("failure", list(ChannelFailure))
def test_a_failed_request_holds_back_the_whole_fetcher(
    follower: Follower, failure: ChannelFailure
) -> None:
    leader = follower.leader
    follower.follow("a", "b")
    leader.give()
    for wait_ms in (50, 100, 200, 400, 800, 1000, 1000):
        asked = len(leader.requests)
        leader.fail(failure)
        follower.run(wait_ms - 1)
        assert len(leader.requests) == asked
        follower.run(1)
        assert len(leader.requests) == asked + 1
        assert leader.fetch.session_epoch == 0
        assert len(leader.asked()) == 2


def test_a_disk_that_fails_takes_the_partition_out(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.replicas.failures.fail(partition.log.log_dir, "a test", OSError("gone"))
    follower.leader.give(("a", data(records(0, 0), 1)))
    follower.leader.give()
    follower.run(60_000)
    assert follower.leader.waiting is None
    assert list(follower.fetcher.failed) == [partition]


# --- what leaders disagree about -----------------------------------------------------------------


def test_a_log_that_diverged_is_cut_before_the_watermark_is_learned(follower: Follower) -> None:
    """KAFKA-14704: the answer that tells of the divergence tells a watermark, too."""
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    follower.fill(partition, 0, 0, 0)
    partition.log.update_high_watermark(1)
    follower.replicas.move_leader("a", LEADER)
    follower.fetcher.add(partition)
    follower.run()
    assert follower.leader.asked() == {("a", 0): (1, 3, 0, 0)}
    follower.leader.give(("a", data(high_watermark=5, diverging=(0, 2))))
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (2, 1)
    assert follower.leader.asked() == {("a", 0): (1, 2, 0, 0)}


def test_an_epoch_that_the_follower_does_not_know_is_looked_for_until_it_matches(
    follower: Follower,
) -> None:
    """KIP-279: epochs 0, 1, 4 here; the leader has 0, 2, 3 and is asked about 4."""
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    for _ in range(5):
        follower.replicas.move_leader("a", LEADER)
    follower.fill(partition, 0, 0, 1, 4, 4)
    follower.fetcher.add(partition)
    follower.run()
    assert follower.leader.asked() == {("a", 0): (5, 5, 0, 4)}
    follower.leader.give(("a", data(diverging=(3, 9))))
    assert follower.leader.asked() == {("a", 0): (5, 3, 0, 1)}
    follower.leader.give(("a", data(diverging=(0, 1))))
    assert follower.leader.asked() == {("a", 0): (5, 1, 0, 0)}
    follower.leader.give(("a", data(records(1, 2), 2)))
    assert partition.log.leader_epochs.entries == [(0, 0), (2, 1)]


def test_an_epoch_without_a_record_is_forgotten_though_nothing_is_cut(follower: Follower) -> None:
    """KAFKA-10706: it led in epoch 1 and wrote nothing; the leader of 2 never heard of epoch 1."""
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    follower.fill(partition, 0)
    follower.replicas.move_leader("a", ME)
    follower.replicas.move_leader("a", LEADER)
    follower.fetcher.add(partition)
    follower.run()
    assert follower.leader.asked() == {("a", 0): (2, 1, 0, 1)}
    follower.leader.give(("a", data(diverging=(0, 1))))
    assert follower.leader.asked() == {("a", 0): (2, 1, 0, 0)}


def test_a_divergence_that_changes_nothing_is_not_asked_about_at_once(follower: Follower) -> None:
    partition = follower.follow("a")
    follower.leader.give(("a", data(records(0, 0), 1)))
    follower.leader.give(("a", data(diverging=(0, 1))))
    assert (follower.leader.asked(), follower.leader.forgotten()) == ({}, [("a", 0)])
    assert partition.log.log_end_offset == 1


def test_a_log_without_epochs_goes_back_to_what_is_committed(follower: Follower) -> None:
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    follower.fill(partition, 0, 0, 0)
    partition.log.update_high_watermark(2)
    partition.log.leader_epochs.clear()
    follower.fetcher.add(partition)
    assert partition.log.log_end_offset == 2


# --- out of range --------------------------------------------------------------------------------


def _out_of_range(follower: Follower, *epochs: int) -> None:
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    follower.fill(partition, *epochs)
    follower.fetcher.add(partition)
    follower.run()
    follower.leader.give(("a", data(error=ErrorCode.OFFSET_OUT_OF_RANGE)))
    (topic,) = follower.leader.list_offsets.topics
    (one,) = topic.partitions
    assert follower.leader.list_offsets.replica_id == ME
    assert (topic.name, one.current_leader_epoch, one.timestamp) == ("a", 0, -1)


def test_beyond_the_leaders_end_it_is_cut_there(follower: Follower) -> None:
    _out_of_range(follower, 0, 0, 0)
    follower.leader.give_offset("a", 2)
    assert follower.leader.list_offsets.topics[0].partitions[0].timestamp == -4
    follower.leader.give_offset("a", 0)
    assert follower.leader.asked() == {("a", 0): (0, 2, 0, 0)}


def test_before_the_leaders_start_it_begins_anew(follower: Follower) -> None:
    _out_of_range(follower, 0, 0, 0)
    follower.leader.give_offset("a", 90)
    follower.leader.give_offset("a", 40)
    assert follower.leader.asked() == {("a", 0): (0, 40, 40, -1)}
    follower.leader.give(("a", data(records(40, 0), 41, log_start=40)))
    log = follower.replicas.partition("a").log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (40, 41, 41)


def test_within_the_leaders_log_it_goes_on_but_not_at_once(follower: Follower) -> None:
    _out_of_range(follower, 0, 0, 0)
    follower.leader.give_offset("a", 90)
    follower.leader.give_offset("a", 1)
    follower.leader.give()
    follower.run(50)
    assert follower.leader.asked() == {("a", 0): (0, 3, 0, 0)}


@pytest.mark.parametrize("question", [0, 1])
def test_bounds_that_the_leader_does_not_tell_are_asked_again_later(
    follower: Follower, question: int
) -> None:
    _out_of_range(follower, 0)
    if question:
        follower.leader.give_offset("a", 9)
    follower.leader.give_offset("a", -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    follower.leader.give()
    follower.run(50)
    assert follower.leader.asked() == {("a", 0): (0, 1, 0, 0)}


def test_others_are_fetched_while_one_is_out_of_range(follower: Follower) -> None:
    follower.follow("a", "b")
    follower.leader.give(("a", data(error=ErrorCode.OFFSET_OUT_OF_RANGE)))
    follower.leader.fail(ChannelFailure.TIMED_OUT)
    follower.run(50)
    assert follower.leader.list_offsets.topics[0].name == "a"
    follower.leader.give_offset("a", -1, ErrorCode.FENCED_LEADER_EPOCH)
    assert list(follower.leader.asked()) == [("b", 0)]


# --- coming, going, throttling -------------------------------------------------------------------


def test_a_partition_that_comes_does_not_wait_for_the_long_poll_under_way(
    follower: Follower,
) -> None:
    follower.follow("a")
    follower.leader.give()
    follower.follow("b")
    assert follower.leader.closed == 1
    assert list(follower.leader.asked()) == [("a", 0), ("b", 0)]
    assert (follower.leader.fetch.session_id, follower.leader.fetch.session_epoch) == (77, 0)
    follower.follow("c")  # not again so soon: a second one waits for at most one long poll
    assert follower.leader.closed == 1
    follower.leader.give()
    assert list(follower.leader.asked()) == [("c", 0)]


def test_a_throttled_partition_that_lags_is_left_out_and_one_in_sync_is_not(
    follower: Follower,
) -> None:
    follower.follow("a", "b")
    leader = follower.leader
    leader.give(("a", data(records(0, 0), 1)), ("b", data(records(0, 0), 5)))
    follower.throttled = True
    leader.give(("a", data(records(1, 0), 2)), ("b", data(records(1, 0), 5)))
    assert leader.asked() == {("a", 0): (0, 2, 0, 0)}
    assert leader.forgotten() == [("b", 0)]
    leader.give()
    follower.throttled = False
    follower.run(1000)
    leader.give()
    assert leader.asked() == {("b", 0): (0, 2, 0, 0)}


def test_another_address_is_taken_up_at_once(follower: Follower) -> None:
    follower.follow("a")
    old, follower.leader = follower.leader, type(follower.leader)()
    follower.fetcher.reconnect()
    follower.run()
    assert old.closed == 1
    assert follower.leader.fetch.session_epoch == 0
    assert list(follower.leader.asked()) == [("a", 0)]


def test_closed_it_asks_nothing_more(follower: Follower) -> None:
    follower.follow("a")
    follower.leader.fail(ChannelFailure.REFUSED)
    follower.fetcher.close()
    follower.run(5000)
    assert follower.leader.waiting is None


def test_topics_are_named_by_their_ids(follower: Follower) -> None:
    follower.follow("a")
    assert [topic.topic_id for topic in follower.leader.fetch.topics] == [topic_id_of("a")]


@pytest.mark.parametrize("whole", [False, True])
def test_a_leader_that_does_not_let_this_broker_in_is_named(
    follower: Follower, whole: bool
) -> None:
    follower.follow("a")
    if whole:
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        follower.leader.answer(FetchResponse(error_code=denied))
    else:
        follower.leader.give(("a", data(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert follower.refusals == [(LEADER, "FETCH")]


# --- traces --------------------------------------------------------------------------------------


def test_a_tracer_is_told_of_each_append_and_of_the_fetch_that_brought_it(tmp_path: Path) -> None:
    now_s = iter(range(100))
    tracer = Tracer(lambda: float(next(now_s)), lambda: 0, lambda *_: "")
    follower = Follower(str(tmp_path), tracer=tracer)
    partition = follower.follow("a")
    follower.leader.give(("a", data(records(0, 0, 3), 0)))
    follower.leader.give(("a", data(high_watermark=3)))
    (copy,) = [trace.report() for trace in tracer.changes_since(0)]
    assert copy == {
        "kind": "copy",
        "revision": 1,
        "leader": LEADER,
        "topic": "a",
        "partition": 0,
        "first_offset": 0,
        "end_offset": 3,
        "segment": 0,
        "segment_bytes": partition.log.active.size,
        "asked_s": 0.0,
        "answered_s": 1.0,
        "appended_s": 2.0,
    }
