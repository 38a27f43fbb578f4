"""Named scenarios of replication (R2 to R12): told step by step, judged by all invariants."""

from __future__ import annotations

import random
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from tests.simulation.admins import Deleting
from tests.simulation.fetched_batches import records_of
from tests.simulation.scenario import Scenario
from tests.simulation.stories import power_lost_beside_one_other

pytestmark = pytest.mark.slow

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_r2_a_zombie_leader_acknowledges_nothing(seed: int) -> None:
    """SIGSTOP past its session, then it resumes with queued produces."""
    story = Scenario(seed)

    def tell() -> None:
        story.producers()
        story.run_for(1_000)
        zombie = story.leader()
        zombie.pause()
        queued = [story.produce("orders", 0, zombie, acks=acks) for acks in (-1, -1, 1)]
        story.new_leader(zombie)
        story.run_for(500)
        zombie.resume(random.Random(seed))
        assert story.settled(queued[0]) is not ErrorCode.NONE
        assert story.settled(queued[1]) is not ErrorCode.NONE
        late = story.settled(story.produce("orders", 0, zombie))
        assert late is ErrorCode.NOT_LEADER_OR_FOLLOWER
        story.run_for(2_000)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_r3_a_follower_that_missed_the_high_watermark_loses_nothing(seed: int) -> None:
    """KIP-101, case 1: it restarts with its log ahead of its high watermark, its leader dies."""
    story = Scenario(seed)

    def tell() -> None:
        story.producers()
        follower = story.followers()[0]
        log = story.replica(follower).log
        story.run_until(lambda: log.high_watermark < log.log_end_offset, 10_000)
        story.kill(follower)
        leader = story.leader()
        follower.start()
        story.run_until(lambda: follower.serving, 20_000)
        story.kill(leader)
        story.new_leader(leader)
        story.run_for(1_000)
        story.start(leader)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_r4_fast_failovers_leave_equal_logs(seed: int) -> None:
    """Each leader has a record that nobody else has; epochs may stay empty (KIP-279)."""
    story = Scenario(seed)

    def tell() -> None:
        assert story.settled(story.produce("orders", 0, story.leader())) is ErrorCode.NONE
        for turn in range(4):
            leader = story.leader()
            story.isolate(leader)
            if turn != 2:  # one epoch stays empty
                story.produce("orders", 0, leader, acks=1, count=turn + 1)
            story.run_for(100)
            story.kill(leader)
            story.network.links.heal()
            story.new_leader(leader)
            story.start(leader)
            story.in_sync(leader)

    story.run(tell)
    ends = {story.replica(one).log.log_end_offset for one in story.brokers}
    assert len(ends) == 1


def test_r5_a_consumer_sees_the_truncation_of_an_unclean_election() -> None:
    """It stands beyond the new leader's end: it is told where the histories part, not to reset."""
    layout = Layout.apart(3, 3)
    story = Scenario(1, layout=layout)
    story.promises.unclean_topics = ("risky",)

    def tell() -> None:
        _create_risky(story)
        first = story.leader("risky")
        others = story.followers("risky")
        for _ in range(5):
            assert story.settled(story.produce("risky", 0, first)) is ErrorCode.NONE
        story.run_for(1_000)
        story.kill(*others)
        story.run_until(lambda: len(story.replica(first, "risky").isr) == 1, 20_000)
        for _ in range(3):
            assert story.settled(story.produce("risky", 0, first)) is ErrorCode.NONE
        epoch = story.replica(first, "risky").leader_epoch
        assert len(_fetch(story, first, 0, -1, epoch)[1]) == 8
        story.kill(first)
        story.start(others[0])
        second = story.new_leader(first, "risky")
        story.run_until(lambda: story.replica(second, "risky").is_leader, 5_000)
        now = story.replica(second, "risky").leader_epoch
        assert now > epoch
        assert story.settled(story.produce("risky", 0, second)) is ErrorCode.NONE
        diverging, records = _fetch(story, second, 8, epoch, now)
        assert not records
        assert (diverging.epoch, diverging.end_offset) == (epoch, 5)
        assert _end_of_epoch(story, second, epoch, now) == 5
        _, records = _fetch(story, second, 5, epoch, now)
        assert records == [(5, b"plain-script/9")]
        story.start(first, others[1])

    _without_reading(story)
    story.run(tell)
    logs = [story.replica(one, "risky").log for one in story.view.brokers]
    assert {log.log_end_offset for log in logs} == {6}


def _create_risky(story: Scenario) -> None:
    configs = [
        CreatableTopicConfig("unclean.leader.election.enable", "true"),
        CreatableTopicConfig("min.insync.replicas", "1"),
    ]
    request = CreateTopicsRequest([CreatableTopic("risky", 1, 3, configs=configs)], 5_000)
    response = story.ask(request, 7, story.leader())
    assert response.topics[0].error_code == 0
    story.run_for(500)


def _without_reading(story: Scenario) -> None:
    """What was acknowledged may be gone, as the topic allows: the watchers do not hear of it."""
    story.network.watchers.clear()


def _fetch(
    story: Scenario, leader: SimBroker, offset: int, last_epoch: int, epoch: int
) -> tuple[Any, list[tuple[int, bytes]]]:
    part = FetchPartition(0, epoch, offset, last_epoch, partition_max_bytes=100_000)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=100, min_bytes=1, topics=[FetchTopic("risky", bytes(16), [part])]
    )
    told = story.ask(request, 12, leader).responses[0].partitions[0]
    assert told.error_code == 0
    return told.diverging_epoch, [one for one in records_of(told.records) if one[0] >= offset]


def _end_of_epoch(story: Scenario, leader: SimBroker, epoch: int, now: int) -> int:
    asked = OffsetForLeaderTopic("risky", [OffsetForLeaderPartition(0, now, epoch)])
    response = story.ask(OffsetForLeaderEpochRequest(-1, [asked]), 4, leader)
    end: int = response.topics[0].partitions[0].end_offset
    return end


@pytest.mark.parametrize("seed", SEEDS)
def test_r6_log_start_inside_a_batch_while_a_follower_is_down(seed: int) -> None:
    """The follower returns, catches up without a loop, and leads."""
    story = Scenario(seed)

    def tell() -> None:
        leader = story.leader("clicks")
        follower = story.followers("clicks")[0]
        for _ in range(5):
            sent = story.produce("clicks", 0, leader, count=4)
            assert story.settled(sent) is ErrorCode.NONE
        story.kill(follower)
        story.run_until(lambda: len(story.replica(leader, "clicks").isr) == 2, 20_000)
        _delete_before(story, leader, 10)
        story.start(follower)
        story.in_sync(follower)
        story.kill(*[one for one in story.brokers if one is not follower])
        story.start(*[one for one in story.brokers if one is not follower])
        story.in_sync(*story.brokers)
        story.run_for(2_000)

    story.run(tell)
    assert {story.replica(one, "clicks").log.log_start_offset for one in story.brokers} == {10}


def _delete_before(story: Scenario, leader: SimBroker, offset: int) -> None:
    topic = story.view.newest_image().topics.get("clicks")
    assert topic is not None
    asked = DeleteRecordsTopic("clicks", [DeleteRecordsPartition(0, offset)])
    about = Deleting(topic.id, 0, offset)
    exchange = story.send(DeleteRecordsRequest([asked], 5_000), 2, leader, about=about)
    assert exchange is not None
    story.run_until(lambda: exchange.outcome is not None, 9_000)
    assert exchange.response.topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("towards_leader", [False, True])
def test_r8_a_one_way_link_acknowledges_nothing_below_min_isr(
    seed: int, towards_leader: bool
) -> None:
    """The leader's heartbeats do not keep it in office where no answer reaches it: a connection
    that it gives up is never made again."""
    story = Scenario(seed)

    def tell() -> None:
        leader = story.leader()
        for one in story.followers():
            ways = (one, leader) if towards_leader else (leader, one)
            story.network.links.cut(ways[0].address, ways[1].address)
        sent = [story.produce("orders", 0, leader) for _ in range(3)]
        assert all(story.settled(one) is not ErrorCode.NONE for one in sent)
        assert story.new_leader(leader) is not leader
        story.run_for(2_000)

    story.run(tell)


def test_r10_below_min_isr_nothing_is_acknowledged_and_the_high_watermark_stands() -> None:
    story = Scenario(1, layout=Layout.apart(3, 3))

    def tell() -> None:
        leader = story.leader()
        assert story.settled(story.produce("orders", 0, leader)) is ErrorCode.NONE
        story.kill(*story.followers())
        waiting = story.produce("orders", 0, leader)
        assert story.settled(waiting) in (
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode.REQUEST_TIMED_OUT,
        )
        replica = story.replica(leader)
        story.run_until(lambda: len(replica.isr) == 1, 20_000)
        high = replica.log.high_watermark
        refused = story.settled(story.produce("orders", 0, leader))
        assert refused is ErrorCode.NOT_ENOUGH_REPLICAS
        assert story.settled(story.produce("orders", 0, leader, acks=1)) is ErrorCode.NONE
        story.run_for(1_000)
        assert replica.log.high_watermark == high

    story.run(tell)


@pytest.mark.parametrize("seed", range(6))
def test_r12_everyone_dies_and_one_disk_is_empty(seed: int) -> None:
    """Nothing acknowledged is lost; the wiped one is not in sync until it has caught up (I14)."""
    story = Scenario(seed)

    def tell() -> None:
        story.producers()
        story.run_for(2_000)
        leader = story.leader()
        victim = [leader, *story.followers()][seed % 3]
        story.kill(*story.brokers)
        for invariant in story.invariants:
            invariant.power_lost(victim)
        victim.wipe()
        for node in random.Random(seed).sample(story.brokers, len(story.brokers)):
            node.start()
            story.run_for(400)
        story.run_until(lambda: all(one.serving for one in story.brokers), 20_000)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replica_that_lost_power_does_not_lead_though_it_was_in_sync(seed: int) -> None:
    power_lost_beside_one_other(seed)
