"""The one who looks at the cluster for all tabs, and only while one asks.

However large the cluster is, looks take a tenth of the time at most: what they cost says when the
next one may be. Owns the time and the lock.
"""

from __future__ import annotations

import time
from threading import Lock

from client.cluster import ClusterClient
from client.groups.groups import listed
from client.live.looking import seen_topics, take_sample
from client.refusals import Refused
from console.endpoints import Console
from console.overview.live_rates import LiveRates

LOOK_EVERY_S = 2.0
PART_OF_TIME = 10
"""A look that takes a second is followed by ten without one."""
GROUPS_MAX = 200


class Sampler:
    """`console.state(Sampler).now()`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = Lock()
        self._next_at = 0.0
        self._rates = LiveRates()
        self.groups_left_out = 0

    def now(self) -> LiveRates:
        """What is known, after a look if one is due. Raises Refused, StartError."""
        has_some = self._rates.looked_at is not None
        if self._lock.acquire(blocking=not has_some):  # else somebody looks just now
            try:
                if time.monotonic() >= self._next_at:
                    self._look()
            finally:
                self._lock.release()
        return self._rates

    def _look(self) -> None:
        began = time.monotonic()
        try:
            with self._console.cluster() as cluster:
                topics = seen_topics(cluster, internal=True)
                sample = take_sample(cluster, topics, began, self._groups(cluster))
        finally:
            took = time.monotonic() - began
            self._next_at = began + max(LOOK_EVERY_S, took * (PART_OF_TIME + 1)) - 0.2
        internal = {name for name, one in topics.items() if one.is_internal}
        self._rates.add(sample, time.time(), internal)

    def _groups(self, cluster: ClusterClient) -> list[str]:
        try:
            names = [one.group for one in listed(cluster)]
        except Refused:  # whoever may not see groups sees the rest
            return []
        self.groups_left_out = max(len(names) - GROUPS_MAX, 0)
        return names[:GROUPS_MAX]
