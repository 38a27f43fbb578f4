"""`controller.decisions.directories`: where replicas are, and what an offline directory costs."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions.directories import assign_replicas
from controller.metadata.image import LOST_DIRECTORY, MetadataImage
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records
from tests.unit.controller.decision_fixture import LEADERSHIP, after, view

FOO = b"f" * 16
GOOD, GONE = bytes([1] * 15 + [0]), b"\xff" * 16


def image(level: int = 30) -> MetadataImage:
    return image_of(
        m.FeatureLevelRecord("metadata.version", level),
        broker_record(1, directories=2),
        broker_record(2),
        *topic_records("foo", FOO, [1, 2], [2]),
    )


def assign(at: MetadataImage, directory: bytes, index: int = 0, **fields: Any) -> Any:
    topic = AssignReplicasToDirsRequestTopicData(
        fields.get("topic_id", FOO), [AssignReplicasToDirsRequestPartitionData(index)]
    )
    directories = [AssignReplicasToDirsRequestDirectoryData(directory, [topic])]
    request = AssignReplicasToDirsRequest(1, fields.get("epoch", 10), directories)
    return assign_replicas(view(at), request, LEADERSHIP)


def code_of(decision: Any) -> ErrorCode:
    (answer,) = decision.reply.directories[0].topics[0].partitions
    return ErrorCode(answer.error_code)


def test_assigned() -> None:
    at = image()
    decision = assign(at, GOOD)
    assert code_of(decision) is ErrorCode.NONE
    assert decision.records == [m.PartitionChangeRecord(0, FOO, directories=[GOOD, bytes(16)])]
    assert list(assign(after(at, decision.records), GOOD).records) == []


def test_a_directory_that_is_offline_costs_the_replica_its_place() -> None:
    at = image()
    moved = after(at, assign(at, GONE).records).topics.partition("foo", 0)
    assert moved is not None
    assert (moved.leader, moved.isr, moved.directory_of(1)) == (2, (2,), GONE)


@pytest.mark.parametrize(
    ("index", "fields", "code"),
    [
        (0, {"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        (9, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, {}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_refused(index: int, fields: dict[str, Any], code: ErrorCode) -> None:
    decision = assign(image(), GOOD, index, **fields)
    assert code_of(decision) is code
    assert list(decision.records) == []


@pytest.mark.parametrize(
    ("level", "epoch", "code"),
    [(30, 9, ErrorCode.STALE_BROKER_EPOCH), (16, 10, ErrorCode.UNSUPPORTED_VERSION)],
)
def test_refused_whole(level: int, epoch: int, code: ErrorCode) -> None:
    reply = assign(image(level), GOOD, epoch=epoch).reply
    assert isinstance(reply, ApiError)
    assert reply.code is code


ELR = m.FeatureLevelRecord("eligible.leader.replicas.version", 1)
MINIMUM = m.ConfigRecord(2, "foo", "min.insync.replicas", "2")
OLD, NEW = bytes([3] * 15 + [0]), b"\xee" * 16


def everybody_died() -> MetadataImage:
    """R12: three brokers were killed; 1 and 2 have come back, and 3, the last in sync, comes with
    an empty disk."""
    at = image_of(
        m.FeatureLevelRecord("metadata.version", 30),
        ELR,
        MINIMUM,
        *(broker_record(i) for i in (1, 2, 3)),
        *topic_records("foo", FOO, [3, 1, 2]),
        m.PartitionChangeRecord(0, FOO, directories=[OLD, bytes(16), bytes(16)]),
    )
    for broker_id in (1, 2, 3):
        left = LEADERSHIP.broker_left(at, broker_id, unclean=True)
        log_dirs = [NEW] if broker_id == 3 else list(at.brokers[broker_id].log_dirs)
        returned = broker_record(broker_id, fenced=True)
        returned.log_dirs = log_dirs
        at = after(at, [*left, returned])
    return at


def unfenced(at: MetadataImage, broker_id: int) -> MetadataImage:
    change = m.BrokerRegistrationChangeRecord(broker_id, broker_id * 10, fenced=-1)
    return after(at, [*LEADERSHIP.broker_unfenced(at, broker_id), change])


@pytest.mark.parametrize("order", [(1, 2, 3), (1, 3, 2), (2, 1, 3), (3, 2, 1), (3, 1, 2)])
def test_who_lost_its_disk_never_leads_and_who_was_proven_before_does(order: Any) -> None:
    at = everybody_died()
    one = at.topics.partition("foo", 0)
    assert one is not None
    assert (one.isr, one.elr, one.last_known_elr) == ((), (), (3, 2))
    for broker_id in order:
        at = unfenced(at, broker_id)
        if broker_id == 3:
            request = AssignReplicasToDirsRequest(
                3,
                30,
                [
                    AssignReplicasToDirsRequestDirectoryData(
                        NEW,
                        [
                            AssignReplicasToDirsRequestTopicData(
                                FOO, [AssignReplicasToDirsRequestPartitionData(0)]
                            )
                        ],
                    )
                ],
            )
            at = after(at, assign_replicas(view(at), request, LEADERSHIP).records)
    one = at.topics.partition("foo", 0)
    assert one is not None
    assert (one.leader, one.isr) == (2, (2,))
    assert one.directory_of(3) == NEW


def test_a_replica_that_moves_between_live_directories_stays_in_sync() -> None:
    at = image()
    at = after(at, assign(at, GOOD).records)
    moved = after(at, assign(at, bytes([1] * 15 + [1])).records).topics.partition("foo", 0)
    assert moved is not None
    assert (moved.leader, moved.isr) == (1, (1, 2))


def test_an_only_replica_leads_where_it_was_found() -> None:
    """Its folder was moved, or is back: a broker makes none anew (`broker.replication`)."""
    at = image_of(
        m.FeatureLevelRecord("metadata.version", 30),
        ELR,
        broker_record(1),
        *topic_records("foo", FOO, [1]),
        m.PartitionChangeRecord(0, FOO, directories=[b"\xdd" * 16], isr=[], leader=-1),
        m.PartitionChangeRecord(0, FOO, last_known_elr=[1]),
    )
    found = after(at, assign(at, GOOD).records)
    one = found.topics.partition("foo", 0)
    assert one is not None
    assert (one.leader, one.isr) == (1, (1,))
    lost = after(found, assign(found, LOST_DIRECTORY).records).topics.partition("foo", 0)
    assert lost is not None
    assert (lost.leader, lost.directory_of(1)) == (-1, LOST_DIRECTORY)


def test_a_broker_that_has_no_room_for_a_replica_leads_it_no_more() -> None:
    at = image_of(
        m.FeatureLevelRecord("metadata.version", 30),
        broker_record(1, directories=2),
        broker_record(2),
        *topic_records("foo", FOO, [1, 2], [1, 2]),
    )
    told = assign(at, LOST_DIRECTORY)
    assert code_of(told) is ErrorCode.NONE
    partition = after(at, told.records).topics.by_name["foo"].partitions[0]
    assert (partition.leader, partition.isr) == (2, (2,))
    assert partition.directory_of(1) == LOST_DIRECTORY
