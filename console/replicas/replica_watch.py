"""A snapshot of the replicas each second, shared by all open tabs; without a tab none is taken.

Owns the last snapshot, its number, the changed partitions of the last numbers, and the newest
events. The number rises with each snapshot that changed something. A tab passes the number that it
has, and gets the changes since then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

from client.cluster import ClusterClient
from client.cluster_status import MIN_IN_SYNC
from client.configs.settings import TOPIC, configs_by_name
from client.core.leaders import Partition
from client.refusals import Refused
from console.endpoints import Console, wall_ms
from console.replicas.replica_map import (
    Counts,
    Placed,
    ReplicaMap,
    changed,
    changes,
    counts,
    incomplete_topics,
    replica_map_of,
)

EVERY_S = 1.0
EVENTS_MAX = 500
STEPS_MAX = 60
"""A tab that is behind by more numbers gets all partitions."""
MINIMUM_KEPT_S = 30.0
"""The age at which `min.insync.replicas` of a topic is read again."""
NAMES_A_REQUEST = 500
"""The most topics in a DescribeConfigs request."""


class Event(NamedTuple):
    """A change of the cluster; `number` counts the events since the console started."""

    number: int
    at_ms: int
    kind: str
    text: str


class News(NamedTuple):
    """The update that brings a tab to the snapshot with this number.

    `partitions` are all if `everything` is set, else the changed ones, with None for a deleted one.
    """

    number: int
    everything: bool
    snapshot: ReplicaMap
    partitions: Mapping[Partition, Placed | None]
    counts: Counts
    events: list[Event]


class ReplicaWatch:
    """The replicas of a cluster, watched for all tabs: one object in a process."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = Lock()
        self._taken_s = -EVERY_S
        self._snapshot: ReplicaMap | None = None
        self._counts: Counts | None = None
        self._number = 0
        self._steps: deque[tuple[int, Mapping[Partition, Placed | None]]] = deque(maxlen=STEPS_MAX)
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._event_number = 0
        self._minimum: dict[str, tuple[float, int]] = {}

    def news(self, since: int, since_event: int) -> News | None:
        """Return the changes after the snapshot `since` and the event `since_event`; 0: all.

        Returns None if there are none. Takes a new snapshot if the last is EVERY_S old. Raises
        StartError, Refused.
        """
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._taken_s >= EVERY_S:
                with self._console.cluster() as cluster:
                    self._take(cluster, now_s)
                self._taken_s = now_s
            assert self._snapshot is not None and self._counts is not None
            if since == self._number and since_event == self._event_number:
                return None
            events = [event for event in self._events if event.number > since_event]
            missed = [step for number, step in self._steps if number > since]
            can_step = 0 < since <= self._number and len(missed) == self._number - since
            partitions: dict[Partition, Placed | None] = {}
            for step in missed if can_step else [self._snapshot.partitions]:
                partitions.update(step)
            return News(
                self._number, not can_step, self._snapshot, partitions, self._counts, events
            )

    def _take(self, cluster: ClusterClient, now_s: float) -> None:
        snapshot = replica_map_of(cluster.metadata(None))
        before, self._snapshot = self._snapshot, snapshot
        new_counts = counts(snapshot, self._minimums(cluster, incomplete_topics(snapshot), now_s))
        if before is None:
            self._step(snapshot.partitions)
        else:
            moved = changed(before, snapshot)
            if moved or new_counts != self._counts or before.brokers != snapshot.brokers:
                self._step(moved)
            at_ms = wall_ms()
            for change in changes(before, snapshot):
                self._event_number += 1
                self._events.append(Event(self._event_number, at_ms, change.kind, change.text))
        self._counts = new_counts

    def _step(self, moved: Mapping[Partition, Placed | None]) -> None:
        self._number += 1
        self._steps.append((self._number, moved))

    def _minimums(
        self, cluster: ClusterClient, topics: list[str], now_s: float
    ) -> dict[str, int] | None:
        """Return `min.insync.replicas` by topic; None if the login may not see it.

        The result has these topics, and others of the last MINIMUM_KEPT_S seconds.
        """
        self._minimum = {
            name: kept for name, kept in self._minimum.items() if now_s - kept[0] < MINIMUM_KEPT_S
        }
        missing = [name for name in topics if name not in self._minimum]
        try:
            for start in range(0, len(missing), NAMES_A_REQUEST):
                some = missing[start : start + NAMES_A_REQUEST]
                for name, configs in configs_by_name(cluster, TOPIC, some, [MIN_IN_SYNC]).items():
                    value = next((config.value for config in configs if config.value), "1")
                    self._minimum[name] = (now_s, int(value))
        except Refused:
            return None
        return {name: minimum for name, (_, minimum) in self._minimum.items()}
