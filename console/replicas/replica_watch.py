"""One look a second at where the replicas are, shared by all tabs that watch; else none.

Owns the last look, a number that grows with each look that brought something, the partitions that
changed with each, and the newest events. A tab asks for what is newer than the number it has.
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
    Look,
    Placed,
    changed,
    changes,
    counts,
    lacking_topics,
    look_of,
)

EVERY_S = 1.0
EVENTS_MAX = 500
STEPS_MAX = 60
"""How many looks a tab may have missed before it gets everything anew."""
MINIMUM_KEPT_S = 30.0
NAMES_A_REQUEST = 500


class Event(NamedTuple):
    """Something that happened; `number` grows."""

    number: int
    at_ms: int
    kind: str
    text: str


class News(NamedTuple):
    """What a tab that stands at some number needs to be at `number`.

    `everything`: `partitions` are all there are; else those that changed, None where gone."""

    number: int
    everything: bool
    look: Look
    partitions: Mapping[Partition, Placed | None]
    counts: Counts
    events: list[Event]


class ReplicaWatch:
    """One for the process."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = Lock()
        self._looked_s = -EVERY_S
        self._look: Look | None = None
        self._counts: Counts | None = None
        self._number = 0
        self._steps: deque[tuple[int, Mapping[Partition, Placed | None]]] = deque(maxlen=STEPS_MAX)
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._event_number = 0
        self._minimum: dict[str, tuple[float, int]] = {}

    def news(self, since: int, since_event: int) -> News | None:
        """What happened after look `since` and event `since_event`, None where nothing did; 0: all.
        Looks where the last look is older than a second. Raises StartError, Refused."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._looked_s >= EVERY_S:
                with self._console.cluster() as cluster:
                    self._take(cluster, now_s)
                self._looked_s = now_s
            assert self._look is not None and self._counts is not None
            if since == self._number and since_event == self._event_number:
                return None
            events = [one for one in self._events if one.number > since_event]
            missed = [one for number, one in self._steps if number > since]
            known = 0 < since <= self._number and len(missed) == self._number - since
            partitions: dict[Partition, Placed | None] = {}
            for one in missed if known else [self._look.partitions]:
                partitions.update(one)
            return News(self._number, not known, self._look, partitions, self._counts, events)

    def _take(self, cluster: ClusterClient, now_s: float) -> None:
        look = look_of(cluster.metadata(None))
        before, self._look = self._look, look
        found = counts(look, self._minimums(cluster, lacking_topics(look), now_s))
        if before is None:
            self._step(look.partitions)
        else:
            moved = changed(before, look)
            if moved or found != self._counts or before.brokers != look.brokers:
                self._step(moved)
            at_ms = wall_ms()
            for one in changes(before, look):
                self._event_number += 1
                self._events.append(Event(self._event_number, at_ms, one.kind, one.text))
        self._counts = found

    def _step(self, moved: Mapping[Partition, Placed | None]) -> None:
        self._number += 1
        self._steps.append((self._number, moved))

    def _minimums(
        self, cluster: ClusterClient, topics: list[str], now_s: float
    ) -> dict[str, int] | None:
        """`min.insync.replicas`, asked for again after a while; None where it may not be seen."""
        self._minimum = {
            name: one for name, one in self._minimum.items() if now_s - one[0] < MINIMUM_KEPT_S
        }
        missing = [name for name in topics if name not in self._minimum]
        try:
            for start in range(0, len(missing), NAMES_A_REQUEST):
                some = missing[start : start + NAMES_A_REQUEST]
                for name, found in configs_by_name(cluster, TOPIC, some, [MIN_IN_SYNC]).items():
                    value = next((one.value for one in found if one.value), "1")
                    self._minimum[name] = (now_s, int(value))
        except Refused:
            return None
        return {name: one for name, (_, one) in self._minimum.items()}
