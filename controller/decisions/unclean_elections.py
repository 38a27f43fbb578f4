"""The number of unclean elections, each of which may have lost records.

Owns the count since this node's start. Never: elects a leader
(`controller.decisions.leader_election`).

Follows Kafka's `TopicDelta.updateElectionStats` and `ControllerMetricsChanges`: an election is
unclean if its record makes the partition RECOVERING. (Another unclean election before the partition
has recovered does not change that state, and Kafka does not count it either.)
"""

from __future__ import annotations

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import RECOVERING, MetadataImage


class UncleanElections:
    """A metadata listener that counts unclean elections."""

    def __init__(self) -> None:
        self.count = 0

    def metadata_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        """Add to `count` the unclean elections in `delta` of partitions that existed before it."""
        for topic in delta.topics.changed.values():
            if topic.before is not None:
                for index, after in topic.changed.items():
                    before = topic.before.partitions.get(index)
                    self.count += (
                        before is not None
                        and before.leader_recovery_state != RECOVERING
                        and after.leader_recovery_state == RECOVERING
                    )
