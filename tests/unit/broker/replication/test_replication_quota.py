"""How many bytes of which partitions may be copied in a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.keys import LEADER_RATE
from broker.config.parse import single_node_config
from broker.replication.replication_quota import (
    LEADER_REPLICAS,
    UNLIMITED,
    ReplicationQuota,
    throttled_partitions,
)
from controller.metadata.image import ResourceType
from protocol.messages.metadata_records import ConfigRecord
from tests.unit.broker.replica_fixture import Replicas


class Clock:
    now_ms = 1_000_000.0

    def __call__(self) -> float:
        return self.now_ms


def quota(clock: Clock, rate: int = UNLIMITED) -> ReplicationQuota:
    made = ReplicationQuota(LEADER_RATE, LEADER_REPLICAS, single_node_config(), clock)
    made.rate = rate
    return made


def test_the_rate_is_over_the_time_since_the_oldest_sample() -> None:
    clock = Clock()
    throttle = quota(clock, rate=1000)
    throttle.record(1000)
    assert throttle.measured() == 1000  # a first second counts whole
    assert not throttle.is_exceeded()
    throttle.record(1)
    assert throttle.is_exceeded()
    clock.now_ms += 2000
    assert throttle.measured() == pytest.approx(500.5)
    assert not throttle.is_exceeded()


def test_what_left_the_window_does_not_count() -> None:
    clock = Clock()
    throttle = quota(clock, rate=1)
    throttle.record(10_000_000)
    clock.now_ms += 10_999  # eleven samples of one second
    assert throttle.is_exceeded()
    clock.now_ms += 1
    assert throttle.measured() == 0
    assert not throttle.is_exceeded()


def test_without_a_rate_nothing_is_exceeded() -> None:
    throttle = quota(Clock())
    throttle.record(2**62)
    assert not throttle.is_exceeded()


def test_a_rate_of_zero_stops_at_the_first_byte() -> None:
    throttle = quota(Clock(), rate=0)
    assert not throttle.is_exceeded()
    throttle.record(1)
    assert throttle.is_exceeded()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:1,2:1,1:3", {0, 2}), ("*", None), ("", set()), ("0:11", set()), (" 4:1 ", {4})],
)
def test_which_partitions_a_list_names(text: str, expected: set[int] | None) -> None:
    assert throttled_partitions(text.split(","), 1) == expected


def test_the_metadata_sets_rate_and_partitions_and_takes_them_back(tmp_path: Path) -> None:
    replicas = Replicas(str(tmp_path))
    throttle = replicas.manager.leader_quota
    replicas.create("t", 2)
    replicas.replay(
        ConfigRecord(ResourceType.BROKER, "1", LEADER_RATE, "1000"),
        ConfigRecord(ResourceType.BROKER, "", LEADER_RATE, "5"),
        ConfigRecord(ResourceType.BROKER, "2", LEADER_RATE, "7"),
        ConfigRecord(ResourceType.TOPIC, "t", LEADER_REPLICAS, "1:1,0:2"),
    )
    assert throttle.rate == 1000
    assert replicas.manager.follower_quota.rate == UNLIMITED
    assert not throttle.is_throttled("t", 0)
    assert throttle.is_throttled("t", 1)
    assert not replicas.manager.follower_quota.is_throttled("t", 1)
    replicas.replay(
        ConfigRecord(ResourceType.BROKER, "1", LEADER_RATE, None),
        ConfigRecord(ResourceType.TOPIC, "t", LEADER_REPLICAS, None),
    )
    assert throttle.rate == 5
    assert not throttle.is_throttled("t", 1)
