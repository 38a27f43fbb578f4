from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi, refuse_epochs
from broker.requests.context import RequestContext
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.rights import UNLIMITED
from tests.unit.broker.replica_fixture import Replicas


def ask(
    replicas: Replicas, epoch: int, partition: int = 0, current: int = -1
) -> tuple[int, int, int]:
    """Error, epoch and end offset."""
    answers: list[OffsetForLeaderEpochResponse] = []
    asked = OffsetForLeaderPartition(partition, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [asked])])
    context = RequestContext(23, 4, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
    OffsetForLeaderEpochApi(replicas.manager).handle(context, request, answers.append)
    ((answer,),) = [topic.partitions for topic in answers[0].topics]
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    """Epoch 0 has offsets 0 and 1, epoch 1 none, epoch 2 offset 2."""
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    replicas.append("t", b"a", b"b")
    replicas.move_leader("t", 1)
    replicas.move_leader("t", 1)
    replicas.append("t", b"c")
    return replicas


def test_an_epoch_ends_where_the_next_begins(replicas: Replicas) -> None:
    assert ask(replicas, 0) == (0, 0, 2)
    assert ask(replicas, 2) == (0, 2, 3)


def test_an_epoch_of_the_future_is_undefined(replicas: Replicas) -> None:
    assert ask(replicas, 7) == (0, -1, -1)


def test_refusals(replicas: Replicas) -> None:
    assert ask(replicas, 0, partition=5) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert ask(replicas, 0, current=1) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert ask(replicas, 0, current=-2) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert ask(replicas, 0, current=3) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)


def test_a_failure_of_ours_is_said_for_every_partition() -> None:
    asked = OffsetForLeaderPartition(4)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", [asked])])
    (topic,) = refuse_epochs(request, ErrorCode.UNKNOWN_SERVER_ERROR).topics
    assert [(p.partition, p.error_code) for p in topic.partitions] == [(4, -1)]
