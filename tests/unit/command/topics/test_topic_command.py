"""`ottla topic`: words, what is printed, exit codes."""

from __future__ import annotations

import json

import click
import pytest

from command.topics import topic_command
from protocol.messages.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.client.topic_answers import cluster_of
from tests.unit.command.run_ottla import Ottla, ottla_on


@pytest.fixture
def cluster() -> ScriptedCluster:
    configs = [
        DescribeConfigsResourceResult("cleanup.policy", "delete", config_source=5),
        DescribeConfigsResourceResult("retention.ms", "5", config_source=1),
    ]
    return cluster_of(
        topic_of("orders", [1, 2], topic_id=bytes(16)),
        topic_of("__x", is_internal=True),
        DescribeConfigsRequest=lambda request: DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(0, None, 2, one.resource_name, configs)
                for one in request.resources
            ]
        ),
        CreateTopicsRequest=CreateTopicsResponse(
            topics=[CreatableTopicResult("new", num_partitions=3, replication_factor=1)]
        ),
        CreatePartitionsRequest=CreatePartitionsResponse(
            results=[CreatePartitionsTopicResult("orders")]
        ),
        IncrementalAlterConfigsRequest=IncrementalAlterConfigsResponse(
            responses=[AlterConfigsResourceResponse(0, None, 2, "orders")]
        ),
        DeleteTopicsRequest=DeleteTopicsResponse(responses=[DeletableTopicResult("orders")]),
    )


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [topic_command], monkeypatch, capfd)


def test_list(ottla: Ottla, cluster: ScriptedCluster) -> None:
    code, out, error = ottla("topic", "list")
    assert (code, error) == (0, "")
    assert out == (
        "TOPIC   PARTITIONS  REPLICAS  RECORDS  BYTES  CLEANUP\n"
        "orders  2           2         14       400 B  delete\n"
    )
    assert ottla("topic", "list", "-q", "--internal")[1] == "__x\norders\n"
    assert ottla("topic", "list", "-q", "--json")[1] == '{"topic": "orders"}\n'
    assert json.loads(ottla("topic", "list", "--json")[1])["bytes"] == 400
    cluster.known.clear()
    assert ottla("topic", "list") == (
        0,
        "",
        "ottla: no topics that you may see: ottla topic create NAME makes one\n",
    )


def test_create(ottla: Ottla) -> None:
    code, out, error = ottla("topic", "create", "new", "-c", "a=1", "--dry-run")
    assert (code, out.splitlines()[1].split()) == (0, ["new", "3", "1"])
    assert "nothing was made" in error
    assert ottla("topic", "create", "new", "--json")[1] == (
        '{"topic": "new", "partitions": 3, "replicas": 1}\n'
    )
    for wrong, said in ((["a/b"], "cannot be called"), (["a", "-c", "x"], "KEY=VALUE")):
        code, out, error = ottla("topic", "create", *wrong)
        assert (code, out) == (2, "") and said in error


def test_describe(ottla: Ottla) -> None:
    code, out, _ = ottla("topic", "describe", "orders")
    assert code == 0
    assert out.splitlines() == [
        "orders  id AAAAAAAAAAAAAAAAAAAAAA",
        "retention.ms=5",
        "PARTITION  LEADER  REPLICAS  ISR  START  END  BYTES",
        "0          1       1,2       1,2  3      10   100 B",
        "1          2       1,2       1,2  4      11   100 B",
    ]
    found = json.loads(ottla("topic", "describe", "orders", "--json")[1])
    assert found["configs"] == {"retention.ms": "5"}
    assert found["partitions"][1]["isr"] == [1, 2] and found["partitions"][1]["end"] == 11
    assert ottla("topic", "describe", "order")[0] == 1


def test_alter(ottla: Ottla, cluster: ScriptedCluster) -> None:
    code, out, error = ottla("topic", "alter", "orders", "a=1", "--unset", "b", "-p", "6")
    assert (code, out, error) == (0, "", "ottla: topic orders is changed\n")
    assert cluster.asked_for("CreatePartitionsRequest")[0].topics[0].count == 6
    assert "nothing was changed" in ottla("topic", "alter", "orders", "a=1", "--dry-run")[2]
    told = ottla("topic", "alter", "orders", "a=1", "--json")
    assert told == (0, '{"topic": "orders", "changed": true}\n', "")
    code, _, error = ottla("topic", "alter", "orders")
    assert code == 2 and "nothing to change" in error


def test_delete(ottla: Ottla, cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, error = ottla("topic", "delete", "orders")
    assert code == 2 and "add --force" in error
    assert ottla("topic", "delete", "orders", "--force") == (
        0,
        "",
        "ottla: topic orders is deleted\n",
    )
    told = ottla("topic", "delete", "orders", "--force", "--json")
    assert told == (0, '{"topic": "orders", "deleted": true}\n', "")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []
    monkeypatch.setattr(click, "confirm", lambda text, **_: asked.append(text))
    assert ottla("topic", "delete", "orders")[0] == 0
    assert asked == ["Delete orders and all records?"]
    assert ottla("topic", "delete", "other")[0] == 1


def test_a_group_of_commands_alone_is_its_help(ottla: Ottla) -> None:
    code, out, error = ottla("topic")
    assert (code, out) == (2, "") and error.startswith("Usage: ottla topic")
