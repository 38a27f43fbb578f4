"""An election is unclean when it makes the partition RECOVERING, as in Kafka."""

from __future__ import annotations

import pytest

from controller.decisions.unclean_elections import UncleanElections
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import RECOVERED, RECOVERING, MetadataImage
from controller.metadata.loader import delta_between
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import image_of, topic_records

TOPIC_ID = bytes(16)


def counted(*changes: m.PartitionChangeRecord) -> int:
    """After these changes, one batch each, of a partition with replicas 1 to 3."""
    image = image_of(*topic_records("t", TOPIC_ID, [1, 2, 3], isr=[1]))
    unclean = UncleanElections()
    unclean.metadata_changed(delta_between(MetadataImage(), image), image)
    for offset, change in enumerate(changes, 101):
        delta = MetadataDelta(image)
        delta.replay(change)
        image = delta.apply(offset, 1, 0)
        unclean.metadata_changed(delta, image)
    return unclean.count


def led_by(broker_id: int, state: int | None = None) -> m.PartitionChangeRecord:
    changes = {} if state is None else {"leader_recovery_state": state}
    return m.PartitionChangeRecord(0, TOPIC_ID, leader=broker_id, isr=[broker_id], **changes)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ([], 0),
        ([led_by(2)], 0),
        ([led_by(3, RECOVERING)], 1),
        ([led_by(3, RECOVERING), led_by(2)], 1),
        ([led_by(3, RECOVERING), led_by(3, RECOVERED)], 1),
        ([led_by(3, RECOVERING), led_by(3, RECOVERED), led_by(2, RECOVERING)], 2),
    ],
)
def test_what_counts(changes: list[m.PartitionChangeRecord], count: int) -> None:
    assert counted(*changes) == count


def test_a_topic_that_is_made_with_its_leaders_counts_nothing() -> None:
    image = image_of()
    delta = MetadataDelta(image)
    for record in topic_records("t", TOPIC_ID, [1]):
        delta.replay(record)
    unclean = UncleanElections()
    unclean.metadata_changed(delta, delta.apply(101, 1, 0))
    assert unclean.count == 0
