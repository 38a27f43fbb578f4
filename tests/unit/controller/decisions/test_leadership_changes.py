"""`leadership_changes`: which partitions a broker's coming and going touches."""

from __future__ import annotations

from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.leadership_changes import LeadershipChanges
from controller.metadata.image import MetadataImage
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
ELR = m.FeatureLevelRecord("eligible.leader.replicas.version", 1)


def changes() -> LeadershipChanges:
    settings = ControllerSettings(
        node_id=1,
        cluster_id="c",
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(1),
    )
    return LeadershipChanges(ConfigurationControl(settings))


def three_brokers(*more: object) -> MetadataImage:
    return image_of(
        *(broker_record(i) for i in (1, 2, 3)),
        *topic_records("a", A, [1, 2], [2, 3]),
        *topic_records("b", B, [3, 1]),
        *topic_records("c", C, [2]),
        *more,
    )


def test_a_broker_that_leaves_leads_and_follows_nothing() -> None:
    assert changes().broker_left(three_brokers(), 1) == [
        m.PartitionChangeRecord(0, A, isr=[2], leader=2),
        m.PartitionChangeRecord(0, B, isr=[3]),
    ]


def test_the_only_replica_keeps_its_place_in_the_isr() -> None:
    assert changes().broker_left(three_brokers(), 2) == [
        m.PartitionChangeRecord(0, A, isr=[1]),
        m.PartitionChangeRecord(1, A, isr=[3], leader=3),
        m.PartitionChangeRecord(0, C, leader=-1),
    ]


def test_unclean_election_where_the_topic_allows_it() -> None:
    allowed = m.ConfigRecord(2, "a", "unclean.leader.election.enable", "true")
    alone = m.PartitionChangeRecord(0, A, isr=[1])
    records = changes().broker_left(three_brokers(allowed, alone), 1)
    assert records[0] == m.PartitionChangeRecord(0, A, isr=[2], leader=2, leader_recovery_state=1)


def test_a_broker_that_comes_leads_what_nobody_leads() -> None:
    gone = [m.FenceBrokerRecord(2, 20), m.PartitionChangeRecord(0, C, leader=-1)]
    assert changes().broker_unfenced(three_brokers(*gone), 2) == [
        m.PartitionChangeRecord(0, C, leader=2)
    ]
    assert changes().broker_unfenced(three_brokers(), 2) == []


def test_as_apache_kafka_leaves_a_single_broker_behind() -> None:
    """With ELR its controlled shutdown empties the ISR; the next start elects from the ELR."""
    left = m.PartitionChangeRecord(
        0, C, isr=[], leader=-1, eligible_leader_replicas=[2], last_known_elr=[2]
    )
    (record,) = changes().broker_unfenced(three_brokers(ELR, left), 2)
    assert (record.leader, record.isr, record.eligible_leader_replicas) == (2, [2], [])


def test_an_unclean_shutdown_with_elr() -> None:
    left = m.PartitionChangeRecord(0, C, isr=[], leader=-1, eligible_leader_replicas=[2])
    (record,) = changes().broker_left(three_brokers(ELR, left), 2, unclean=True)[-1:]
    assert record.eligible_leader_replicas == []
