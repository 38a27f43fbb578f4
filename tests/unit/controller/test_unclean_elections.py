"""An election is unclean when the new leader was neither in sync nor eligible."""

from __future__ import annotations

import pytest

from controller.metadata_delta import MetadataDelta
from controller.metadata_image import MetadataImage
from controller.metadata_loader import delta_between
from controller.unclean_elections import UncleanElections
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import image_of, topic_records

TOPIC_ID = bytes(16)


def counted(*changes: m.PartitionChangeRecord, isr: list[int] | None = None) -> int:
    """After these changes, one batch each, of a partition with replicas 1 to 3."""
    image = image_of(*topic_records("t", TOPIC_ID, [1, 2, 3], isr=isr))
    unclean = UncleanElections()
    unclean.metadata_changed(delta_between(MetadataImage(), image), image)
    for offset, change in enumerate(changes, 101):
        delta = MetadataDelta(image)
        delta.replay(change)
        image = delta.apply(offset, 1, 0)
        unclean.metadata_changed(delta, image)
    return unclean.count


def led_by(broker_id: int, **changes: object) -> m.PartitionChangeRecord:
    return m.PartitionChangeRecord(0, TOPIC_ID, leader=broker_id, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("isr", "changes", "count"),
    [
        ([1, 2], [], 0),
        ([1, 2], [led_by(2, isr=[2])], 0),
        ([1, 2], [led_by(-1)], 0),
        ([1], [led_by(-1), led_by(1)], 0),
        ([1], [led_by(3, isr=[3])], 1),
        ([1], [led_by(-1), led_by(3, isr=[3])], 1),
        ([1], [led_by(3, isr=[3]), led_by(2, isr=[2])], 2),
        ([1], [m.PartitionChangeRecord(0, TOPIC_ID, isr=[1, 2])], 0),
        ([1], [led_by(-1, isr=[], eligible_leader_replicas=[3]), led_by(3, isr=[3])], 0),
    ],
)
def test_what_counts(isr: list[int], changes: list[m.PartitionChangeRecord], count: int) -> None:
    assert counted(*changes, isr=isr) == count


def test_a_topic_that_is_made_with_its_leaders_counts_nothing() -> None:
    image = image_of()
    delta = MetadataDelta(image)
    for record in topic_records("t", TOPIC_ID, [1]):
        delta.replay(record)
    unclean = UncleanElections()
    unclean.metadata_changed(delta, delta.apply(101, 1, 0))
    assert unclean.count == 0
