"""Reconfiguration: parts are told of what is in force, when that changes and only then."""

from __future__ import annotations

import pytest

from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig
from broker.node.reconfiguration import Reconfiguration
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import ResourceType
from protocol.messages.metadata_records import ConfigRecord
from tests.unit.broker.apis.api_fixture import Cluster

BROKER, TOPIC = ResourceType.BROKER, ResourceType.TOPIC


class Node:
    def __init__(self) -> None:
        self.cluster = Cluster()
        self.told: list[BrokerConfig] = []
        self.reconfiguration = Reconfiguration(single_node_config({"num.io.threads": "5"}))
        self.reconfiguration.add(self.told.append)

    def set(self, name: str, text: str | None, resource: str = "1", kind: int = BROKER) -> None:
        before = self.cluster.image
        delta = MetadataDelta(before)
        delta.replay(ConfigRecord(kind, resource, name, text))
        self.cluster.set_config(kind, resource, name, text)
        self.reconfiguration.metadata_changed(delta, self.cluster.image)


@pytest.fixture
def node() -> Node:
    return Node()


def test_parts_are_told_of_what_is_in_force(node: Node) -> None:
    node.set("num.io.threads", "6", "")
    node.set("num.io.threads", "7", "1")
    node.set("num.io.threads", None, "1")
    node.set("num.io.threads", None, "")
    assert [one.num_io_threads for one in node.told] == [6, 7, 6, 5]
    assert node.reconfiguration.config.num_io_threads == 5


def test_parts_are_told_of_nothing_else(node: Node) -> None:
    node.set("num.io.threads", "6", "2")
    node.set("retention.ms", "6", "topic", TOPIC)
    node.set("log.retention.ms", "6", "1")
    node.set("num.io.threads", "five", "1")
    assert node.told == []


def test_who_comes_later_is_told_what_is_in_force(node: Node) -> None:
    later: list[BrokerConfig] = []
    node.reconfiguration.add(later.append)
    assert later == []
    node.set("num.io.threads", "6")
    last: list[BrokerConfig] = []
    node.reconfiguration.add(last.append)
    assert later == last == [node.reconfiguration.config]


def test_a_part_that_fails_keeps_no_other_from_its_change(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []

    def fail(_config: BrokerConfig) -> None:
        raise ZeroDivisionError

    node.reconfiguration.add(fail, lambda config: told.append(config.num_io_threads))
    node.set("num.io.threads", "6")
    assert told == [6]
    assert "did not take effect" in caplog.text
