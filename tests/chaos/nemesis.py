"""What goes wrong, and when: a schedule drawn from a seed, and the hands that carry it out.

Kinds and times are drawn before the run and can be printed; targets (the leader of a key, a group's
coordinator, the active controller) are looked up when their time comes. `kill-N` and `stop-N`, of a
given node, come only where they are asked for. Each fault is healed before the next begins.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.chaos.group_load import GROUP
from tests.chaos.history import Fault
from tests.chaos.raw_client import Hung, NotSent, RawClient, topic_of
from tests.chaos.workload import Shared
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.link_proxy import CLIENT, Link

EVERY_S = 10.0
QUIET = "quiet"


class Planned(NamedTuple):
    """One entry of a schedule: when, what, and how long."""

    at_s: float
    kind: str
    seconds: float


class Nemesis:
    """Faults upon a cluster behind a proxy."""

    def __init__(self, cluster: ClusterProcesses, shared: Shared, seed: int) -> None:
        self._cluster = cluster
        self._shared = shared
        self._rng = random.Random(f"nemesis {seed}")
        self._client = RawClient("nemesis", shared.addresses, self._rng)
        self.done: dict[str, int] = {}
        self.controllers: dict[int, int] = {}
        self.leaders: dict[int, int] = {}
        self.notes: list[str] = []
        self._kinds: dict[str, Callable[[float], Coroutine[Any, Any, tuple[list[int], bool]]]] = {
            "kill-one": self._kill_one,
            "kill-leader": self._kill_leader,
            "kill-coordinator": self._kill_coordinator,
            "kill-transaction-coordinator": self._kill_transaction_coordinator,
            "kill-controller": self._kill_controller,
            "kill-all": self._kill_all,
            "pause": self._pause,
            "pause-controller": self._pause_controller,
            "cut-one": self._cut_one,
            "cut-from-clients-too": self._cut_all,
            "one-way": self._one_way,
            "partial": self._partial,
            "ring": self._ring,
            "hold-produce": self._hold,
            "slow-link": self._slow,
            "roll": self._roll,
            "reassign": self._reassign,
        }
        self._kinds_of_nodes: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {}
        for node_id in cluster.nodes:
            self._kinds_of_nodes[f"kill-{node_id}"] = partial(self._kill, node_id)
            self._kinds_of_nodes[f"stop-{node_id}"] = partial(self._end, node_id)

    @property
    def kinds(self) -> list[str]:
        return list(self._kinds)

    def schedule(self, seconds: float, begin_s: float = 5.0) -> list[Planned]:
        """A fault every ten seconds or so, a quarter of them none; all kinds before any again."""
        plan, at, bag = [], begin_s, list[str]()
        while at + EVERY_S <= seconds:
            if plan and self._rng.random() < 0.2:
                plan.append(Planned(at, QUIET, 0))
            else:
                if not bag:
                    bag = list(self._kinds)
                    self._rng.shuffle(bag)
                kind = bag.pop()
                plan.append(Planned(at, kind, round(self._rng.uniform(2, 8), 1)))
            at += EVERY_S
        return plan

    async def run(self, plan: list[Planned]) -> None:
        """Carry out a schedule; what is late by the fault before it comes after it."""
        try:
            for planned in plan:
                await asyncio.sleep(max(0.0, planned.at_s - self._shared.now()))
                if planned.kind != QUIET:
                    await self.strike(planned.kind, planned.seconds)
        finally:
            self._client.close()

    async def strike(self, kind: str, seconds: float) -> None:
        """One fault, healed at its end."""
        t0 = self._shared.now()
        await self._client.metadata()
        await self._note_leaders()
        strike = self._kinds.get(kind) or self._kinds_of_nodes[kind]
        try:
            nodes, majority = await strike(seconds)
        finally:
            await self._heal()
        if nodes:
            self.done[kind] = self.done.get(kind, 0) + 1
            self._shared.history.add(Fault(kind, nodes, majority, t0, self._shared.now()))

    async def _note_leaders(self) -> None:
        """Count the active controller, and the leaders of the keys."""
        controller = await self._controller()
        self.controllers[controller] = self.controllers.get(controller, 0) + 1
        for key in self._shared.keys:
            leader = self._client.leader(key)
            if leader is not None:
                self.leaders[leader] = self.leaders.get(leader, 0) + 1

    async def _heal(self) -> None:
        """Everything runs and is connected again."""
        if self._cluster.links is not None:
            await asyncio.to_thread(self._cluster.links.mend)
        for node in self._cluster.nodes.values():
            if node.paused:
                self._cluster.resume(node.node_id)
        down = [node.node_id for node in self._cluster.nodes.values() if not node.running]
        for node_id in down:
            if self._cluster.nodes[node_id].process is not None:
                self._cluster.kill(node_id)  # it ended by itself: notes that
        for node_id in down:
            await asyncio.to_thread(self._cluster.start_node, node_id, wait=False)
        for node_id in down:
            try:
                await asyncio.to_thread(self._cluster.wait_until_serving, node_id)
            except RuntimeError as error:
                # Held against it at the end; the run goes on with one more try.
                self._cluster.nodes[node_id].deaths.append(str(error))
                await asyncio.to_thread(self._cluster.kill, node_id)
                await asyncio.to_thread(self._cluster.start_node, node_id)

    # --- targets ---------------------------------------------------------------------------------

    def _any(self) -> int:
        return self._rng.choice(list(self._cluster.nodes))

    async def _leader(self) -> int:
        return self._client.leader(self._rng.choice(self._shared.keys)) or self._any()

    async def _controller(self) -> int:
        claims = [await self._client.quorum(node) for node in self._cluster.nodes]
        known = [(epoch, leader) for leader, epoch in filter(None, claims) if leader >= 0]
        return max(known)[1] if known else self._any()

    # --- deaths ----------------------------------------------------------------------------------

    async def _kill(self, node_id: int, seconds: float) -> tuple[list[int], bool]:
        await asyncio.to_thread(self._cluster.kill, node_id)
        await asyncio.sleep(seconds)
        return [node_id], True

    async def _end(self, node_id: int, seconds: float) -> tuple[list[int], bool]:
        await asyncio.to_thread(self._cluster.terminate, node_id)
        await asyncio.sleep(seconds)
        return [node_id], True

    async def _kill_one(self, seconds: float) -> tuple[list[int], bool]:
        return await self._kill(self._any(), seconds)

    async def _kill_leader(self, seconds: float) -> tuple[list[int], bool]:
        return await self._kill(await self._leader(), seconds)

    async def _kill_coordinator(self, seconds: float) -> tuple[list[int], bool]:
        found = await self._client.coordinator(GROUP)
        return await self._kill(self._any() if found is None else found, seconds)

    async def _kill_transaction_coordinator(self, seconds: float) -> tuple[list[int], bool]:
        found = await self._client.coordinator(f"transactional-t{self._rng.randrange(4)}", 1)
        return await self._kill(self._any() if found is None else found, seconds)

    async def _kill_controller(self, seconds: float) -> tuple[list[int], bool]:
        return await self._kill(await self._controller(), seconds)

    async def _kill_all(self, seconds: float) -> tuple[list[int], bool]:
        nodes = list(self._cluster.nodes)
        self._rng.shuffle(nodes)
        for node_id in nodes:
            await asyncio.to_thread(self._cluster.kill, node_id)
        await asyncio.sleep(1)
        return nodes, False

    async def _roll(self, seconds: float) -> tuple[list[int], bool]:
        nodes = list(self._cluster.nodes)
        for node_id in nodes:
            await asyncio.to_thread(self._cluster.restart, node_id)
            await asyncio.sleep(2)
        return nodes, True

    # --- pauses ----------------------------------------------------------------------------------

    async def _stop(self, node_id: int, seconds: float) -> tuple[list[int], bool]:
        self._cluster.pause(node_id)
        await asyncio.sleep(seconds)
        self._cluster.resume(node_id)
        return [node_id], True

    async def _pause(self, seconds: float) -> tuple[list[int], bool]:
        return await self._stop(await self._leader(), seconds)

    async def _pause_controller(self, seconds: float) -> tuple[list[int], bool]:
        return await self._stop(await self._controller(), seconds)

    # --- links -----------------------------------------------------------------------------------

    async def _cut(self, links: list[Link], seconds: float) -> None:
        assert self._cluster.links is not None
        await asyncio.to_thread(self._cluster.links.cut, *links)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self._cluster.links.mend)

    def _around(self, node_id: int) -> list[Link]:
        others = [other for other in self._cluster.nodes if other != node_id]
        return [(node_id, o) for o in others] + [(o, node_id) for o in others]

    async def _cut_one(self, seconds: float) -> tuple[list[int], bool]:
        node_id = self._any()
        await self._cut(self._around(node_id), seconds)
        return [node_id], True

    async def _cut_all(self, seconds: float) -> tuple[list[int], bool]:
        node_id = self._any()
        await self._cut([*self._around(node_id), (node_id, CLIENT), (CLIENT, node_id)], seconds)
        return [node_id], True

    async def _one_way(self, seconds: float) -> tuple[list[int], bool]:
        one, two = self._rng.sample(list(self._cluster.nodes), 2)
        await self._cut([(one, two)], seconds)
        return [one, two], True

    async def _partial(self, seconds: float) -> tuple[list[int], bool]:
        one, two = self._rng.sample(list(self._cluster.nodes), 2)
        await self._cut([(one, two), (two, one)], seconds)
        return [one, two], True

    async def _ring(self, seconds: float) -> tuple[list[int], bool]:
        """Each node hears its neighbours alone, so that every node sees another majority."""
        nodes = list(self._cluster.nodes)
        self._rng.shuffle(nodes)
        count = len(nodes)
        links: list[Link] = []
        for index, one in enumerate(nodes):
            heard = {nodes[(index + 1) % count]}
            if count > 3:
                heard.add(nodes[index - 1])
            links += [(other, one) for other in nodes if other != one and other not in heard]
        await self._cut(links, seconds)
        return nodes, False

    async def _hold(self, seconds: float) -> tuple[list[int], bool]:
        node_id = await self._leader()
        assert self._cluster.links is not None
        await asyncio.to_thread(self._cluster.links.hold_produce, node_id)
        await asyncio.sleep(seconds)
        return [node_id], True

    async def _slow(self, seconds: float) -> tuple[list[int], bool]:
        one, two = self._rng.sample(list(self._cluster.nodes), 2)
        assert self._cluster.links is not None
        await asyncio.to_thread(self._cluster.links.delay, (one, two), 0.2)
        await asyncio.sleep(seconds)
        return [one, two], True

    # --- orders ----------------------------------------------------------------------------------

    async def _reassign(self, seconds: float) -> tuple[list[int], bool]:
        """A key goes to two of its replicas, and back to all of them in another order."""
        key = self._rng.choice(self._shared.keys)
        everyone = list(self._client.replicas.get(key, []))
        if len(everyone) < 3:
            return [], True
        self._rng.shuffle(everyone)
        taken = await self._move(key, everyone[:2])
        await asyncio.sleep(seconds)
        self._rng.shuffle(everyone)
        taken = await self._move(key, everyone) and taken
        await asyncio.sleep(2)
        if not taken:
            self.notes.append(f"reassignment of {key} was not taken")
            return [], True
        return everyone, True

    async def _move(self, key: str, replicas: list[int]) -> bool:
        topic, partition = topic_of(key)
        part = ReassignablePartition(partition, replicas)
        request = AlterPartitionReassignmentsRequest(
            10_000, topics=[ReassignableTopic(topic, [part])]
        )
        for _ in range(10):
            node = self._any()
            try:
                answer = await self._client.call(node, request, 0)
            except (NotSent, Hung):
                await asyncio.sleep(0.5)
                continue
            code = answer.error_code or answer.responses[0].partitions[0].error_code
            if code == ErrorCode.NONE:
                return True
            await asyncio.sleep(0.5)
        return False
