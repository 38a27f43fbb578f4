"""What the controller answers about elections, reassignments, features and brokers: requests with
their answers as Apache Kafka gave them.

`python -m tests.golden.cluster_cases` records `cluster_answers_kafka.json` anew from a real
broker; `tests/unit/controller/requests/test_cluster_requests_kafka.py` gives the same requests to
Ottla's controller. The requests build on each other: order matters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller.metadata.version import LATEST_LEVEL
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.unregister_broker import UnregisterBrokerRequest
from protocol.messages.unregister_controller import UnregisterControllerRequest
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.golden.controller_cases import Case, ask, comparable, sorted_answer
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "cluster_answers_kafka.json"

PREFERRED, UNCLEAN = 0, 1
UPGRADE, SAFE, UNSAFE = 1, 2, 3
METADATA, ELR = "metadata.version", "eligible.leader.replicas.version"
BROKER = 4


def _elect(kind: int, *named: tuple[str, list[int]], everything: bool = False) -> Any:
    partitions = None if everything else [TopicPartitions(name, list(at)) for name, at in named]
    return ElectLeadersRequest(kind, partitions, 30_000)


def _election_cases() -> list[Case]:
    return [
        ("preferred", _elect(PREFERRED, ("foo", [0, 1])), 2),
        ("preferred v0", _elect(PREFERRED, ("foo", [0])), 0),
        ("unclean", _elect(UNCLEAN, ("foo", [0])), 2),
        ("everywhere", _elect(PREFERRED, everything=True), 2),
        ("nowhere", _elect(PREFERRED), 2),
        ("no such topic", _elect(PREFERRED, ("no-such", [0])), 2),
        ("no such partition", _elect(UNCLEAN, ("foo", [0, 9])), 2),
        ("unknown type", _elect(5, ("foo", [0])), 2),
    ]


def _move(name: str, index: int, replicas: list[int] | None, fixed: bool = False) -> Any:
    topic = ReassignableTopic(name, [ReassignablePartition(index, replicas)])
    return AlterPartitionReassignmentsRequest(30_000, not fixed, [topic])


def _list(*named: tuple[str, list[int]], everything: bool = False) -> Any:
    topics = [ListPartitionReassignmentsTopics(name, list(at)) for name, at in named]
    return ListPartitionReassignmentsRequest(30_000, None if everything else topics)


def _reassignment_cases() -> list[Case]:
    return [
        ("move to where it is", _move("foo", 0, [1]), 1),
        ("move v0", _move("foo", 0, [1]), 0),
        ("move to a stranger", _move("foo", 0, [9]), 1),
        ("move to nobody", _move("foo", 0, []), 1),
        ("move twice to one", _move("foo", 0, [1, 1]), 1),
        ("move with another factor", _move("foo", 0, [1, 9], fixed=True), 1),
        ("move to nobody, fixed factor", _move("foo", 0, [], fixed=True), 1),
        ("move in no such topic", _move("no-such", 0, [1]), 1),
        ("move no such partition", _move("foo", 9, [1]), 1),
        ("cancel nothing", _move("foo", 0, None), 1),
        ("cancel in no such topic", _move("no-such", 0, None), 1),
        ("move nothing", AlterPartitionReassignmentsRequest(30_000, True, []), 1),
        ("list all", _list(everything=True), 0),
        ("list some", _list(("foo", [0, 9]), ("no-such", [0])), 0),
    ]


def _levels(*updates: tuple[str, int, int], only: bool = False, down: bool = False) -> Any:
    keys = [FeatureUpdateKey(name, level, down, kind) for name, level, kind in updates]
    return UpdateFeaturesRequest(30_000, keys, only)


def _min_isr(broker: str, operation: int, value: str | None) -> Any:
    config = AlterableConfig("min.insync.replicas", operation, value)
    return IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, broker, [config])], False)


def _feature_cases() -> list[Case]:
    return [
        ("min isr of a broker", _min_isr("1", 0, "2"), 1),
        ("min isr of a broker, removed", _min_isr("1", 1, None), 1),
        ("min isr of the cluster, removed", _min_isr("", 1, None), 1),
        ("min isr of the cluster", _min_isr("", 0, "1"), 1),
        ("same level", _levels((METADATA, LATEST_LEVEL, UPGRADE)), 2),
        ("same level v0", _levels((METADATA, LATEST_LEVEL, UPGRADE)), 0),
        ("same level v1", _levels((METADATA, LATEST_LEVEL, UPGRADE)), 1),
        ("up too far", _levels((METADATA, 99, UPGRADE)), 2),
        ("up too far v1", _levels((METADATA, 99, UPGRADE)), 1),
        ("down as an upgrade", _levels((METADATA, LATEST_LEVEL - 1, UPGRADE)), 2),
        ("down safely", _levels((METADATA, LATEST_LEVEL - 1, SAFE)), 2),
        ("down unsafely", _levels((METADATA, LATEST_LEVEL - 1, UNSAFE)), 2),
        ("down, v0", _levels((METADATA, LATEST_LEVEL - 1, UPGRADE), down=True), 0),
        ("up as a downgrade", _levels((METADATA, LATEST_LEVEL + 1, SAFE)), 2),
        ("below the minimum", _levels((METADATA, 6, SAFE)), 2),
        ("zero", _levels((METADATA, 0, UNSAFE)), 2),
        ("negative", _levels((ELR, -1, UPGRADE)), 2),
        ("unknown type of upgrade", _levels((ELR, 1, 7)), 2),
        ("unknown feature", _levels(("no.such", 1, UPGRADE)), 2),
        ("unknown feature to zero", _levels(("no.such", 0, SAFE)), 2),
        ("elr off, only a look", _levels((ELR, 0, SAFE), only=True), 2),
        ("elr off as an upgrade", _levels((ELR, 0, UPGRADE)), 2),
        ("elr off", _levels((ELR, 0, SAFE)), 2),
        ("elr off again", _levels((ELR, 0, SAFE)), 2),
        ("elr up as a downgrade", _levels((ELR, 1, SAFE)), 2),
        ("elr on", _levels((ELR, 1, UPGRADE)), 2),
        ("elr too far", _levels((ELR, 2, UPGRADE)), 2),
        ("two, one wrong", _levels((ELR, 1, UPGRADE), (METADATA, LATEST_LEVEL - 1, SAFE)), 2),
        ("one twice", _levels((ELR, 1, UPGRADE), (ELR, 0, SAFE)), 2),
        ("none", _levels(), 2),
    ]


def cases() -> list[Case]:
    """(name, request, version) in their order."""
    return [
        ("create", CreateTopicsRequest([CreatableTopic("foo", 2, 1)], 30_000, False), 7),
        *_election_cases(),
        *_reassignment_cases(),
        *_feature_cases(),
        ("unregister a stranger", UnregisterBrokerRequest(7), 0),
        ("unregister a controller that is not there", UnregisterControllerRequest(7), 0),
        ("unregister the active controller", UnregisterControllerRequest(1), 0),
    ]


def record() -> None:
    """Ask a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    answers = {}
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        for name, request, version in cases():
            answer = sorted_answer(comparable(ask(kafka.port, request, version)))
            assert name not in answers, name
            answers[name] = answer
    write_json(RECORDED, answers, sort_keys=True)


if __name__ == "__main__":
    record()
