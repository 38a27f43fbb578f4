"""Connections to the cluster, shared by the threads that answer the page.

A `ClusterClient` serves one thread at a time: a thread takes one and gives it back. At most KEPT
idle ones stay open. If one fails, it and all idle ones are closed, because their broker may have
died. A new one may connect to any broker that was seen, not only to those that the user named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from broker.config.start_error import StartError
from client.cluster import Address, ClusterClient

KEPT = 4
"""The most idle connections."""
KEPT_S = 30.0
AT_ONCE = 64
"""The most connections in use."""
TIMEOUT_S = 10.0


class Clusters:
    """A pool of connections for all threads: `with clusters.taken() as cluster: …`."""

    def __init__(
        self,
        connect: Callable[[Sequence[Address]], ClusterClient],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty pool. `connect` gets the addresses in `known`."""
        self._connect = connect
        self._now = now
        self._lock = Lock()
        self._idle: list[tuple[float, ClusterClient]] = []
        self.known: Sequence[Address] = ()
        """The addresses of the brokers that were seen last; the one that answered comes first."""
        self._room = BoundedSemaphore(AT_ONCE)

    @contextmanager
    def taken(self) -> Iterator[ClusterClient]:
        """Lend a connection to this thread. Raises StartError if no broker answers, or if AT_ONCE
        connections are in use for TIMEOUT_S."""
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
                cluster.close()  # the response to a request may be half read
                raise
            self._keep(cluster)
        finally:
            self._room.release()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, cluster in idle:
            cluster.close()

    def _kept(self) -> ClusterClient | None:
        with self._lock:
            return self._idle.pop()[1] if self._idle else None

    def _keep(self, cluster: ClusterClient) -> None:
        """Keep a connection that is given back, and close those idle for longer than KEPT_S."""
        now = self._now()
        with self._lock:
            if cluster.broker_ids:  # else it has no metadata yet
                self.known = cluster.addresses
            old = [client for at, client in self._idle if at < now - KEPT_S]
            self._idle = [(at, client) for at, client in self._idle if at >= now - KEPT_S]
            if len(self._idle) < KEPT:
                self._idle.append((now, cluster))
            else:
                old.append(cluster)
        for expired in old:
            expired.close()
