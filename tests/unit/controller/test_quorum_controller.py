"""`controller.quorum_controller`: decide, append, replay, reply at commit; back when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.decisions.decision import Decision, DecisionView
from controller.decisions.feature_control import INITIAL_FEATURES
from controller.decisions.replication_control import (
    NEW_PARTITIONS_A_SLICE,
    PARTITIONS_A_TOPIC,
)
from controller.metadata.image import ResourceType
from controller.metadata.records import MetadataRecord
from controller.raft.leader_batches import RECORDS_A_SLICE
from controller.raft.leader_state import OBSERVERS_REMEMBERED_MS
from controller.raft.raft_messages import Fetch, Received
from controller.voter_set import ReplicaKey
from ground.sliced_work import Job, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic
from protocol.messages.metadata_records import ConfigRecord, NoOpRecord
from tests.unit.controller.controller_fixture import OneNode

BROKER = ResourceType.BROKER


def config(key: str, value: str) -> ConfigRecord:
    return ConfigRecord(BROKER, "7", key, value)


def submit(node: OneNode, reply: Any, *records: MetadataRecord, into: list[Any]) -> None:
    node.node.controller.submit("test", lambda _view: Decision(reply, list(records)), into.append)


def test_a_reply_leaves_when_its_records_are_committed() -> None:
    node, replies = OneNode().start(), []
    submit(node, "done", config("a", "1"), into=replies)
    assert replies == []
    assert node.node.controller.image.config(BROKER, "7") == {"a": "1"}
    assert node.node.image.config(BROKER, "7") == {}
    node.settle()
    assert replies == ["done"]
    assert node.node.image.config(BROKER, "7") == {"a": "1"}


def test_a_decision_sees_what_is_not_committed_yet() -> None:
    node, replies = OneNode().start(), []
    submit(node, "first", config("a", "1"), into=replies)

    def decide(view: DecisionView) -> Decision[object]:
        return Decision((view.next_offset, dict(view.image.config(BROKER, "7"))))

    offset = node.node.raft.end_offset
    node.node.controller.submit("look", decide, replies.append)
    assert replies == [], "what a reply tells of may still be lost"
    node.settle()
    assert replies == ["first", (offset, {"a": "1"})]


def test_without_records_and_with_nothing_before_it_is_answered_at_once() -> None:
    node, replies = OneNode().start(), []
    submit(node, "now", into=replies)
    assert replies == ["now"]


def test_replies_keep_their_order() -> None:
    node, replies = OneNode().start(), []
    for number in range(20):
        submit(node, number, *[NoOpRecord()] * (number % 3), into=replies)
    node.settle()
    assert replies == list(range(20))


def test_before_the_election_is_committed_commands_wait() -> None:
    node, replies = OneNode(controller_queue_max_requests=2), []
    submit(node, "too early", into=replies)
    assert replies[0].code is ErrorCode.NOT_CONTROLLER
    node.node.start()
    while not node.node.raft.is_leader:
        node.scheduler.step()
    for number in range(3):
        submit(node, number, into=replies)
    assert replies[1].code is ErrorCode.NOT_CONTROLLER, "the queue has a limit"
    node.scheduler.run_until(lambda: len(replies) == 4)
    assert replies[2:] == [0, 1]


def test_an_empty_log_begins_with_the_bootstrap_records() -> None:
    node = OneNode().start()
    assert node.node.image.features == INITIAL_FEATURES
    # Who keeps ELR counts with one minimum everywhere.
    assert node.node.image.config(BROKER, "") == {"min.insync.replicas": "1"}
    # The leader change, the features, and that config.
    assert node.node.raft.end_offset == 1 + len(INITIAL_FEATURES) + 1
    node.stop()
    again = OneNode(node.filesystem, seed=2).start()
    assert again.node.raft.end_offset == node.node.raft.end_offset + 1, "only a leader change"


def test_a_no_op_is_written_where_somebody_follows_and_only_there() -> None:
    """An only voter may have observers, such as brokers beside it."""
    node = OneNode().start()
    raft = node.node.raft
    end = raft.end_offset
    node.scheduler.run_for(2_000)
    assert raft.end_offset == end
    fetch = Fetch(raft.epoch, ReplicaKey(7), end, raft.epoch)
    raft.receive(Received(7, fetch, lambda _reply: None))
    node.scheduler.run_for(2_000)
    assert raft.end_offset == end + 4
    node.scheduler.run_for(OBSERVERS_REMEMBERED_MS)
    end = raft.end_offset
    node.scheduler.run_for(2_000)
    assert raft.end_offset == end


def test_a_bug_in_a_decision_is_one_unknown_error() -> None:
    node, replies = OneNode().start(), []

    def decide(_view: DecisionView) -> Decision[None]:
        raise ZeroDivisionError

    node.node.controller.submit("bug", decide, replies.append)
    submit(node, "next", config("a", "1"), into=replies)
    node.settle()
    assert replies == [ApiError(ErrorCode.UNKNOWN_SERVER_ERROR), "next"]


def test_a_record_that_no_reader_would_take_is_refused_and_nothing_has_happened() -> None:
    node, replies = OneNode().start(), []
    end = node.node.raft.end_offset
    submit(node, "done", config("a", "1"), config("b", "\ufffd" * 10_923), into=replies)
    assert replies[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "32769 bytes" in replies[0].message
    assert (node.node.raft.end_offset, node.node.controller.image.config(BROKER, "7")) == (end, {})
    submit(node, "done", config("a", "\ufffd" * 10_922), into=replies)
    node.settle()
    assert replies[1] == "done"


def test_lost_leadership_goes_back_to_what_is_committed() -> None:
    node, replies = OneNode().start(), []
    submit(node, "lost?", config("a", "1"), into=replies)
    node.node.controller.resign()
    assert replies[0].code is ErrorCode.NOT_CONTROLLER
    assert not node.node.controller.is_active
    assert node.node.controller.image.config(BROKER, "7") == {}
    node.scheduler.run_until(lambda: node.node.controller.is_active)
    # Nobody else took over: the record was in the log, and the next epoch committed it.
    assert node.node.image.config(BROKER, "7") == {"a": "1"}
    assert node.node.raft.epoch == 2


def test_a_disk_that_fails_ends_it() -> None:
    node, replies = OneNode().start(), []
    node.filesystem.inject("append")
    submit(node, "never", config("a", "1"), into=replies)
    node.settle()
    assert len(node.failures) == 1
    assert replies == []
    submit(node, "never", into=replies)
    node.stop_quietly()
    assert {reply.code for reply in replies} == {ErrorCode.NOT_CONTROLLER}
    again = OneNode(node.filesystem, seed=2).start()
    assert again.node.image.config(BROKER, "7") == {}


def test_a_failed_fsync_commits_nothing() -> None:
    node, replies = OneNode().start(), []
    node.filesystem.inject("sync")
    submit(node, "never", config("a", "1"), into=replies)
    node.settle()
    assert len(node.failures) == 1
    assert replies == []
    assert node.node.image.config(BROKER, "7") == {}


def test_closing_answers_whoever_waits() -> None:
    node, replies = OneNode().start(), []
    submit(node, "lost", config("a", "1"), into=replies)
    node.node.controller.close()
    assert [reply.code for reply in replies] == [ErrorCode.NOT_CONTROLLER]


MANY = 2 * RECORDS_A_SLICE + 1


def test_a_long_decision_is_written_and_replayed_in_slices() -> None:
    node, replies = OneNode().start(), []
    before = node.node.raft.end_offset
    submit(node, "many", *(config(str(key), "1") for key in range(MANY)), into=replies)
    submit(node, "few", config("0", "2"), into=replies)
    slices = 0
    while node.node.raft.end_offset == before:
        assert node.node.controller.image.config(BROKER, "7") == {}, "all of it or nothing"
        assert node.scheduler.step()
        slices += 1
    assert slices >= 4, "two more to write it, and two to replay it"
    assert len(node.node.controller.image.config(BROKER, "7")) == MANY
    node.settle()
    assert replies == ["many", "few"]
    assert node.node.image.config(BROKER, "7")["0"] == "2"


def test_what_comes_during_a_long_decision_is_decided_after_it() -> None:
    node, replies = OneNode().start(), []

    def long(view: DecisionView) -> Steps[Decision[object]]:
        yield None
        return Decision("long", [config("a", str(view.next_offset))])

    node.node.controller.submit("long", long, replies.append)
    submit(node, "later", config("a", "later"), into=replies)
    assert node.node.controller.image.config(BROKER, "7") == {}
    node.settle()
    assert replies == ["long", "later"]
    assert node.node.image.config(BROKER, "7") == {"a": "later"}


def test_a_leadership_that_ends_in_the_midst_of_a_decision_ends_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node, replies = OneNode().start(), []
    end = node.node.raft.end_offset
    submit(node, "many", *(config(str(key), "1") for key in range(MANY)), into=replies)
    submit(node, "few", config("0", "2"), into=replies)
    node.node.controller.handle_leader_change(None, 2)
    node.settle()
    assert [reply.code for reply in replies] == [ErrorCode.NOT_CONTROLLER] * 2
    assert node.node.raft.end_offset == end and not caplog.records


def test_nothing_is_done_by_the_clock_during_a_long_decision() -> None:
    node, replies = OneNode().start(), []
    submit(node, "many", *(config(str(key), "1") for key in range(MANY)), into=replies)
    assert node.node.controller.balance_leaders(), "soon again"
    node.settle()
    assert not node.node.controller.balance_leaders()


@pytest.mark.parametrize("is_heard_of", [True, False])
def test_a_broker_whose_heartbeat_waits_behind_a_long_decision_is_not_fenced(
    is_heard_of: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, replies = OneNode().start(), list[Any]()
    epoch, submit_job = node.register(), node.blocking.submit
    long_ms = 2 * node.node.controller.next_session_end_ms()

    def wait() -> None:
        """Take longer than a session."""

    def submit_slowly(job: Callable[[], object], done: Any) -> None:
        if job is wait:
            node.scheduler.call_later(long_ms, lambda: done(None, None))
        else:
            submit_job(job, done)

    def long(_: DecisionView) -> Steps[Decision[object]]:
        yield Job(wait)
        return Decision("long")

    monkeypatch.setattr(node.blocking, "submit", submit_slowly)
    node.node.controller.submit("long", long, replies.append)
    if is_heard_of:
        heartbeat = BrokerHeartbeatRequest(1, epoch, node.node.image.offset)
        node.send(heartbeat, 2, replies.append)
    node.scheduler.run_for(long_ms + 1)
    assert replies[0] == "long" and len(replies) == 1 + is_heard_of
    assert node.node.image.brokers[1].fenced is not is_heard_of


def test_a_slice_decides_on_so_many_topics_or_partitions() -> None:
    node = OneNode().start()
    node.register(1)
    view = DecisionView(node.node.image, 0, 0.0)
    create = node.node.controller.replication.create_topics
    topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(50)]
    a_topic = PARTITIONS_A_TOPIC + 1
    assert len(list(create(view, topics, False))) == 50 * a_topic // NEW_PARTITIONS_A_SLICE
    partitions = [CreatableTopic("t", NEW_PARTITIONS_A_SLICE * 3, 1)]
    assert len(list(create(view, partitions, False))) == 3
