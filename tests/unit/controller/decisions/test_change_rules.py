"""`controller.decisions.change_rules`: what configs and brokers mean for a topic's partitions."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions.change_rules import is_active
from controller.decisions.leader_election import Election
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records
from tests.unit.controller.decision_fixture import RULES

FOO = b"f" * 16
ELR = m.FeatureLevelRecord("eligible.leader.replicas.version", 1)


def config(kind: int, name: str, key: str, value: str) -> m.ConfigRecord:
    return m.ConfigRecord(kind, name, key, value)


@pytest.mark.parametrize(
    ("more", "minimum"),
    [
        ((), 1),
        ((config(2, "foo", "min.insync.replicas", "2"),), 1),
        ((ELR,), 1),
        ((ELR, config(2, "foo", "min.insync.replicas", "2")), 2),
        ((ELR, config(2, "foo", "min.insync.replicas", "\x00+2 ")), 2),
        ((ELR, config(4, "", "min.insync.replicas", "2")), 2),
        ((ELR, config(4, "", "min.insync.replicas", "3")), 2),
    ],
)
def test_minimum_is_at_most_the_replication_factor(more: Any, minimum: int) -> None:
    image = image_of(*topic_records("foo", FOO, [1, 2]), *more)
    assert RULES.of(image, image.topics.by_name["foo"]).min_insync_replicas == minimum


@pytest.mark.parametrize(
    ("more", "election"),
    [
        ((), Election.ONLINE),
        ((config(2, "foo", "unclean.leader.election.enable", "true"),), Election.UNCLEAN),
        ((config(2, "foo", "unclean.leader.election.enable", " TRUE "),), Election.UNCLEAN),
        ((config(4, "", "unclean.leader.election.enable", "true"),), Election.UNCLEAN),
    ],
)
def test_unclean_where_allowed(more: Any, election: Election) -> None:
    image = image_of(*topic_records("foo", FOO, [1, 2]), *more)
    assert RULES.of(image, image.topics.by_name["foo"]).election is election


def test_active() -> None:
    leaving = m.BrokerRegistrationChangeRecord(3, 30, in_controlled_shutdown=1)
    image = image_of(broker_record(1), broker_record(2, fenced=True), broker_record(3), leaving)
    assert [is_active(image, broker) for broker in (1, 2, 3, 4)] == [True, False, False, False]


@pytest.mark.parametrize(("level", "named"), [(16, False), (17, True), (30, True)])
def test_directories_are_named_from_their_level_on(level: int, named: bool) -> None:
    records = topic_records("foo", FOO, [1, 2])
    image = image_of(m.FeatureLevelRecord("metadata.version", level), *records)
    assert RULES.of(image, image.topics.by_name["foo"]).name_directories is named
