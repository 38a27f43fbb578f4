"""Invariants of groups' offsets whoever commits them: I17 in tests/simulation/README.md."""

from __future__ import annotations

from collections.abc import Iterator

from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant, Promises, Register
from simulation.network.sim_network import Exchange

Key = tuple[str, str, int]
"""Group, topic, partition."""
TAKE_AWAY = (ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE, ApiKey.DELETE_TOPICS)
"""After one of these it is not known any more what is to be there."""


class CommittedOffsetsSurvive(Invariant):
    """I17: once all is at rest, a group is where it was committed last."""

    name = "I17"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._registers: dict[Key, Register[int]] = {}
        self._unknown = False

    def places(self) -> dict[str, dict[tuple[str, int], None]]:
        """By group: every partition of which somebody committed an offset."""
        found: dict[str, dict[tuple[str, int], None]] = {}
        for group, topic, partition in self._registers:
            found.setdefault(group, {})[topic, partition] = None
        return found

    def sent(self, exchange: Exchange) -> None:
        self._unknown |= exchange.key in TAKE_AWAY or exchange.key is ApiKey.TXN_OFFSET_COMMIT

    def handled(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.OFFSET_COMMIT:
            for topic in exchange.request.topics:
                for one in topic.partitions:
                    key = (exchange.request.group_id, topic.name, one.partition_index)
                    self._register(key).write(exchange, one.committed_offset)

    def _register(self, key: Key) -> Register[int]:
        register = self._registers.get(key)
        if register is None:
            register = self._registers[key] = Register(-1, reordered=self.in_cluster)
        return register

    def received(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.OFFSET_COMMIT:
            for topic in exchange.response.topics:
                for one in topic.partitions:
                    key = (exchange.request.group_id, topic.name, one.partition_index)
                    if one.error_code and key in self._registers:
                        self._registers[key].refuse(exchange, ErrorCode(one.error_code))
        elif exchange.key is ApiKey.OFFSET_FETCH and not self._unknown and self._at_rest(exchange):
            for key, offset in _told(exchange):
                allowed = self._register(key).allowed(exchange)
                if offset not in allowed:
                    raise self.broken(
                        f"group {key[0]} is at {offset} of {key[1]}-{key[2]}, must be in {allowed}"
                    )

    def _at_rest(self, exchange: Exchange) -> bool:
        """A coordinator that was replaced, and does not know it, may tell of what was."""
        return not self.in_cluster or exchange.sent_ms >= self.promises.calm_since_ms


def _told(exchange: Exchange) -> Iterator[tuple[Key, int]]:
    """What an OffsetFetch was told, by one group's name alone."""
    for topic in exchange.response.topics:
        for one in topic.partitions:
            if not one.error_code:
                key = (exchange.request.group_id, topic.name, one.partition_index)
                yield key, one.committed_offset
