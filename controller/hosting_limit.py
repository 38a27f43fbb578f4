"""How many replicas a broker can hold: what would be more is refused before it is decided.

Each replica takes a file descriptor of its broker for good (`storage.log.descriptors`), and a
process has so many. The controller knows what its own node can hold, which is all there is to know
of a cluster of one. Of another broker only that one knows: told to hold more, it says that a
replica has no directory there (AssignReplicasToDirs), and others lead.

Owns: the count of one request, and the words of the refusal. Never: decides where replicas go.
Kafka has no such limit; the code is that of its CreateTopicPolicy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from controller.metadata.image import MetadataImage
from protocol.errors import ApiError, ErrorCode

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class HostingLimit:
    """What one node can hold."""

    node_id: int = -1
    replicas_max: Callable[[], int] = lambda: UNLIMITED
    """How many replicas, now."""
    descriptors_max: int = UNLIMITED
    """What the process may open: `ulimit -n`."""
    descriptors_for: Callable[[int], int] = lambda replicas: replicas
    """What it has to be allowed to open, to hold so many."""


class HostingRoom:
    """What is left of it for one request."""

    def __init__(self, limit: HostingLimit, image: MetadataImage) -> None:
        self._limit = limit
        self._image = image
        self._taken = 0

    def take(self, assignments: Iterable[Sequence[int]]) -> ApiError | None:
        """Replicas on these brokers come to be, or why not."""
        node_id, most = self._limit.node_id, self._limit.replicas_max()
        wanted = sum(node_id in replicas for replicas in assignments)
        asked = self._taken + wanted
        if wanted and self._partitions + asked > most and self._replicas_here + asked > most:
            return self._refusal(self._replicas_here + self._taken, wanted, most)
        self._taken = asked
        return None

    @cached_property
    def _partitions(self) -> int:
        """There are no more replicas here than partitions: mostly there is no need to look."""
        return sum(len(topic.partitions) for topic in self._image.topics.by_name.values())

    @cached_property
    def _replicas_here(self) -> int:
        return sum(
            self._limit.node_id in partition.replicas
            for topic in self._image.topics.by_name.values()
            for partition in topic.partitions.values()
        )

    def _refusal(self, held: int, wanted: int, most: int) -> ApiError:
        limit = self._limit
        text = (
            f"Broker {limit.node_id} has {held} partition(s) and may open {limit.descriptors_max} "
            f"files (ulimit -n), which is enough for {most} partitions beside its connections: "
            f"{wanted} more are refused. For all of them, raise ulimit -n to "
            f"{limit.descriptors_for(held + wanted)} at least."
        )
        return ApiError(ErrorCode.POLICY_VIOLATION, text)
