"""The sampler of lag: a thread that asks for the offsets of all groups every ten seconds.

Owns the thread and the time of the next sample. Between two samples passes at least EVERY_S, and at
least 100 times the time that the quickest of the last samples waited for answers, so samples keep
the brokers busy for at most a hundredth of the time. The quickest counts because a slow one may
have waited for other work of the machine.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from threading import Event, Lock, Thread
from typing import NamedTuple, TypeVar

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST
from client.groups.groups import by_coordinator
from client.groups.many import committed_of_many, share_positions_of_many
from client.groups.positions import offsets_of
from client.groups.uncommitted import Uncommitted, held, without_commit
from client.offsets import list_known_offsets
from client.refusals import Refused
from console.endpoints import Console, wall_ms
from console.groups.lag_history import LagHistory
from protocol.messages.metadata import MetadataResponseTopic

EVERY_S = 10.0
SHARE = 0.01
"""The largest part of the time in which samples may keep the cluster busy."""
SAMPLES_COMPARED = 5
EVERY_S_MAX = 120.0
PARTITIONS_MAX = 50_000
"""The most partitions whose end offsets a sample asks for; the lag of further ones is unknown."""

T = TypeVar("T")

_log = logging.getLogger(f"ottla.{__name__}")


class LagSampler:
    """The thread that samples all groups, and its history, which all tabs share."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = LagHistory()
        self._lock = Lock()
        self._end = Event()
        self._looked = Event()
        self.error: str | None = None
        """The reason why the last sample failed; None if it succeeded."""
        self.every_s = EVERY_S
        """The present time between two samples."""
        self._thread = Thread(target=self._run, name="console-lag", daemon=True)
        self._thread.start()

    def read(self, question: Callable[[LagHistory], T]) -> T:
        """Return the result of `question` about the history; no sample is added meanwhile."""
        with self._lock:
            return question(self._history)

    def wait_for_first(self, timeout_s: float) -> None:
        """Wait until the first sample has succeeded or failed."""
        self._looked.wait(timeout_s)

    def close(self) -> None:
        """Take no more samples."""
        self._end.set()

    def look(self, at_ms: int) -> float:
        """Take a sample, and return the seconds of waiting for the cluster's answers. Raises
        StartError, Refused."""
        with self._console.cluster() as cluster:
            began, own = time.monotonic(), time.thread_time()
            seen = look_at_groups(cluster)
            waited_s = (time.monotonic() - began) - (time.thread_time() - own)
        with self._lock:
            self._history.add(at_ms, *seen)
        return waited_s

    def _run(self) -> None:
        """Take samples until `close`."""
        waited: deque[float] = deque(maxlen=SAMPLES_COMPARED)
        while not self._end.is_set():
            began = time.monotonic()
            try:
                waited.append(self.look(wall_ms()))
                self.error = None
            except (StartError, Refused, OSError) as error:
                self.error = str(error)
            except Exception:  # noqa: BLE001 - the thread goes on, the log has the trace
                self.error = "the console failed: see the stack trace in its log"
                _log.exception("a sample of the groups failed")
            self._looked.set()
            # The first sample also opens connections and loads modules.
            quickest = min(waited) if len(waited) > 1 else 0.0
            self.every_s = min(max(EVERY_S, quickest / SHARE), EVERY_S_MAX)
            self._end.wait(max(self.every_s - (time.monotonic() - began), 0.1))


class Look(NamedTuple):
    """The answers of a cluster about all groups that this login may see."""

    committed: Mapping[str, Mapping[Partition, int]]
    """The committed offsets of each group, the start offsets of a share group."""
    ends: Mapping[Partition, int]
    """The end offsets of these partitions; those that the leader did not report are left out."""
    uncommitted: Mapping[str, Uncommitted]
    """The partitions without a committed offset, of each group that has such partitions."""
    reported: Mapping[str, Mapping[Partition, int]]
    """The lags of share groups, which their coordinators report."""


def look_at_groups(cluster: ClusterClient) -> Look:
    """Ask the cluster for the offsets of all groups and their partitions. Raises StartError,
    Refused."""
    groups = by_coordinator(cluster)
    share = share_positions_of_many(cluster, groups)
    committing = committed_of_many(cluster, groups)
    committed = committing | {name: offsets_of(own) for name, own in share.items()}
    names = sorted({topic for offsets in committed.values() for topic, _ in offsets})
    topics = {
        topic.name or "": topic
        for topic in (cluster.metadata(names).topics if names else ())
        if not topic.error_code
    }
    indexes = {
        name: [partition.partition_index for partition in topic.partitions]
        for name, topic in topics.items()
    }
    missing = {
        group: places
        for group, offsets in committing.items()
        if (places := without_commit(offsets, indexes))
    }
    wanted = dict.fromkeys(at for offsets in committed.values() for at in offsets)
    empty = dict.fromkeys(at for places in missing.values() for at in places)
    ends = _offsets(cluster, topics, [*wanted, *(empty.keys() - wanted.keys())], LATEST)
    starts = _offsets(cluster, topics, empty, EARLIEST)
    uncommitted = {group: held(places, starts, ends) for group, places in missing.items()}
    reported = {
        group: {
            at: position.reported_lag
            for at, position in own.items()
            if position.reported_lag is not None
        }
        for group, own in share.items()
    }
    return Look(committed, ends, uncommitted, reported)


def _offsets(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Iterable[Partition],
    when: int,
) -> dict[Partition, int]:
    """Ask the leaders for the EARLIEST or LATEST offsets of at most PARTITIONS_MAX partitions."""
    places = sorted(islice(partitions, PARTITIONS_MAX))
    wanted = {at: when for at in places if at[0] in topics}
    return list_known_offsets(cluster, topics, wanted) if wanted else {}
