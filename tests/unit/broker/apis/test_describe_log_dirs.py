from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.describe_log_dirs import DescribeLogDirsApi
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of

VERSIONS = range(1, 6)


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    replicas = Replicas(str(tmp_path))
    replicas.create("a", partitions=2)
    replicas.create("b")
    replicas.append("a", b"x" * 100, index=1)
    return replicas


def describe(
    replicas: Replicas, topics: list[DescribableLogDirTopic] | None, version: int = 5
) -> DescribeLogDirsResult:
    api = DescribeLogDirsApi(replicas.config.log_dirs, replicas.logs, Turns().answers)
    response = ask(api.handle, DescribeLogDirsRequest(topics), version)
    assert response.error_code == 0
    (result,) = response.results
    assert isinstance(result, DescribeLogDirsResult)
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, one.partition_index): one.partition_size
        for topic in result.topics
        for one in topic.partitions
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_log_with_its_size(replicas: Replicas, tmp_path: Path, version: int) -> None:
    result = describe(replicas, None, version)
    assert (result.error_code, result.log_dir) == (0, str(tmp_path))
    written = replicas.partition("a", 1).log.segments.size_bytes
    assert written > 100
    assert sizes(result) == {("a", 0): 0, ("a", 1): written, ("b", 0): 0}
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes
    else:
        assert result.usable_bytes == result.total_bytes == -1


def test_partitions_asked_for(replicas: Replicas) -> None:
    topics = [DescribableLogDirTopic("a", [1, 7]), DescribableLogDirTopic("none", [0])]
    assert list(sizes(describe(replicas, topics))) == [("a", 1)]
    assert describe(replicas, []).topics == []


def test_a_directory_that_failed(replicas: Replicas, tmp_path: Path) -> None:
    replicas.failures.fail(str(tmp_path), "a test", OSError("disk is gone"))
    result = describe(replicas, None)
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (result.topics, result.total_bytes) == ([], -1)


def test_a_directory_that_fails_when_asked(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    def usage(log_dir: str) -> None:
        raise replicas.failures.fail(log_dir, "asking for room", OSError("disk is gone"))

    monkeypatch.setattr(replicas.logs, "usage", usage)
    assert describe(replicas, None).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_who_may_not_describe_the_cluster_sees_no_folder(replicas: Replicas) -> None:
    handle = DescribeLogDirsApi(replicas.config.log_dirs, replicas.logs, Turns().answers).handle
    others = rights_of(on_cluster(Operation.DESCRIBE_CONFIGS))
    for version in VERSIONS:
        answer = ask(handle, DescribeLogDirsRequest(None), version, rights=others)
        assert (answer.error_code, answer.results) == (31 if version >= 3 else 0, [])
    allowed = rights_of(on_cluster(Operation.DESCRIBE))
    answer = ask(handle, DescribeLogDirsRequest(None), 5, rights=allowed)
    assert (answer.error_code, len(answer.results)) == (0, 1)
