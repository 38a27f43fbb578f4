from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.alter_replica_log_dirs import AlterReplicaLogDirsApi, refuse_alter_log_dirs
from broker.apis.describe_log_dirs import DescribeLogDirsApi
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.metadata_records import PartitionChangeRecord
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of

VERSIONS = range(1, 3)


class Broker:
    def __init__(self, folder: Path) -> None:
        self.a, self.b = str(folder / "a"), str(folder / "b")
        self.replicas = Replicas(f"{self.a},{self.b}")
        self.replicas.create("t", partitions=2)
        self.replicas.append("t", b"x" * 100)
        self.api = AlterReplicaLogDirsApi((self.a, self.b), self.replicas.manager, Turns().answers)

    def alter(self, log_dir: str, topic: str = "t", index: int = 0, version: int = 2) -> ErrorCode:
        asked = AlterReplicaLogDir(log_dir, [AlterReplicaLogDirTopic(topic, [index])])
        response = ask(self.api.handle, AlterReplicaLogDirsRequest([asked]), version)
        return error_of(response)

    def shown(self) -> list[tuple[str, int, bool, int]]:
        """Folder, partition, whether it is a copy under way, and its lag."""
        api = DescribeLogDirsApi((self.a, self.b), self.replicas.logs, Turns().answers)
        response = ask(api.handle, DescribeLogDirsRequest(None), 5)
        return [
            (Path(result.log_dir).name, one.partition_index, one.is_future_key, one.offset_lag)
            for result in response.results
            for topic in result.topics
            for one in topic.partitions
        ]


def error_of(response: AlterReplicaLogDirsResponse) -> ErrorCode:
    ((partition,),) = [topic.partitions for topic in response.results]
    return ErrorCode(partition.error_code)


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_replica_moves(broker: Broker, version: int) -> None:
    assert broker.shown() == [("a", 0, False, 0), ("b", 1, False, 0)]
    assert broker.alter(broker.b, version=version) is ErrorCode.NONE
    assert broker.shown() == [("a", 0, False, 0), ("b", 1, False, 0), ("b", 0, True, 1)]
    broker.replicas.scheduler.run_for(1_000)
    assert broker.shown() == [("b", 1, False, 0), ("b", 0, False, 0)]
    assert broker.alter(broker.b) is ErrorCode.NONE, "where it lies already"


def test_a_folder_that_no_config_names(broker: Broker, tmp_path: Path) -> None:
    assert broker.alter(str(tmp_path / "c")) is ErrorCode.LOG_DIR_NOT_FOUND
    assert not (tmp_path / "c").exists()


def test_a_folder_or_a_log_that_failed(broker: Broker) -> None:
    broker.replicas.failures.fail(broker.b, "a test", OSError("disk"))
    assert broker.alter(broker.b) is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.alter(broker.a, index=1) is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_partition_that_comes_later_is_made_where_it_was_wanted(broker: Broker) -> None:
    assert broker.alter(broker.b, "u") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.replicas.create("u")
    assert broker.replicas.partition("u").log.log_dir == broker.b


def test_a_partition_of_other_brokers(broker: Broker) -> None:
    broker.replicas.create("elsewhere")
    moved = PartitionChangeRecord(
        0, topic_id_of("elsewhere"), replicas=[2, 3], isr=[2, 3], leader=2
    )
    broker.replicas.replay(moved)
    assert broker.alter(broker.b, "elsewhere") is ErrorCode.REPLICA_NOT_AVAILABLE
    assert broker.alter(broker.b, "elsewhere", 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_name_that_is_too_long_for_a_folder(broker: Broker) -> None:
    broker.replicas.create("l" * 201)
    assert broker.alter(broker.b, "l" * 201) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_refusal_names_every_partition(broker: Broker) -> None:
    asked = AlterReplicaLogDir(broker.b, [AlterReplicaLogDirTopic("t", [0])])
    request = AlterReplicaLogDirsRequest([asked])
    response = refuse_alter_log_dirs(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert error_of(response) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_copy_that_there_is_no_descriptor_for_is_refused(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.replicas.logs.descriptors.moves = lambda: 10**10
    assert broker.alter(broker.b) is ErrorCode.POLICY_VIOLATION
    assert "is not moved" in caplog.text and "ulimit -n" in caplog.text
    assert broker.shown() == [("a", 0, False, 0), ("b", 1, False, 0)]


def test_who_may_not_alter_the_cluster_moves_nothing(broker: Broker) -> None:
    topics = [AlterReplicaLogDirTopic("t", [0, 1])]
    asked = [
        AlterReplicaLogDir(broker.b, topics),
        AlterReplicaLogDir("/no", [AlterReplicaLogDirTopic("not", [7])]),
    ]
    before = broker.shown()
    others = rights_of(on_cluster(Operation.ALTER_CONFIGS))
    answer = ask(broker.api.handle, AlterReplicaLogDirsRequest(asked), 2, rights=others)
    assert [
        (topic.topic_name, one.partition_index, one.error_code)
        for topic in answer.results
        for one in topic.partitions
    ] == [("t", 0, 31), ("t", 1, 31), ("not", 7, 31)]
    assert broker.shown() == before
    allowed = rights_of(on_cluster(Operation.ALTER))
    moved = ask(broker.api.handle, AlterReplicaLogDirsRequest(asked[:1]), 2, rights=allowed)
    assert [one.error_code for one in moved.results[0].partitions] == [0, 0]
