"""Heartbeats that are refused whatever the group holds."""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.consumer.validation import TOPICS_MAX, heartbeat_fault
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)

JOIN = {
    "group_id": "g",
    "member_id": "m",
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}
OWNED = [ConsumerGroupHeartbeatRequestTopicPartitions(b"t" * 16, [0])]


def fault(version: int = 1, **said: Any) -> str | None:
    request = ConsumerGroupHeartbeatRequest(**{**JOIN, **said})
    found = heartbeat_fault(request, version, ["uniform", "range"])
    return None if found is None else found.code.name


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": ["t"] * TOPICS_MAX},
        {"subscribed_topic_names": None, "subscribed_topic_regex": ""},
        {"server_assignor": "range", "instance_id": "i", "rack_id": "r"},
        {"member_epoch": 3, "topic_partitions": None, "rebalance_timeout_ms": -1},
        {"member_epoch": -1, "topic_partitions": None},
        {"member_epoch": -2, "instance_id": "i", "topic_partitions": None},
        {"member_id": "", "version": 0},
    ],
)
def test_what_the_group_decides_about(said: dict[str, Any]) -> None:
    assert fault(**said) is None


@pytest.mark.parametrize(
    "said",
    [
        {"member_id": ""},
        {"member_id": "", "version": 0, "member_epoch": 2},
        {"member_id": "", "version": 0, "member_epoch": -1},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rack_id": " "},
        {"group_id": "\t"},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": OWNED},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": ["t"] * (TOPICS_MAX + 1)},
        {"member_epoch": 3, "subscribed_topic_names": ["t"] * (TOPICS_MAX + 1)},
        {"member_epoch": -2},
        {"member_epoch": -3},
    ],
)
def test_what_is_no_valid_request(said: dict[str, Any]) -> None:
    assert fault(**said) == "INVALID_REQUEST"


@pytest.mark.parametrize("name", ["nope", ""])
def test_an_assignor_that_is_not_configured(name: str) -> None:
    assert fault(server_assignor=name) == "UNSUPPORTED_ASSIGNOR"
