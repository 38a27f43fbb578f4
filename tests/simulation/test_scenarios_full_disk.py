"""S7 in a cluster: one of a broker's two log directories is full, or gives EIO.

Clients get KAFKA_STORAGE_ERROR, the other directory goes on serving, others lead what was in the
full one within 60 s, nothing is appended after the append that failed (KAFKA-10778), and nothing
acknowledged is lost: all invariants watch.
"""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from tests.simulation.scenario import Scenario

FULL = "/more"
MOVES_WITHIN_MS = 60_000
TWO_DIRS = {"log.dirs": f"/data,{FULL}"}


def led_here(broker: SimBroker, log_dir: str) -> list[Partition]:
    """What a broker leads in one of its log directories."""
    partitions = broker.replicas.partitions()
    return [one for one in partitions if one.is_leader and one.log.log_dir == log_dir]


def in_sync_elsewhere(story: Scenario, broker: SimBroker) -> bool:
    """Whether a broker is in sync with all that it has in its other directory."""
    held = [one for one in broker.replicas.partitions() if one.log.log_dir != FULL]
    leaders = [story.leader(one.topic, one.index) for one in held]
    return bool(held) and all(
        broker.node_id in story.replica(leader, one.topic, one.index).isr
        for leader, one in zip(leaders, held, strict=True)
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_s7_a_full_log_directory(seed: int, number: int) -> None:
    story = Scenario(seed, properties=TWO_DIRS)
    # A broker may log what its disk says; no fault comes by chance all the same.
    story.faults = replace(story.faults, disk_error=1.0)

    def tell() -> None:
        story.producers()
        story.run_for(1_000)
        broker = next((one for one in story.brokers if led_here(one, FULL)), None)
        assert broker is not None, "nobody leads what lies in the second directory"
        failing = led_here(broker, FULL)[0]
        calls = len(broker.disk.calls)
        broker.disk.inject("append", number, path_part=f"{FULL}/", count=1_000_000)
        began_ms = story.world.now_ms
        refused = story.settled(story.produce(failing.topic, failing.index, broker))
        assert refused in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        story.new_leader(broker, failing.topic, failing.index)
        assert story.world.now_ms - began_ms <= MOVES_WITHIN_MS
        assert broker.alive
        assert (
            broker.replicas.partition(failing.topic, failing.index) is None or failing.log.offline
        )
        again = story.settled(story.produce(failing.topic, failing.index, broker))
        assert again is not ErrorCode.NONE
        for one in led_here(broker, "/data"):
            told = story.settled(story.produce(one.topic, one.index, broker))
            assert told is ErrorCode.NONE
        story.run_for(5_000)
        story.run_until(lambda: in_sync_elsewhere(story, broker), 30_000)
        appends = [
            path
            for operation, path in broker.disk.calls[calls:]
            if operation == "append" and path.startswith(f"{FULL}/")
        ]
        assert len(appends) == 1, "an append after one that failed"
        broker.disk.heal()
        story.kill(broker)
        story.start(broker)
        story.in_sync(broker)

    story.run(tell)
