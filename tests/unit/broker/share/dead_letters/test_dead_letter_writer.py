"""The life of dead letters: written, tried again, given up."""

from __future__ import annotations

import logging

import pytest

from broker.share.dead_letters.letter_counts import GROUPS_MAX, GroupCounts, LetterCounts
from broker.share.dead_letters.letter_request import LETTERS_PER_REQUEST, REQUEST_BYTES
from broker.share.delivery.share_partition import DeadLetter
from ground.ports import ChannelFailure
from protocol.errors import ErrorCode
from protocol.messages.produce import ProduceResponse
from protocol.record_batch import HEADER_SIZE
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.share.dead_letters.letter_stage import (
    ELSEWHERE,
    HERE,
    KEY,
    THERE,
    Stage,
)

COPY = {"errors_deadletterqueue_copy_record_enable": "true"}
CREATE = {"errors_deadletterqueue_auto_create_topics_enable": "true"}
BACKOFFS = [2_000, 4_000, 8_000, 16_000]


def counts(stage: Stage) -> tuple[int, int, int]:
    """Records, letters in requests, failed letters."""
    group = stage.writer.counts.of("g")
    return group.records, group.requests, group.failed


# -- written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("leader", [HERE, THERE])
def test_done_is_called_after_the_leader_has_acknowledged(leader: int) -> None:
    stage = Stage(leaders=[leader])
    stage.bury(7, 9)
    sent = stage.next_sent()
    assert (sent.broker, stage.done, stage.writer.pending_count) == (leader, [], 1)
    sent.answer()
    assert (stage.done, stage.writer.pending_count) == ([7], 0)
    assert counts(stage) == (3, 1, 0)


def test_a_letter_that_is_buried_again_is_written_once() -> None:
    """Expect both callbacks: the share-partition was loaded again meanwhile."""
    stage = Stage()
    stage.bury(7)
    stage.bury(7)
    stage.next_sent().answer()
    assert (stage.done, stage.sent) == ([7, 7], [])


def test_one_request_for_each_leader_is_in_flight() -> None:
    stage = Stage(leaders=[HERE, THERE])
    stage.bury(1)
    stage.bury(2, key=KEY._replace(partition=5))
    first, other = stage.next_sent(), stage.next_sent()
    stage.bury(3)
    stage.bury(4)
    stage.settle()
    assert ({first.broker, other.broker}, stage.sent) == ({HERE, THERE}, [])
    first.answer()
    assert stage.next_sent().offsets() == [3, 4]


def test_partitions_and_topics_share_a_request() -> None:
    stage = Stage(leaders=[THERE, THERE])
    stage.bury(1)
    stage.bury(2, key=KEY._replace(partition=5))
    sent = stage.next_sent()
    assert (sent.offsets(0), sent.offsets(1)) == ([1], [2])
    assert len(sent.request.topic_data) == 1


def test_a_letter_larger_than_a_batch_is_written_in_several() -> None:
    stage = Stage(**COPY)
    stage.limit(1_000)
    records = [Record(-1, 5, b"k", bytes(100)) for _ in range(9)]
    stage.log[8] = bytes(build_batch(records))
    stage.bury(0, 8)
    stage.bury(8, 12)
    offsets = []
    while len(stage.done) < 2:
        sent = stage.next_sent()
        assert max(sent.sizes()) <= 1_000
        offsets.append(sent.offsets())
        sent.answer()
    assert offsets == [[0, 1, 2], [8, 9, 10, 11], [3, 4, 5], [12, 6, 7], [8]]
    assert counts(stage) == (14, 6, 0)


def test_a_letter_that_the_topic_can_never_take_is_judged_by_the_leader() -> None:
    stage = Stage(**COPY)
    stage.limit(HEADER_SIZE + 10)
    stage.bury(0, 1)
    sent = stage.next_sent()
    assert sent.offsets() == [0]
    sent.answer(ErrorCode.MESSAGE_TOO_LARGE)
    assert (stage.done, counts(stage)) == ([0], (0, 1, 1))


def test_a_request_is_bounded_in_letters_and_in_bytes() -> None:
    stage = Stage()
    stage.bury(0)
    in_flight = stage.next_sent()
    for first in range(1, LETTERS_PER_REQUEST + 6):
        stage.bury(first)
    stage.settle()
    for letters in (LETTERS_PER_REQUEST, 5):
        in_flight.answer()
        in_flight = stage.next_sent()
        assert len(in_flight.offsets()) == letters
    stage = Stage(leaders=[HERE] * 8, **COPY)
    stage.log[0] = bytes(build_batch([Record(-1, 5, b"k", bytes(900_000))]))
    for partition in range(8):
        stage.bury(0, key=KEY._replace(partition=partition))
    assert len(stage.next_sent().sizes()) == -(-REQUEST_BYTES // 900_000)


# -- the topic -------------------------------------------------------------------------------------


def test_a_missing_topic_is_created_once_and_then_written() -> None:
    stage = Stage(leaders=())
    stage.configure_broker(**CREATE)
    stage.bury(1)
    stage.bury(2)
    created = stage.create()
    assert created == [
        "dlq.t",
        "errors.deadletterqueue.group.enable=true",
        "message.timestamp.type=CreateTime",
    ]
    stage.settle()
    assert (stage.creations, stage.sent) == ([], [])
    stage.lead(THERE)
    assert stage.next_sent().offsets() == [1, 2]


def test_the_metadata_may_come_before_the_answer_to_create_topics() -> None:
    stage = Stage(leaders=())
    stage.configure_broker(**CREATE)
    stage.bury(1)
    stage.settle()
    stage.lead(HERE)
    stage.create(ErrorCode.TOPIC_ALREADY_EXISTS)
    assert stage.next_sent().offsets() == [1]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.NONE,
        None,
    ],
)
def test_a_creation_is_tried_until_it_succeeds(error: ErrorCode | None) -> None:
    """None: the controller did not answer. NONE: the topic was created, and is gone again."""
    stage = Stage(leaders=())
    stage.configure_broker(**CREATE)
    stage.bury(1)
    for backoff_ms in [*BACKOFFS, 30_000, 30_000]:
        stage.settle()
        assert stage.done == []
        if error is None:
            stage.creations.pop(0)[1](None)
        else:
            stage.create(error)
        stage.scheduler.run_for(backoff_ms - 1)
        assert stage.creations == []
        stage.scheduler.run_for(1)
    stage.lead(HERE)
    stage.create()
    stage.next_sent().answer()
    assert (stage.done, stage.creations, stage.writer.pending_count) == ([1], [], 0)


def test_a_rejected_creation_archives_the_records(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(leaders=())
    stage.configure_broker(**CREATE)
    stage.bury(1)
    stage.create(ErrorCode.POLICY_VIOLATION, "no such names")
    assert stage.done == [1]
    assert "topic dlq.t cannot be created: POLICY_VIOLATION (no such names)" in caplog.text


UNUSABLE = {
    "": "group g has no dead-letter topic any more",
    "__dlq": "topic __dlq is internal, so it cannot have dead letters",
    "dlq.absent": "topic dlq.absent does not exist, and "
    "errors.deadletterqueue.auto.create.topics.enable is false",
    "source": "the name of topic source does not begin with dlq., as "
    "errors.deadletterqueue.topic.name.prefix requires",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_records_are_archived_if_the_topic_may_not_be_used(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(errors_deadletterqueue_topic_name=name)
    stage.bury(1, 2)
    stage.settle()
    assert (stage.done, stage.sent, stage.creations) == ([1], [], [])
    (line,) = [record.getMessage() for record in caplog.records]
    what = "group g: offsets 1-2 of source-4 are archived without a dead letter"
    assert line == f"{what}: {UNUSABLE[name]}"


def test_an_existing_topic_must_be_enabled() -> None:
    stage = Stage()
    stage.topic_configs = type(stage.topic_configs)()
    stage.configure_broker(**CREATE)
    stage.bury(1)
    stage.settle()
    assert (stage.done, stage.sent, stage.creations) == ([1], [], [])


def test_configs_count_as_they_are_at_each_attempt() -> None:
    stage = Stage(errors_deadletterqueue_topic_name="source")
    stage.configure_broker(errors_deadletterqueue_topic_name_prefix="")
    stage.bury(1)
    stage.next_sent().answer(ErrorCode.NOT_ENOUGH_REPLICAS)
    stage.configure_broker(errors_deadletterqueue_topic_name_prefix="dlq.")
    stage.scheduler.run_for(2_000)
    assert (stage.sent, stage.done) == ([], [1])
    stage.bury(2)
    stage.configure(errors_deadletterqueue_topic_name="dlq.t", **COPY)
    stage.log[2] = bytes(build_batch([Record(2, 5, b"k", b"v")], base_offset=2))
    (record,) = stage.next_sent().records()
    assert (record.key, record.value) == (b"k", b"v")


def test_failures_are_logged_once_a_minute_for_each_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(errors_deadletterqueue_topic_name="source")
    for first in range(4):
        stage.bury(first)
    stage.settle()
    assert (len(stage.done), len(caplog.records)) == (4, 1)
    stage.configure(errors_deadletterqueue_topic_name="__x")
    stage.bury(5)
    stage.settle()
    assert len(caplog.records) == 2
    stage.scheduler.run_for(60_000)
    stage.configure(errors_deadletterqueue_topic_name="source")
    stage.bury(6)
    stage.settle()
    assert caplog.records[2].getMessage().endswith("requires, as for 3 letters before")


def test_a_leaders_message_is_a_detail_of_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    for first in (1, 2):
        stage.bury(first)
        stage.next_sent().answer(ErrorCode.INVALID_RECORD, f"record {first}\n")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("without a dead letter: INVALID_RECORD (record 1?)")


# -- again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_a_letter_is_tried_until_it_is_written(
    error: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    for backoff_ms in [*BACKOFFS, 30_000, 30_000, 30_000]:
        assert stage.done == []
        stage.next_sent().answer(error)
        stage.scheduler.run_for(backoff_ms - 1)
        assert stage.sent == []
        stage.scheduler.run_for(1)
    stage.next_sent().answer()
    assert (stage.sent, stage.done, counts(stage)) == ([], [1], (1, 8, 0))
    lines = [record.getMessage() for record in caplog.records]
    waits = "offsets 1-1 of source-4 are not in the dead-letter topic yet, and stay in flight"
    assert lines[0].endswith(f"{waits}: {error.name}")
    assert len(lines) == 2 and lines[1].endswith(f"{error.name}, as for 1 letters before")


@pytest.mark.parametrize("failure", list(ChannelFailure))
def test_a_letter_without_an_answer_is_tried_again(failure: ChannelFailure) -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    stage.next_sent().fail(failure)
    stage.scheduler.run_for(2_000)
    stage.next_sent().answer()
    assert (stage.done, counts(stage)) == ([1], (1, 2, 0))


def test_attempts_are_counted_from_the_last_success() -> None:
    stage = Stage()
    stage.limit(300)
    stage.bury(1, 2)
    for first in (1, 2):
        for backoff_ms in BACKOFFS:
            sent = stage.next_sent()
            assert sent.offsets() == [first]
            sent.answer(ErrorCode.NOT_ENOUGH_REPLICAS)
            stage.scheduler.run_for(backoff_ms)
        stage.next_sent().answer()
    assert stage.done == [1]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_other_errors_archive_the_records_at_once(error: ErrorCode) -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    stage.next_sent().answer(error)
    assert (stage.done, counts(stage)) == ([1], (0, 1, 1))


def test_an_answer_without_the_partition_archives_the_records() -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    stage.next_sent().done(ProduceResponse(), None)
    assert stage.done == [1]


def test_a_new_leader_gets_the_letter_at_once() -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    stage.next_sent().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    stage.lead(THERE)  # the same: the back-off counts
    stage.settle()
    assert stage.sent == []
    stage.lead(HERE)
    sent = stage.next_sent()
    assert sent.broker == HERE
    sent.answer()
    assert stage.done == [1]
    assert stage.scheduler.pending() == 0


@pytest.mark.parametrize("leader", [-1, ELSEWHERE])
def test_a_letter_waits_for_a_leader_that_can_be_reached(leader: int) -> None:
    stage = Stage(leaders=[leader])
    stage.bury(1)
    stage.settle()
    assert (stage.sent, stage.done) == ([], [])
    stage.lead(THERE)
    assert stage.next_sent().broker == THERE
    stage.lead(leader)
    stage.bury(2)
    stage.scheduler.run_for(sum(BACKOFFS) + 60_000)
    assert (stage.sent, stage.done) == ([], [])
    stage.lead(HERE)
    assert stage.next_sent().offsets() == [2]


def test_letters_that_wait_behind_a_request_follow_their_leader() -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    in_flight = stage.next_sent()
    stage.bury(2)
    stage.settle()
    stage.lead(HERE)
    in_flight.fail()
    sent = stage.next_sent()
    assert (sent.broker, sent.offsets()) == (HERE, [2])
    stage.scheduler.run_for(2_000)
    sent.answer()
    assert stage.next_sent().offsets() == [1]


def test_a_leader_with_another_address_gets_another_connection() -> None:
    stage = Stage(leaders=[THERE])
    stage.bury(1)
    stage.next_sent().answer()
    addresses = {THERE: ("host-9", 9092)}
    stage.writer._sender._ports = stage.writer._sender._ports._replace(address_of=addresses.get)
    stage.bury(2)
    assert (stage.next_sent().broker, stage.closed) == (9, [THERE])


# -- stop ------------------------------------------------------------------------------------------


def test_after_a_shutdown_nothing_is_done_or_sent() -> None:
    stage = Stage(leaders=[THERE, -1])
    stage.bury(1)
    stage.bury(2, key=KEY._replace(partition=5))
    sent = stage.next_sent()
    stage.bury(3)
    stage.writer.shutdown()
    sent.answer()
    stage.bury(4)
    stage.scheduler.run_for(100_000)
    assert (stage.done, stage.sent, stage.closed) == ([], [], [THERE])
    assert stage.writer.pending_count == 0


def test_after_a_shutdown_a_created_topic_is_ignored() -> None:
    stage = Stage(leaders=())
    stage.configure_broker(**CREATE)
    stage.bury(1)
    stage.settle()
    stage.writer.shutdown()
    stage.create(ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert stage.done == []


def test_a_bug_while_letters_are_copied_archives_them(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(**COPY)

    def read(*_: object) -> bytes:
        raise RuntimeError("a bug")

    stage.read = read  # type: ignore[method-assign]
    stage.bury(1)
    stage.settle()
    assert (stage.done, stage.writer.pending_count) == ([1], 0)
    assert caplog.records[0].levelno == logging.ERROR and caplog.records[0].exc_info
    del stage.read  # type: ignore[method-assign]
    stage.writer.bury(KEY, DeadLetter(2, 2, 1, is_rejected=True), lambda: None)
    assert stage.next_sent().offsets() == [2]


def test_the_number_of_counted_groups_is_bounded() -> None:
    counted = LetterCounts()
    for number in range(GROUPS_MAX + 1):
        counted.of(str(number)).sent()
    assert (len(counted.groups), counted.of("0")) == (GROUPS_MAX, GroupCounts())
