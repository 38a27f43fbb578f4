"""The share groups of a run, and what brokers and groups are configured with for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

from broker.share.persister import Persister
from broker.share.state.share_state_shard import StateAnswer
from protocol.errors import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from simulation.sim_client import Waits
from tests.simulation.group_members import HEARTBEAT_MS, SESSION_MS
from tests.simulation.sim_actor import SimActor

GROUP = 32
"""The resource type."""
LOST_WRITES = 0.04
LOST_WRITE_MS = 200.0
SETTINGS = {
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": str(SESSION_MS),
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": str(int(HEARTBEAT_MS)),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.initialize.retry.interval.ms": "5000",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
    "share.coordinator.cold.partition.snapshot.interval.ms": "5000",
    "share.coordinator.state.topic.prune.interval.ms": "2000",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
"""Of the brokers: what takes minutes or hours takes seconds."""


class SharedGroup(NamedTuple):
    """A share group with its own configs, and how many members it has."""

    name: str
    members: int
    lock_ms: int
    limit: int
    """The most deliveries of a record."""
    reads_committed: bool
    dead_letters: str = ""
    """The topic of its dead letters."""

    @property
    def configs(self) -> dict[str, str]:
        return {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": str(self.lock_ms),
            "share.delivery.count.limit": str(self.limit),
            "share.partition.max.record.locks": "100",
            "share.isolation.level": f"read_{'' if self.reads_committed else 'un'}committed",
            "errors.deadletterqueue.topic.name": self.dead_letters,
            "errors.deadletterqueue.copy.record.enable": "true",
        }


def groups_of(seed: int) -> tuple[SharedGroup, ...]:
    """Return the share groups of a seed's run."""
    return (
        SharedGroup("workers", 3, 1_500, 3 + seed % 3, False, "dlq.workers"),
        SharedGroup("clerks", 2, 2_500, 2 + seed % 4, True),
    )


@contextmanager
def writes_of(seed: int) -> Iterator[None]:
    """In every other seed some writes of leaders fail, and half of those are made all the same: the
    persister repeats a write for 25 s otherwise, longer than most faults."""
    real, chance = Persister.write, random.Random(f"{seed}/writes")

    def write(self: Persister, key: Any, request: Any, reply: Any) -> None:
        dice = chance.random()
        if dice < LOST_WRITES:
            fails = partial(reply, ErrorCode.NETWORK_EXCEPTION, StateAnswer())
            self._scheduler.call_later(LOST_WRITE_MS, fails)
            reply = _ignore
        if dice > LOST_WRITES / 2:
            real(self, key, request, reply)

    with patch.object(Persister, "write", write if seed % 2 else real):
        yield


def _ignore(_error: ErrorCode, _answer: StateAnswer) -> None:
    """The leader takes it for failed."""


class ShareAdmin(SimActor):
    """Configures the groups, and then has nothing to do."""

    def __init__(self, name: str, *where: object, groups: tuple[SharedGroup, ...]) -> None:
        super().__init__(name, *where)
        self._groups = groups

    def life(self) -> Waits:
        resources = [
            AlterConfigsResource(
                GROUP,
                group.name,
                [AlterableConfig(name, 0, value) for name, value in group.configs.items()],
            )
            for group in self._groups
        ]
        while True:
            response = yield from self.call(IncrementalAlterConfigsRequest(resources), 1)
            if response is not None and not any(one.error_code for one in response.responses):
                return
            yield self.pause_ms()
