"""Connections to the cluster, shared by the threads that answer the page.

A `ClusterClient` serves one thread at a time: whoever needs one takes it and gives it back. Few are
kept while nobody looks. One that failed is closed, and those kept beside it: their broker may have
died. The next one may connect to any broker that was seen, not only to those that the user named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from broker.config.start_error import StartError
from client.cluster import Address, ClusterClient

KEPT = 4
KEPT_S = 30.0
AT_ONCE = 64
TIMEOUT_S = 10.0


class Clusters:
    """`with clusters.taken() as cluster: …`, in any thread."""

    def __init__(
        self,
        connect: Callable[[Sequence[Address]], ClusterClient],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connect` is given `known`."""
        self._connect = connect
        self._now = now
        self._lock = Lock()
        self._idle: list[tuple[float, ClusterClient]] = []
        self.known: Sequence[Address] = ()
        """Where the brokers are that were seen last; who answered comes first."""
        self._room = BoundedSemaphore(AT_ONCE)

    @contextmanager
    def taken(self) -> Iterator[ClusterClient]:
        """One for this thread alone. Raises StartError where no broker answers, or too many are
        taken."""
        if not self._room.acquire(timeout=TIMEOUT_S):
            raise StartError("the console has too many requests at once: close some of its tabs")
        try:
            cluster = self._kept() or self._connect(self.known)
            try:
                yield cluster
            except (StartError, OSError):
                cluster.close()
                self.close()
                raise
            except BaseException:
                cluster.close()  # a question may be half answered
                raise
            self._keep(cluster)
        finally:
            self._room.release()

    def close(self) -> None:
        """Hang up what nobody uses now."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, one in idle:
            one.close()

    def _kept(self) -> ClusterClient | None:
        with self._lock:
            return self._idle.pop()[1] if self._idle else None

    def _keep(self, cluster: ClusterClient) -> None:
        """Keep it, and hang up what nobody has used for a while."""
        now = self._now()
        with self._lock:
            if cluster.broker_ids:  # else it has not asked who is there
                self.known = cluster.addresses
            old = [one for at, one in self._idle if at < now - KEPT_S]
            self._idle = [(at, one) for at, one in self._idle if at >= now - KEPT_S]
            if len(self._idle) < KEPT:
                self._idle.append((now, cluster))
            else:
                old.append(cluster)
        for one in old:
            one.close()
