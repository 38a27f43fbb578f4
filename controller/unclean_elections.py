"""How many elections were unclean: a count for operators, who may have lost records by each.

Owns the count since this node's start. Never: elects anybody (`controller.leader_election`).

Follows Kafka's `ControllerMetricsChanges` and `PartitionRegistration.electionWasUnclean`: what is
told of a partition counts when its new leader was neither in sync nor eligible (KIP-966) before.
"""

from __future__ import annotations

from controller.metadata_delta import MetadataDelta
from controller.metadata_image import NO_LEADER, MetadataImage, PartitionRegistration


class UncleanElections:
    """A listener of the metadata."""

    def __init__(self) -> None:
        self.count = 0

    def metadata_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        """Count what `delta` tells of partitions that were there before."""
        for topic in delta.topics.changed.values():
            if topic.before is not None:
                for index, after in topic.changed.items():
                    before = topic.before.partitions.get(index)
                    self.count += before is not None and _is_unclean(before, after)


def _is_unclean(before: PartitionRegistration, after: PartitionRegistration) -> bool:
    return (
        after.leader not in (before.leader, NO_LEADER)
        and after.leader not in before.isr
        and after.leader not in before.elr
    )
