"""Groups over the network, request by request: Kafka's answers, and what a kill -9 leaves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from protocol.errors import ErrorCode
from tests.clients.group_conversation import (
    GOLDEN,
    TOPIC,
    beat,
    committing,
    converse,
    describing,
    fetching,
    joining,
    prepare,
    syncing,
)
from tests.clients.wire_client import WireClient

Factory = Callable[..., Any]
PROPERTIES = {"group.max.size": "4", "offsets.topic.num.partitions": "5"}


def test_answers_are_those_of_apache_kafka(ottla_broker_factory: Factory) -> None:
    """Every group API in every version."""
    broker = ottla_broker_factory(properties=PROPERTIES)
    with closing(broker), ExitStack() as connections:

        def connect(client_id: str = "prepare") -> WireClient:
            return connections.enter_context(WireClient(broker.port, client_id))

        topic_id = prepare(connect())
        assert converse(connect, topic_id) == GOLDEN.read_text().splitlines()


def test_groups_and_offsets_survive_a_kill(ottla_broker_factory: Factory) -> None:
    broker = ottla_broker_factory(properties=PROPERTIES)
    with closing(broker):
        groups = [f"survivor-{number}" for number in range(20)]
        members = {}
        with WireClient(broker.port) as wire:
            prepare(wire)
            for number, group in enumerate(groups):
                member = wire.call(joining(group, group_instance_id="i"), 9).member_id
                share = {member: group.encode()}
                wire.call(syncing(group, 1, member, share, group_instance_id="i"), 5)
                commit = committing(
                    group, number, generation_id_or_member_epoch=1, member_id=member
                )
                answer = wire.call(commit, 9).topics[0].partitions[0]
                assert answer.error_code == ErrorCode.NONE
                members[group] = member
            before = wire.call(describing(*groups), 6)
        broker.kill()
        broker.start()
        with WireClient(broker.port) as wire:
            prepare(wire)
            assert wire.call(describing(*groups), 6) == before
            for number, group in enumerate(groups):
                offsets = wire.call(fetching(group, [TOPIC]), 9).groups[0].topics[0].partitions
                assert offsets[0].committed_offset == number
                assert wire.call(beat(group, 1, members[group], "i"), 4).error_code == 0
                synced = wire.call(syncing(group, 1, members[group], group_instance_id="i"), 5)
                assert synced.assignment == group.encode()
