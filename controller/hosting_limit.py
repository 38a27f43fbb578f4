"""The number of replicas that a broker can hold; a request that exceeds it is rejected.

Each replica keeps a file descriptor of its broker open (`storage.log.descriptors`), and a process
has a limited number of them. The controller knows the limit of its own node only, which is enough
for a cluster of one node. Another broker knows its own limit: if it is assigned more replicas, it
reports them as being in no directory (AssignReplicasToDirs), and other replicas lead.

Owns: the count of one request, and the error text. Never: decides where replicas go.
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
    """The number of replicas that one node can hold, and the descriptors this takes."""

    node_id: int = -1
    replicas_max: Callable[[], int] = lambda: UNLIMITED
    """The number of replicas that the node can hold now."""
    descriptors_max: int = UNLIMITED
    """The number of files that the process may open (`ulimit -n`)."""
    descriptors_for: Callable[[int], int] = lambda replicas: replicas
    """The `ulimit -n` that a number of replicas needs."""


class HostingRoom:
    """The replicas that one request may still add to the node."""

    def __init__(self, limit: HostingLimit, image: MetadataImage) -> None:
        """Count the new replicas of a request, beside those that `image` assigns to the node of
        `limit`."""
        self._limit = limit
        self._image = image
        self._taken = 0

    def take(self, assignments: Iterable[Sequence[int]]) -> ApiError | None:
        """Count new replicas of this node: `assignments` has the broker ids of each new partition.
        If the node cannot hold all of them, count none and return POLICY_VIOLATION; otherwise
        return None."""
        node_id, replicas_max = self._limit.node_id, self._limit.replicas_max()
        new_replicas = sum(node_id in replicas for replicas in assignments)
        taken = self._taken + new_replicas
        if (
            new_replicas
            and self._partitions + taken > replicas_max
            and self._replicas_here + taken > replicas_max
        ):
            return self._refusal(self._replicas_here + self._taken, new_replicas, replicas_max)
        self._taken = taken
        return None

    @cached_property
    def _partitions(self) -> int:
        """The number of partitions in the cluster. This node has at most as many replicas, so the
        slower count of replicas is mostly not needed."""
        return sum(len(topic.partitions) for topic in self._image.topics.by_name.values())

    @cached_property
    def _replicas_here(self) -> int:
        """The number of replicas that the image assigns to this node."""
        return sum(
            self._limit.node_id in partition.replicas
            for topic in self._image.topics.by_name.values()
            for partition in topic.partitions.values()
        )

    def _refusal(self, held: int, new_replicas: int, allowed: int) -> ApiError:
        """Return the POLICY_VIOLATION of a request for `new_replicas`: this broker has `held`
        replicas and may have `allowed`."""
        limit = self._limit
        text = (
            f"Broker {limit.node_id} has {held} partition(s) and may open {limit.descriptors_max} "
            f"files (ulimit -n), which is enough for {allowed} partitions beside its connections: "
            f"{new_replicas} more are refused. For all of them, raise ulimit -n to "
            f"{limit.descriptors_for(held + new_replicas)} at least."
        )
        return ApiError(ErrorCode.POLICY_VIOLATION, text)
