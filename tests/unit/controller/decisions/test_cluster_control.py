"""`controller.decisions.cluster_control`: registration, heartbeats, sessions."""

from __future__ import annotations

import random
from typing import Any

import pytest

from controller.decisions.cluster_control import ClusterControl, HeartbeatReply, epoch_fault
from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import DecisionView
from controller.decisions.leadership_changes import LeadershipChanges
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from tests.unit.controller.controller_fixture import (
    CLUSTER_ID,
    OneNode,
    broker_record,
    image_of,
    topic_records,
)

FOO = b"f" * 16


def cluster() -> ClusterControl:
    settings = ControllerSettings(
        node_id=9,
        cluster_id=CLUSTER_ID,
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(9),
    )
    return ClusterControl(settings, LeadershipChanges(ConfigurationControl(settings)))


def registration(broker_id: int, incarnation: int, **more: Any) -> BrokerRegistrationRequest:
    fields = {
        "cluster_id": CLUSTER_ID,
        "listeners": [Listener("PLAINTEXT", "h", 9092, 0)],
        "features": [Feature("metadata.version", 7, 30)],
        "log_dirs": [bytes([100 + broker_id] * 16)],
    }
    return BrokerRegistrationRequest(
        broker_id=broker_id, incarnation_id=bytes([incarnation] * 16), **{**fields, **more}
    )


def view(image: MetadataImage, now_ms: float = 0) -> DecisionView:
    return DecisionView(image, image.offset + 1, now_ms)


def test_the_epoch_is_the_offset_of_the_record() -> None:
    decision = cluster().register(view(image_of(offset=41)), registration(1, 1))
    assert decision.reply == 42
    (record,) = decision.records
    assert isinstance(record, m.RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced) == (42, True)


def test_the_same_process_keeps_its_epoch() -> None:
    image = image_of(broker_record(1))
    request = registration(1, 1)
    decision = cluster().register(view(image), request)
    assert decision.reply == 10
    assert decision.records[0].fenced is False


def test_a_new_process_takes_its_partitions_leaders_away() -> None:
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    decision = cluster().register(view(image), registration(1, 2))
    assert decision.reply == 101
    change = decision.records[1]
    assert isinstance(change, m.PartitionChangeRecord)
    assert (change.leader, change.isr) == (-1, None)


def test_two_processes_with_one_id() -> None:
    image = image_of(broker_record(1))
    control = cluster()
    control.heartbeats.activate(image, 0)
    outcome = control.register(view(image, 8_999), registration(1, 2)).reply
    assert isinstance(outcome, ApiError)
    assert outcome.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert control.register(view(image, 9_001), registration(1, 2)).reply == 101


@pytest.mark.parametrize(
    ("now_ms", "same", "taken"),
    [(2_999, True, False), (3_000, True, True), (8_000, False, False)],
)
def test_the_next_process_on_the_same_disks(now_ms: float, same: bool, taken: bool) -> None:
    """It holds their locks, so the process before it is dead; a heartbeat must be overdue too."""
    image = image_of(broker_record(1))
    control = cluster()
    control.heartbeats.activate(image, 0)
    directories = list(image.brokers[1].log_dirs) if same else [b"x" * 16]
    request = registration(1, 2, log_dirs=directories)
    outcome = control.register(view(image, now_ms), request).reply
    assert (outcome == 101) is taken
    assert taken or outcome.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"listeners": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(16)] * 2}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes([2] * 15 + [0])]}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.UNSUPPORTED_VERSION),
        ({"features": [Feature("metadata.version", 7, 29)]}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_refused(more: dict[str, Any], code: ErrorCode) -> None:
    image = image_of(broker_record(2), m.FeatureLevelRecord("metadata.version", 30))
    decision = cluster().register(view(image), registration(1, 1, **more))
    assert isinstance(decision.reply, ApiError)
    assert decision.reply.code is code
    assert list(decision.records) == []


def beat(image: MetadataImage, offset: int = 100, **more: Any) -> Any:
    return cluster().heartbeat(view(image), BrokerHeartbeatRequest(1, 10, offset, **more))


def test_unfenced_once_caught_up() -> None:
    image = image_of(broker_record(1, fenced=True))
    behind = beat(image, offset=9)
    assert behind.reply == HeartbeatReply(False, True)
    assert list(behind.records) == []
    caught_up = beat(image, offset=10)
    assert caught_up.reply == HeartbeatReply(True, False)
    assert caught_up.records == [m.BrokerRegistrationChangeRecord(1, 10, fenced=-1)]


def test_unfencing_elects_leaders() -> None:
    records = topic_records("foo", FOO, [1])
    records[1].leader = -1
    decision = beat(image_of(broker_record(1, fenced=True), *records))
    assert decision.records[1] == m.PartitionChangeRecord(0, FOO, leader=1)


def test_wants_to_be_fenced() -> None:
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    decision = beat(image, want_fence=True)
    assert decision.reply == HeartbeatReply(True, True)
    assert [type(r).__name__ for r in decision.records] == [
        "BrokerRegistrationChangeRecord",
        "PartitionChangeRecord",
    ]


def test_shutting_down_in_two_steps() -> None:
    node = OneNode().start()
    first = node.register(1)
    second = node.register(2)
    node.node.controller.submit(
        "topic", lambda _v: _decision(topic_records("foo", FOO, [1, 2])), lambda _r: None
    )
    node.settle()
    leaving = node.heartbeat(1, first, want_shut_down=True)
    assert (leaving.is_fenced, leaving.should_shut_down) == (False, False)
    partition = node.node.image.topics.partition("foo", 0)
    assert partition is not None
    assert (partition.leader, partition.isr) == (2, (2,))
    waits = node.heartbeat(1, first, want_shut_down=True)
    assert (waits.is_fenced, waits.should_shut_down) == (False, False), "2 has not read it yet"
    node.heartbeat(2, second)
    done = node.heartbeat(1, first, want_shut_down=True)
    assert (done.is_fenced, done.should_shut_down) == (True, True)
    assert node.node.image.brokers[1].fenced
    assert not node.heartbeat(2, second).is_fenced


def test_who_leads_nothing_may_stop_at_once() -> None:
    node = OneNode().start()
    first = node.register(1)
    done = node.heartbeat(1, first, want_shut_down=True)
    assert (done.is_fenced, done.should_shut_down) == (True, True)


def test_shutting_down_goes_on_after_a_failover() -> None:
    """The new controller knows from the log that leaderships moved, not when."""
    moved = m.BrokerRegistrationChangeRecord(1, 10, in_controlled_shutdown=1)
    image = image_of(broker_record(1), broker_record(2), moved)
    control = cluster()
    control.heartbeats.activate(image, 0)

    def ask(offset: int, **more: Any) -> Any:
        request = BrokerHeartbeatRequest(1, 10, offset, want_shut_down=True, **more)
        return control.heartbeat(view(image), request).reply

    assert not ask(100).should_shut_down
    control.heartbeat(view(image), BrokerHeartbeatRequest(2, 20, 99))
    assert not ask(100).should_shut_down
    control.heartbeat(view(image), BrokerHeartbeatRequest(2, 20, 100))
    assert ask(100).should_shut_down


def test_an_offline_directory_costs_its_replicas_their_places() -> None:
    """KIP-858: as if that part of the broker had been fenced, and only once."""
    bad, good = (bytes([1] * 15 + [n]) for n in range(2))
    at_bad = topic_records("foo", FOO, [1, 2])
    at_good = topic_records("bar", b"b" * 16, [1, 2])
    for records, directory in ((at_bad, bad), (at_good, good)):
        records[1].directories = [directory, bytes(16)]
    image = image_of(
        m.FeatureLevelRecord("metadata.version", 30),
        broker_record(1, directories=2),
        broker_record(2),
        *at_bad,
        *at_good,
    )
    decision = cluster().heartbeat(
        view(image), BrokerHeartbeatRequest(1, 10, 100, offline_log_dirs=[bad])
    )
    assert decision.reply == HeartbeatReply(True, is_fenced=False)
    assert decision.records == [
        m.PartitionChangeRecord(0, FOO, isr=[2], leader=2),
        m.BrokerRegistrationChangeRecord(1, 10, log_dirs=[good]),
    ]
    after = applied(image, decision.records)
    again = cluster().heartbeat(
        view(after), BrokerHeartbeatRequest(1, 10, 100, offline_log_dirs=[bad])
    )
    assert list(again.records) == []


def applied(image: MetadataImage, records: Any) -> MetadataImage:
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(image.offset + len(records), 1, 0)


def _decision(records: list[Any]) -> Any:
    from controller.decisions.decision import Decision

    return Decision(None, records)


def test_of_another_epoch_or_unknown() -> None:
    image = image_of(broker_record(1))
    for broker_id, epoch in ((1, 9), (2, 10)):
        fault = epoch_fault(image, broker_id, epoch)
        assert fault is not None
        assert fault.code is ErrorCode.STALE_BROKER_EPOCH
    reply = cluster().heartbeat(view(image), BrokerHeartbeatRequest(1, 9, 100)).reply
    assert isinstance(reply, ApiError)


def test_sessions_run_out() -> None:
    image = image_of(broker_record(1), broker_record(2), broker_record(3, fenced=True))
    control = cluster()
    control.heartbeats.activate(image, 0)
    control.heartbeat(view(image, 5_000), BrokerHeartbeatRequest(2, 20, 100))
    assert control.heartbeats.expired(image, 8_999) == []
    assert control.heartbeats.expired(image, 9_000) == [1]
    assert control.heartbeats.expired(image, 14_000) == [1, 2]
    control.heartbeats.grant_all(14_000)
    assert control.heartbeats.expired(image, 14_001) == []


def test_fencing_is_decided_once() -> None:
    control = cluster()
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1, 2]), broker_record(2))
    decision = control.fence(view(image), 1)
    assert decision.records == [
        m.BrokerRegistrationChangeRecord(1, 10, fenced=1),
        m.PartitionChangeRecord(0, FOO, isr=[2], leader=2),
    ]
    assert list(control.fence(view(image_of(broker_record(1, fenced=True))), 1).records) == []
    assert list(control.fence(view(image), 7).records) == []


def test_unregister() -> None:
    control = cluster()
    image = image_of(broker_record(1))
    assert control.unregister(view(image), 1).records == [m.UnregisterBrokerRecord(1, 10)]
    reply = control.unregister(view(image), 2).reply
    assert isinstance(reply, ApiError)
    assert reply.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_silent_broker_is_fenced_by_the_clock() -> None:
    node = OneNode(seed=random.Random(3).randrange(99)).start()
    epoch = node.register(2)
    for _ in range(8):
        node.scheduler.run_for(2_000)
        node.heartbeat(2, epoch)
    assert not node.node.image.brokers[2].fenced
    node.scheduler.run_for(11_000)
    assert node.node.image.brokers[2].fenced
