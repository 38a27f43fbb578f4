"""How many elections were unclean: a count for operators, who may have lost records by each.

Owns the count since this node's start. Never: elects anybody
(`controller.decisions.leader_election`).

Follows Kafka's `TopicDelta.updateElectionStats` and `ControllerMetricsChanges`: an election is
unclean when the record that tells of it makes the partition RECOVERING. (One more unclean election
before it has recovered tells nothing new, and does not count there either.)
"""

from __future__ import annotations

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import RECOVERING, MetadataImage


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
                    self.count += (
                        before is not None
                        and before.leader_recovery_state != RECOVERING
                        and after.leader_recovery_state == RECOVERING
                    )
