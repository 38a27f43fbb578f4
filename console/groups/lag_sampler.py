"""Looks at all groups every ten seconds, and puts what it sees into the history.

Owns a thread, and when it looks next. The cluster's share is bounded by waiting: between two looks
passes at least 100 times as long as the answers of one were waited for, so that they take at most
one part in a hundred of a core of the brokers, and at least EVERY_S. Of the last looks the quickest
counts: what else this machine does is not the cluster's work.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event, Lock, Thread
from typing import TypeVar

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.core.offsets import LATEST
from client.groups.groups import GroupSummary, by_coordinator
from client.groups.many import committed_of_many
from client.offsets import list_known_offsets
from client.refusals import Refused
from console.endpoints import Console, wall_ms
from console.groups.lag_history import LagHistory

EVERY_S = 10.0
SHARE = 0.01
"""Of the time that passes, how much the cluster may be busy with questions."""
LOOKS_COMPARED = 5
EVERY_S_MAX = 120.0
PARTITIONS_MAX = 50_000
"""Of which the ends are asked in one look: those of more groups are not known."""

T = TypeVar("T")

_log = logging.getLogger(f"ottla.{__name__}")


class LagSampler:
    """One for the process; `read` gives a look into the history."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = LagHistory()
        self._lock = Lock()
        self._end = Event()
        self._looked = Event()
        self.error: str | None = None
        """Why the last look failed; None where it did not."""
        self.every_s = EVERY_S
        """How long it is between two looks now."""
        self._thread = Thread(target=self._run, name="console-lag", daemon=True)
        self._thread.start()

    def read(self, question: Callable[[LagHistory], T]) -> T:
        """What `question` finds; no look is added meanwhile."""
        with self._lock:
            return question(self._history)

    def wait_for_first(self, timeout_s: float) -> None:
        """Until one look is done or has failed."""
        self._looked.wait(timeout_s)

    def close(self) -> None:
        """No more looks."""
        self._end.set()

    def look(self, at_ms: int) -> float:
        """One look; for how many seconds the cluster was waited for. Raises StartError, Refused."""
        with self._console.cluster() as cluster:
            began, own = time.monotonic(), time.thread_time()
            committed, ends = committed_and_ends(cluster)
            waited_s = (time.monotonic() - began) - (time.thread_time() - own)
        with self._lock:
            self._history.add(at_ms, committed, ends)
        return waited_s

    def _run(self) -> None:
        waited: deque[float] = deque(maxlen=LOOKS_COMPARED)
        while not self._end.is_set():
            began = time.monotonic()
            try:
                waited.append(self.look(wall_ms()))
                self.error = None
            except (StartError, Refused, OSError) as error:
                self.error = str(error)
            except Exception:  # noqa: BLE001 - the thread goes on, the log has the trace
                self.error = "the console failed: see the stack trace in its log"
                _log.exception("looking at the groups failed")
            self._looked.set()
            # The first look has connections to make, and modules to load.
            quickest = min(waited) if len(waited) > 1 else 0.0
            self.every_s = min(max(EVERY_S, quickest / SHARE), EVERY_S_MAX)
            self._end.wait(max(self.every_s - (time.monotonic() - began), 0.1))


def committed_and_ends(
    cluster: ClusterClient,
) -> tuple[dict[str, dict[Partition, int]], dict[Partition, int]]:
    """Where all groups stand, and where their partitions end. Raises StartError, Refused."""
    listed: Mapping[int, Sequence[GroupSummary]] = by_coordinator(cluster)
    committed = committed_of_many(cluster, listed)
    wanted = list(dict.fromkeys(at for offsets in committed.values() for at in offsets))
    return committed, _ends(cluster, wanted[:PARTITIONS_MAX])


def _ends(cluster: ClusterClient, wanted: Iterable[Partition]) -> dict[Partition, int]:
    places = sorted(wanted)
    names = sorted({name for name, _ in places})
    if not names:
        return {}
    topics = {one.name or "": one for one in cluster.metadata(names).topics if not one.error_code}
    return list_known_offsets(cluster, topics, {at: LATEST for at in places if at[0] in topics})
