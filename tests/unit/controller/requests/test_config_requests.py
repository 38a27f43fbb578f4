"""`config_requests`: each resource on its own. Words: `test_controller_apis`."""

from __future__ import annotations

from protocol.messages import incremental_alter_configs as change
from protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.unit.controller.controller_fixture import OneNode

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8


def node_with_topics(*names: str) -> OneNode:
    node = OneNode().start()
    node.register()
    node.call(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names]), 7)
    return node


def resource(kind: int, name: str, key: str, value: str) -> change.AlterConfigsResource:
    return change.AlterConfigsResource(kind, name, [change.AlterableConfig(key, 0, value)])


def test_each_resource_on_its_own() -> None:
    node = node_with_topics("a", "b")
    request = change.IncrementalAlterConfigsRequest(
        [
            resource(TOPIC, "a", "retention.ms", "5"),
            resource(TOPIC, "b", "retention.ms", "x"),
            resource(BROKER, "1", "log.cleaner.threads", "2"),
        ]
    )
    answer = node.call(request, 1)
    assert [response.error_code for response in answer.responses] == [0, 40, 0]
    assert node.node.image.config(TOPIC, "a") == {"retention.ms": "5"}
    assert node.node.image.config(TOPIC, "b") == {}
    assert node.node.image.config(BROKER, "1") == {"log.cleaner.threads": "2"}


def test_validate_only_writes_nothing() -> None:
    node = node_with_topics("a")
    end = node.node.raft.end_offset
    request = change.IncrementalAlterConfigsRequest(
        [resource(TOPIC, "a", "retention.ms", "5")], True
    )
    assert node.call(request, 1).responses[0].error_code == 0
    replaced = [AlterConfigsResource(TOPIC, "a", [AlterableConfig("retention.ms", "5")])]
    assert node.call(AlterConfigsRequest(replaced, True), 2).responses[0].error_code == 0
    assert node.node.raft.end_offset == end


def test_loggers_do_not_come_here() -> None:
    node = node_with_topics()
    request = change.IncrementalAlterConfigsRequest([resource(BROKER_LOGGER, "1", "root", "INFO")])
    assert node.call(request, 1).responses[0].error_code == 42


def test_five_thousand_configs_at_once() -> None:
    """C6: applied whole."""
    node = node_with_topics()
    configs = [change.AlterableConfig(f"key-{i}", 0, "v") for i in range(5_000)]
    request = change.IncrementalAlterConfigsRequest(
        [change.AlterConfigsResource(BROKER, "1", configs)]
    )
    assert [r.error_code for r in node.call(request, 1).responses] == [0]
    assert len(node.node.image.config(BROKER, "1")) == 5_000


def test_more_text_than_a_batch_should_hold_is_refused_whole() -> None:
    node = node_with_topics()
    before = dict(node.node.image.configs)
    configs = [change.AlterableConfig(f"key-{i}", 0, "v" * 30_000) for i in range(300)]
    request = change.IncrementalAlterConfigsRequest(
        [change.AlterConfigsResource(BROKER, "1", configs)]
    )
    assert [r.error_code for r in node.call(request, 1).responses] == [44]
    assert dict(node.node.image.configs) == before


def test_too_many_records_are_refused_whole() -> None:
    """C6, KAFKA-14996: an alter that is larger than a batch may be."""
    node = node_with_topics()
    before = dict(node.node.image.configs)
    configs = [change.AlterableConfig(f"key-{i}", 0, "v") for i in range(10_001)]
    request = change.IncrementalAlterConfigsRequest(
        [change.AlterConfigsResource(BROKER, "1", configs), resource(BROKER, "", "k", "v")]
    )
    assert [r.error_code for r in node.call(request, 1).responses] == [44, 44]
    assert dict(node.node.image.configs) == before
