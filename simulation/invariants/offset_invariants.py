"""The invariant of groups' committed offsets, for commits of any client: I17 in
tests/simulation/README.md."""

from __future__ import annotations

from collections.abc import Iterator

from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant, Promises, Register
from simulation.network.sim_network import Exchange

Key = tuple[str, str, int]
"""A group, a topic and a partition."""
TAKE_AWAY = (ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE, ApiKey.DELETE_TOPICS)
"""Requests after which the expected offsets are no longer known."""


class CommittedOffsetsSurvive(Invariant):
    """I17: when the cluster is at rest, a group has the offset that was committed last."""

    name = "I17"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._registers: dict[Key, Register[int]] = {}
        self._unknown = False

    def places(self) -> dict[str, dict[tuple[str, int], None]]:
        """Return, by group, the partitions of which any client has committed an offset."""
        by_group: dict[str, dict[tuple[str, int], None]] = {}
        for group, topic, partition in self._registers:
            by_group.setdefault(group, {})[topic, partition] = None
        return by_group

    def sent(self, exchange: Exchange) -> None:
        """End the checks for the rest of the run at a request that removes offsets, or that commits
        offsets in a transaction."""
        self._unknown |= exchange.key in TAKE_AWAY or exchange.key is ApiKey.TXN_OFFSET_COMMIT

    def handled(self, exchange: Exchange) -> None:
        """Write the offsets of a commit to their registers: the broker may store them from now
        on."""
        if exchange.key is ApiKey.OFFSET_COMMIT:
            for topic in exchange.request.topics:
                for committed in topic.partitions:
                    key = (exchange.request.group_id, topic.name, committed.partition_index)
                    self._register(key).write(exchange, committed.committed_offset)

    def _register(self, key: Key) -> Register[int]:
        """Return the register of a group's partition; create it with -1 at the first use."""
        register = self._registers.get(key)
        if register is None:
            register = self._registers[key] = Register(-1, reordered=self.in_cluster)
        return register

    def received(self, exchange: Exchange) -> None:
        """Keep the errors of a commit in the registers. Raises Violation if the cluster is at rest
        and a fetched offset is not among the allowed ones."""
        if exchange.key is ApiKey.OFFSET_COMMIT:
            for topic in exchange.response.topics:
                for result in topic.partitions:
                    key = (exchange.request.group_id, topic.name, result.partition_index)
                    if result.error_code and key in self._registers:
                        self._registers[key].refuse(exchange, ErrorCode(result.error_code))
        elif exchange.key is ApiKey.OFFSET_FETCH and not self._unknown and self._at_rest(exchange):
            for key, offset in _fetched_offsets(exchange):
                allowed = self._register(key).allowed(exchange)
                if offset not in allowed:
                    raise self.broken(
                        f"group {key[0]} is at {offset} of {key[1]}-{key[2]}, must be in {allowed}"
                    )

    def _at_rest(self, exchange: Exchange) -> bool:
        """Return whether the response must be current: in a cluster with faults, a coordinator that
        does not know yet that it was replaced may return old offsets."""
        return not self.in_cluster or exchange.sent_ms >= self.promises.calm_since_ms


def _fetched_offsets(exchange: Exchange) -> Iterator[tuple[Key, int]]:
    """Yield the committed offsets in an OffsetFetch's response without groups (before v8), except
    partitions with an error."""
    for topic in exchange.response.topics:
        for result in topic.partitions:
            if not result.error_code:
                key = (exchange.request.group_id, topic.name, result.partition_index)
                yield key, result.committed_offset
