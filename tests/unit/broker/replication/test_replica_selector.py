"""Which replica a consumer of a rack is told to read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.replica_selector import NO_PREFERENCE, rack_aware
from tests.unit.broker.replication.leader_fixture import Leader

RACKS = {1: "a", 2: "b", 3: "b", 4: "c"}


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    leader = Leader(str(tmp_path), replicas=(1, 2, 3, 4))
    for broker_id, rack in RACKS.items():
        leader.replicas.register(broker_id, broker_id * 10, rack=rack)
    leader.append(5)
    for broker_id in (2, 3, 4):
        leader.fetch(broker_id, 5)
    return leader


def choose(leader: Leader, rack: str, offset: int = 2, listener: str = "PLAINTEXT") -> int:
    assert leader.partition.followers is not None
    brokers = leader.replicas.image.brokers
    return rack_aware(rack, offset, leader.partition.followers, brokers, 1, listener)


def test_one_of_the_rack_and_of_several_the_last_by_id(leader: Leader) -> None:
    assert choose(leader, "c") == 4
    assert choose(leader, "b") == 3


def test_the_one_that_has_most_then_the_one_that_had_all_last(leader: Leader) -> None:
    leader.run(100)
    leader.fetch(2, 5)
    assert choose(leader, "b") == 2
    leader.append(1)
    leader.fetch(3, 6)
    assert choose(leader, "b") == 3


def test_the_leader_where_it_is_in_the_rack_or_nobody_is(leader: Leader) -> None:
    assert choose(leader, "a") == NO_PREFERENCE
    assert choose(leader, "elsewhere") == NO_PREFERENCE


def test_nobody_who_could_not_answer(leader: Leader) -> None:
    assert choose(leader, "c", offset=6) == NO_PREFERENCE
    assert choose(leader, "c", listener="OUTSIDE") == NO_PREFERENCE
    leader.replicas.register(4, 40, rack="c", fenced=True)
    assert choose(leader, "c") == NO_PREFERENCE
    leader.commit([1, 2])
    assert choose(leader, "b") == 2
    leader.partition.followers.replicas[2].log_start_offset = 3  # type: ignore[union-attr]
    assert choose(leader, "b", offset=2) == NO_PREFERENCE
