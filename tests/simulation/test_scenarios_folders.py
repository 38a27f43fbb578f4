"""A log directory leaves `log.dirs` and comes back, in a cluster: nothing acknowledged is lost."""

from __future__ import annotations

import pytest

from broker.config.parse import with_overrides
from controller.metadata.image import NO_LEADER
from protocol.errors import ErrorCode
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from tests.simulation.scenario import Scenario

pytestmark = pytest.mark.slow

AWAY = "/more"
BOTH = f"/data,{AWAY}"


def put_away(story: Scenario, *brokers: SimBroker) -> None:
    """Move the replicas of one partition into the second directory (AlterReplicaLogDirs)."""
    for broker in brokers:
        partition = story.replica(broker)
        broker.replicas.mover.move(partition, AWAY)
    story.run_until(lambda: all(story.replica(one).log.log_dir == AWAY for one in brokers), 10_000)
    story.run_for(500)


def held_in(broker: SimBroker, log_dir: str) -> list[tuple[str, int]]:
    found = broker.replicas.partitions()
    return [(one.topic, one.index) for one in found if one.log.log_dir == log_dir]


def with_dirs(story: Scenario, log_dirs: str, *brokers: SimBroker) -> None:
    """Let brokers, which are dead, start with these directories."""
    for broker in brokers:
        broker.config = with_overrides(broker.config, {"log.dirs": log_dirs})
    story.start(*brokers)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_folder_of_one_broker_is_away_for_one_start(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Others lead; what it had is copied anew, as in Kafka; and when the folder is back, the
    replica is the one that the metadata names, whichever is longer. (Kafka does not start then.)"""
    story = Scenario(seed, properties={"log.dirs": BOTH})

    def tell() -> None:
        story.producers()
        story.run_for(1_000)
        broker = story.leader()
        put_away(story, broker)
        moved = held_in(broker, AWAY)
        story.kill(broker)
        with_dirs(story, "/data", broker)
        for topic, index in moved:
            assert story.leader(topic, index) is not broker
        story.in_sync(broker)
        for topic, index in moved:
            assert story.replica(broker, topic, index).log.log_dir == "/data"
        story.run_for(1_000)
        story.kill(broker)
        with_dirs(story, BOTH, broker)
        story.in_sync(broker)
        for topic, index in moved:
            assert story.replica(broker, topic, index).log.log_dir == "/data"
        asides = [name for name in broker.disk.list_dir(AWAY) if name.endswith("-stray")]
        assert len(asides) >= len(moved)
        leader = story.leader(*moved[0])
        produced = story.settled(story.produce(*moved[0], leader))
        assert produced is ErrorCode.NONE

    story.run(tell)
    assert any("copied anew from other brokers" in one.getMessage() for one in caplog.records)


def test_a_folder_of_all_brokers_is_away_for_one_start() -> None:
    """What had all its replicas there has no leader. Whoever heard of another's loss after its own
    start has begun to copy from that one, has got nothing, and is not in sync."""
    story = Scenario(3, properties={"log.dirs": BOTH})

    def tell() -> None:
        story.producers()
        story.run_for(1_500)
        brokers = story.view.brokers
        put_away(story, *brokers)
        lost = [("orders", 0)]
        ends = {one: story.replica(brokers[0], *one).log.log_end_offset for one in lost}
        story.kill(*brokers)
        with_dirs(story, "/data", *brokers)
        story.run_for(5_000)
        image = story.view.newest_image().topics
        for topic, index in lost:
            partition = image.partition(topic, index)
            assert partition is not None and partition.leader == NO_LEADER
            assert partition.isr == () and partition.elr == ()
            copies = [one for b in brokers if (one := b.replicas.partition(topic, index))]
            assert all(copy.log.log_end_offset == 0 and not copy.is_leader for copy in copies)
            assert len(copies) < len(brokers)
        story.kill(*brokers)
        with_dirs(story, BOTH, *brokers)
        story.in_sync(*brokers)
        for one in lost:
            assert story.replica(story.leader(*one), *one).log.log_end_offset >= ends[one]

    story.run(tell)


@pytest.mark.parametrize("last", [False, True])
def test_the_folder_of_a_partition_is_gone(last: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Also of the broker that was in sync last: it does not lead with nothing, before which the
    others would cut what they have. (So Kafka.) It is copied from the others."""
    story = Scenario(4)

    def tell() -> None:
        story.producers()
        story.run_for(6_500)  # the high watermarks are in their checkpoints
        broker = story.leader()
        others = story.followers()
        if last:
            story.kill(*others)
            story.run_for(4_000)
        story.kill(broker)
        broker.disk.remove_tree("/data/orders-0")
        broker.start()
        story.run_for(4_000)
        assert broker.replicas.partition("orders", 0) is None or not last
        if last:
            story.start(*others)
        assert story.leader() is not broker
        story.in_sync(broker)

    story.run(tell)
    assert any("its folder is gone from /data" in one.getMessage() for one in caplog.records)


def test_who_lost_the_end_of_its_log_does_not_lead_those_who_have_it() -> None:
    """All were stopped cleanly, it last. So Kafka: it leads, and the others cut theirs."""
    story = Scenario(5, layout=Layout.apart(3, 3))

    def tell() -> None:
        story.producers()
        story.run_for(2_000)
        last = story.leader()
        others = story.followers()
        for broker in (*others, last):
            gone: list[bool] = []
            broker.stop(lambda gone=gone: gone.append(True))  # type: ignore[misc]
            story.run_until(lambda gone=gone: bool(gone), 30_000)  # type: ignore[misc]
        path = f"/data/orders-0/{0:020d}.log"
        last.disk.replace_atomically(path, last.disk.read(path)[:-100])
        last.start()
        story.run_until(lambda: last.serving, 20_000)
        story.run_for(2_000)
        story.start(*others)
        assert story.leader() is not last
        story.in_sync(last)

    story.run(tell)
