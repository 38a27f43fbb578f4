"""Invariants of consumer groups: I16, I17, I18."""

from __future__ import annotations

from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant, Register
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import OFFSETS_TOPIC
from simulation.network.sim_network import Exchange
from tests.simulation.group_members import Committing, Key, Reading, assignment_of

NOTHING_COMMITTED = -1


class OneOwnerPerGeneration(Invariant):
    """I16: a partition has one owner in a generation; generations that were synced go on."""

    name = "I16"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._owners: dict[tuple[str, int, Key], str] = {}
        self._newest: dict[str, list[tuple[float, int]]] = {}
        self._replaced: dict[Exchange, None] = {}
        """Answers of a coordinator that had been replaced, and could not know: old news."""

    def answered(self, exchange: Exchange) -> None:
        view = self.promises.view
        if view is None or exchange.key not in (ApiKey.SYNC_GROUP, ApiKey.OFFSET_FETCH):
            return
        if view.is_replaced(view.at(exchange.node), OFFSETS_TOPIC, 0):
            self._replaced[exchange] = None

    def received(self, exchange: Exchange) -> None:
        if exchange.key is not ApiKey.SYNC_GROUP or exchange.response.error_code:
            return
        request = exchange.request
        if exchange in self._replaced or request.group_id in self.promises.assigned_groups:
            return
        owner = request.group_instance_id or request.member_id
        for key in assignment_of(exchange.response.assignment):
            place = (request.group_id, request.generation_id, key)
            known = self._owners.setdefault(place, owner)
            if known != owner:
                raise self.broken(
                    f"{key} of {request.group_id}, generation {request.generation_id}, is "
                    f"{known}'s and {owner}'s"
                )
        told = self._newest.setdefault(request.group_id, [])
        for when, generation in told:
            if when < exchange.sent_ms and generation > request.generation_id:
                raise self.broken(
                    f"{request.group_id} was in generation {generation}, and "
                    f"{exchange.client} could sync in {request.generation_id}"
                )
        if not told or told[-1][1] < request.generation_id:
            told.append((self.world.now_ms, request.generation_id))

    def newest_before(self, group: str, when_ms: float) -> int:
        """The newest generation that a member was told of before a moment."""
        return max((g for when, g in self._newest.get(group, ()) if when < when_ms), default=-1)

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._owners.clear()
            self._newest.clear()


class CommittedOffsetsStay(OneOwnerPerGeneration):
    """I17: a committed offset survives, and no stale generation moves it."""

    name = "I17"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._offsets: dict[tuple[str, Key], Register] = {}

    def handled(self, exchange: Exchange) -> None:
        if isinstance(exchange.about, Committing):
            for key, offset in exchange.about.offsets.items():
                self._register(exchange.about.group, key).write(exchange, offset)

    def received(self, exchange: Exchange) -> None:
        super().received(exchange)
        if isinstance(exchange.about, Committing):
            self._take_commit(exchange)
        elif isinstance(exchange.about, Reading) and not exchange.about.stable:
            self._check(exchange)

    def _register(self, group: str, key: Key) -> Register:
        return self._offsets.setdefault((group, key), Register(NOTHING_COMMITTED))

    def _take_commit(self, exchange: Exchange) -> None:
        about: Committing = exchange.about
        names = {one.topic_id: one.name for one in exchange.request.topics}
        for topic in exchange.response.topics:
            name = topic.name or names[topic.topic_id]
            for told in topic.partitions:
                error = ErrorCode(told.error_code)
                if error:
                    key = (name, told.partition_index)
                    self._register(about.group, key).refuse(exchange, error)
                    continue
                newest = self.newest_before(about.group, exchange.sent_ms)
                if about.generation < newest:
                    raise self.broken(
                        f"{about.group} is in generation {newest}, and took a commit of "
                        f"{exchange.client} in {about.generation}"
                    )

    def _check(self, exchange: Exchange) -> None:
        about: Reading = exchange.about
        if exchange in self._replaced:
            return
        response = exchange.response
        told = response.groups[0] if exchange.version >= 8 else response
        if exchange.version >= 2 and told.error_code:
            return
        for topic in told.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    continue
                key = (topic.name, partition.partition_index)
                allowed = self._register(about.group, key).allowed(exchange)
                if partition.committed_offset not in allowed:
                    raise self.broken(
                        f"{about.group} is told offset {partition.committed_offset} of {key}, "
                        f"must be in {allowed}"
                    )

    def power_lost(self, broker: SimBroker) -> None:
        super().power_lost(broker)
        if self.in_cluster:
            return
        for register in self._offsets.values():
            register.forget()


class GroupsSettle(Invariant):
    """I18: after the heal a group is Stable or Empty."""

    name = "I18"

    def at_end(self, final: Any) -> None:
        for group, state in final.groups.items():
            if state not in ("Stable", "Empty"):
                raise self.broken(f"{group} is {state} long after the heal")


GROUP_INVARIANTS = (OneOwnerPerGeneration, CommittedOffsetsStay, GroupsSettle)
