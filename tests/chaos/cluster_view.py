"""What tests ask a cluster in passing: topics, leaders, the active controller, a whole read.

Blocking calls around `tests/chaos/raw_client.py`; every method asks until it has an answer or its
time is up, because a cluster in trouble is what it is used on.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.chaos.history import Final
from tests.chaos.raw_client import Hung, NotSent, RawClient, key_of, read_of
from tests.tools.cluster_processes import HOST, ClusterProcesses

PATIENCE_S = 90.0
T = TypeVar("T")


class ClusterView:
    """Questions to a cluster."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        self._cluster = cluster

    def _client(self) -> RawClient:
        addresses = {
            node.node_id: (HOST, node.client_door, self._cluster.login)
            for node in self._cluster.brokers
            if node.running and not node.paused
        }
        return RawClient("view", addresses, random.Random(1))

    def _ask(
        self, question: Callable[[RawClient], Awaitable[T | None]], what: str, patience_s: float
    ) -> T:
        """The first answer that is not None; AssertionError after `patience_s`."""

        async def until_answered() -> T:
            deadline = time.monotonic() + patience_s
            while True:
                client = self._client()
                try:
                    answer = await question(client)
                    if answer is not None:
                        return answer
                except (NotSent, Hung):
                    pass
                finally:
                    client.close()
                assert time.monotonic() < deadline, f"within {patience_s} s there was no {what}"
                await asyncio.sleep(0.1)

        return asyncio.run(until_answered())

    def create_topic(
        self, topic: str, partitions: int, replicas: int = 3, **configs: str
    ) -> dict[str, int]:
        """A new topic, with all its replicas in sync; the leader of each key."""
        wanted = CreatableTopic(
            topic,
            partitions,
            replicas,
            configs=[CreatableTopicConfig(k.replace("_", "."), v) for k, v in configs.items()],
        )

        async def create(client: RawClient) -> bool | None:
            node = client.rng.choice(list(client._addresses))
            answer = await client.call(node, CreateTopicsRequest([wanted], 10_000), 5)
            code = ErrorCode(answer.topics[0].error_code)
            return True if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS) else None

        self._ask(create, f"topic {topic}", PATIENCE_S)
        return self.full_isr({key_of(topic, n): replicas for n in range(partitions)})

    def full_isr(self, keys: dict[str, int], patience_s: float = PATIENCE_S) -> dict[str, int]:
        """Wait until each key has so many replicas in sync; the leader of each."""

        async def look(client: RawClient) -> dict[str, int] | None:
            for node in list(client._addresses):  # every broker has to know
                client.leaders.clear()
                if await client.metadata(node) is None:
                    return None
                if any(
                    client.leader(key) is None or len(client.isr.get(key, ())) < count
                    for key, count in keys.items()
                ):
                    return None
            return {key: client.leaders[key][0] for key in keys}

        return self._ask(look, f"full in-sync sets of {list(keys)}", patience_s)

    def leaders(self, topic: str) -> dict[str, int]:
        """Leader of each key of a topic, as any broker says; -1 for none."""

        async def look(client: RawClient) -> dict[str, int] | None:
            if await client.metadata() is None:
                return None
            found = {k: v[0] for k, v in client.leaders.items() if k.rpartition("-")[0] == topic}
            return found or None

        return self._ask(look, f"leaders of {topic}", PATIENCE_S)

    def replicas(self, topic: str) -> dict[str, tuple[list[int], list[int]]]:
        """Replicas and in-sync replicas of each key of a topic."""

        async def look(client: RawClient) -> dict[str, tuple[list[int], list[int]]] | None:
            if await client.metadata() is None:
                return None
            return {
                key: (client.replicas[key], client.isr[key])
                for key in client.replicas
                if key.rpartition("-")[0] == topic
            }

        return self._ask(look, f"replicas of {topic}", PATIENCE_S)

    def controller(self) -> int:
        """The active controller, which leads the quorum."""

        async def look(client: RawClient) -> int | None:
            claims = [await client.quorum(node) for node in list(client._addresses)]
            known = [(epoch, leader) for leader, epoch in filter(None, claims) if leader >= 0]
            return max(known)[1] if known else None

        return self._ask(look, "active controller", PATIENCE_S)

    def coordinator(self, group: str) -> int:
        """The node that coordinates a group."""
        return self._ask(lambda client: client.coordinator(group), "coordinator", PATIENCE_S)

    def read_all(self, keys: list[str]) -> list[Final]:
        """Everything of these keys, from the start to the high watermark."""
        return [
            self._ask(lambda client, key=key: _read(client, key), f"end of {key}", PATIENCE_S)
            for key in keys
        ]


async def _read(client: RawClient, key: str) -> Final | None:
    await client.metadata()
    leader, epoch = client.leaders.get(key, (-1, -1))
    end = await client.end_offset(leader, key)
    if end is None:
        return None
    records: list[tuple[int, int]] = []
    position = 0
    while position < end:
        data: Any = await client.fetch(leader, key, position, epoch)
        if data.error_code:
            return None
        found, position = read_of(data, position)
        records += found
    return Final(key, records)
