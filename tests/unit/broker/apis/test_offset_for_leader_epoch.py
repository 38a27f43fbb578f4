from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi, refuse_epochs
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import Allowed, Heard, ListJudge, on_cluster, on_topic


def ask(
    replicas: Replicas, epoch: int, partition: int = 0, current: int = -1
) -> tuple[int, int, int]:
    """Error, epoch and end offset."""
    answers: list[OffsetForLeaderEpochResponse] = []
    asked = OffsetForLeaderPartition(partition, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [asked])])
    context = RequestContext(23, 4, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
    OffsetForLeaderEpochApi(replicas.manager, Turns().answers).handle(
        context, request, answers.append
    )
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


@pytest.mark.parametrize(
    ("allowed", "seen"),
    [
        (set(), []),
        (on_topic(Operation.DESCRIBE, "u"), ["u"]),
        (on_cluster(Operation.CLUSTER_ACTION), ["t", "u"]),
    ],
)
def test_a_topic_is_for_its_describers_and_for_brokers(
    tmp_path: Path, allowed: set[Allowed], seen: list[str]
) -> None:
    replicas = Replicas(str(tmp_path))
    for name in ("t", "u"):
        replicas.create(name)
    asked = [OffsetForLeaderPartition(0, -1, 0)]
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(n, asked) for n in ("t", "u")])
    answers: list[OffsetForLeaderEpochResponse] = []
    audit = Heard()
    rights = ListJudge(allowed).rights(audit)
    context = RequestContext(23, 4, 1, "me", "here", "PLAINTEXT", "c", rights)
    OffsetForLeaderEpochApi(replicas.manager, Turns().answers).handle(
        context, request, answers.append
    )
    told = {topic.topic: topic.partitions[0].error_code for topic in answers[0].topics}
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert told == {name: 0 if name in seen else denied for name in ("t", "u")}
    # That a client is no broker is nothing to tell.
    assert audit.names == ([] if len(seen) == 2 else ["t", "u"])
