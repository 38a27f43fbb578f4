"""The quorum in /metrics, of stand-ins with what is read of the real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker.metrics import Metrics
from broker.node.metrics.quorum_metrics import register_quorum_metrics
from controller.raft.quorum_state import Role
from controller.raft.quorum_voters import QuorumVoters, VoterRecord
from controller.voter_set import VoterSet

NAME = "kafka_server_raft_metrics"


def node(*, leads: bool, voters: QuorumVoters | None = None, **raft: object) -> Any:
    topics = {"a": SimpleNamespace(partitions={0: 1, 1: 1}), "b": SimpleNamespace(partitions={})}
    return SimpleNamespace(
        metrics=Metrics(),
        controller=SimpleNamespace(
            raft=SimpleNamespace(leading=None, **raft)
            if not leads
            else SimpleNamespace(leading=SimpleNamespace(observers={9: None}), **raft),
            controller=SimpleNamespace(is_active=leads),
            voters=voters or QuorumVoters(VoterSet.of_ids(1, 2, 3)),
        ),
        image=SimpleNamespace(topics=SimpleNamespace(by_name=topics)),
    )


def shown(one: Any) -> dict[str, Any]:
    register_quorum_metrics(one)
    return {family.name: list(family.samples) for family in one.metrics.families()}


def test_the_leader_tells_the_topics_too() -> None:
    found = shown(
        node(
            leads=True,
            leader_id=1,
            epoch=7,
            voted_id=1,
            role=Role.LEADER,
            high_watermark=40,
            end_offset=42,
        )
    )
    for word, value in (("leader", 1), ("epoch", 7), ("vote", 1)):
        assert found[f"{NAME}_current_{word}"] == [({}, value)]
    assert found[f"{NAME}_current_state"] == [({"current_state": "leader"}, 1.0)]
    assert found[f"{NAME}_high_watermark"] == [({}, 40)]
    assert found[f"{NAME}_log_end_offset"] == [({}, 42)]
    assert found["kafka_topic_partitions"] == [({"topic": "a"}, 2.0), ({"topic": "b"}, 0.0)]


def test_what_is_not_known_is_minus_one_and_others_tell_no_topics() -> None:
    found = shown(
        node(
            leads=False,
            leader_id=None,
            epoch=0,
            voted_id=None,
            role=Role.UNATTACHED,
            high_watermark=None,
            end_offset=0,
        )
    )
    for word in ("current_leader", "current_vote", "high_watermark"):
        assert found[f"{NAME}_{word}"] == [({}, -1)]
    assert found[f"{NAME}_current_state"] == [({"current_state": "unattached"}, 1.0)]
    assert found["kafka_topic_partitions"] == []


def test_a_leader_tells_a_change_of_the_voters_until_it_is_committed() -> None:
    voters = QuorumVoters(VoterSet.of_ids(1, 2, 3))
    quorum = {"leader_id": 1, "epoch": 1, "voted_id": 1, "role": Role.LEADER, "end_offset": 50}
    numbers = ("number_of_voters", "number_of_observers", "uncommitted_voter_change")

    def told(high_watermark: int) -> list[float]:
        found = shown(node(leads=True, voters=voters, high_watermark=high_watermark, **quorum))
        values = [found[f"{NAME}_{name}"] for name in numbers]
        values.append(found["kafka_controller_kafkacontroller_ignoredstaticvoters"])
        return [value for ((_, value),) in values]

    assert told(40) == [3, 1, 0, 0]
    voters.appended(VoterRecord(44, voters=VoterSet.of_ids(1, 2, 3, 4)))
    assert told(44) == [4, 1, 1, 1]
    assert told(45) == [4, 1, 0, 1]
