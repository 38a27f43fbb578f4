"""Members of a share group in a cluster: coordinators die, and the group goes on.

The group's coordinator, the share coordinator and the partitions' leaders are brokers of a cluster
of three, mostly different ones.
"""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from simulation.machines.sim_broker import SimBroker
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import GROUP, first_coordinator, serves

SEEDS = (1, 2, 3)
TOPIC = "orders"
STATES = "__share_group_state"
AT_ONCE = {"group.share.assignment.interval.ms": "0"}
WITHIN_MS = 60_000
"""More than `group.share.initialize.retry.interval.ms`, and less than a session with heartbeats."""


class Member:
    """A member of the group, which knows its epoch."""

    def __init__(self, story: Scenario, name: str) -> None:
        self.story = story
        self.name = name
        self.epoch = 0
        self.partitions: list[int] = []

    def beat(self, to: SimBroker, *names: str) -> ErrorCode | None:
        """Send a heartbeat, and return its error; None without an answer."""
        request = ShareGroupHeartbeatRequest(
            GROUP, self.name, self.epoch, None, list(names) or None
        )
        answer = self.story.ask(request, 1, to)
        if answer is None:
            return None
        if answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.partitions = [
                    index
                    for topic in answer.assignment.topic_partitions
                    for index in topic.partitions
                ]
        return ErrorCode(answer.error_code)

    def join(self, to: SimBroker) -> None:
        assert self.beat(to, TOPIC) is ErrorCode.NONE

    def until_assigned(self, to: SimBroker, count: int) -> None:
        """Send heartbeats until the member has that many partitions."""

        def is_assigned() -> bool:
            assert self.beat(to) is ErrorCode.NONE
            self.story.run_for(1_000)
            return len(self.partitions) == count

        self.story.run_until(is_assigned, WITHIN_MS)


def partition_count(story: Scenario) -> int:
    topic = story.view.newest_image().topics.get(TOPIC)
    assert topic is not None
    return len(topic.partitions)


def described(story: Scenario, to: SimBroker) -> Any:
    return story.ask(ShareGroupDescribeRequest([GROUP]), 1, to).groups[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_members_go_on_after_the_coordinator_has_died(seed: int) -> None:
    story = Scenario(seed, properties=AT_ONCE)

    def tell() -> None:
        member, count = Member(story, "m"), partition_count(story)
        old = first_coordinator(story)
        member.join(old)
        member.until_assigned(old, count)
        before = described(story, old)
        story.kill(old)
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        assert described(story, new) == before
        epoch = member.epoch
        assert member.beat(new) is ErrorCode.NONE
        assert (member.epoch, len(member.partitions)) == (epoch, count)
        story.run_for(46_000)
        assert described(story, new).group_state == "Empty", "its session has ended"
        story.start(old)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_initialization_is_finished_by_the_next_coordinator(seed: int) -> None:
    """The first dies after it has answered the join, and hears of no result."""
    story = Scenario(seed, properties=AT_ONCE)

    def tell() -> None:
        member, count = Member(story, "m"), partition_count(story)
        old = first_coordinator(story)
        member.join(old)
        assert member.partitions == []
        story.kill(old)
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        member.until_assigned(new, count)
        story.start(old)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_is_deleted_while_the_share_coordinator_dies(seed: int) -> None:
    story = Scenario(seed, properties=AT_ONCE)

    def tell() -> None:
        member, count = Member(story, "m"), partition_count(story)
        coordinator = first_coordinator(story)
        member.join(coordinator)
        member.until_assigned(coordinator, count)
        member.epoch = -1
        assert member.beat(coordinator) is ErrorCode.NONE
        dying = story.leader(STATES)
        if dying is coordinator:
            return  # no answer would come from it
        sent = story.send(DeleteGroupsRequest([GROUP]), 2, coordinator, timeout_ms=30_000)
        assert sent is not None
        story.kill(dying)
        story.run_until(lambda: sent.outcome is not None, 31_000)
        assert sent.response.results[0].error_code == ErrorCode.NONE
        assert described(story, coordinator).error_code == ErrorCode.GROUP_ID_NOT_FOUND
        story.start(dying)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_lag_is_that_of_the_leaders_on_all_brokers(seed: int) -> None:
    story = Scenario(seed, properties=AT_ONCE)

    def tell() -> None:
        coordinator, count = first_coordinator(story), partition_count(story)
        partitions = [AlterShareGroupOffsetsRequestPartition(index, 0) for index in range(count)]
        altered = AlterShareGroupOffsetsRequestTopic(TOPIC, partitions)
        request = AlterShareGroupOffsetsRequest(GROUP, [altered])
        answer = story.ask(request, 0, coordinator, timeout_ms=30_000)
        assert answer.error_code == ErrorCode.NONE
        assert {p.error_code for t in answer.responses for p in t.partitions} == {0}
        ends = {}
        for index in range(count):
            log = story.replica(story.leader(TOPIC, index), TOPIC, index).log
            ends[index] = log.high_watermark
        asked = DescribeShareGroupOffsetsRequestGroup(GROUP, None)
        (group,) = story.ask(DescribeShareGroupOffsetsRequest([asked]), 1, coordinator).groups
        (topic,) = group.topics
        assert {p.partition_index: (p.start_offset, p.lag) for p in topic.partitions} == {
            index: (0, end) for index, end in ends.items()
        }

    story.run(tell)
