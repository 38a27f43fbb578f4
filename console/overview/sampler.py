"""The sampler of write rates, which all tabs share.

A tab's request takes a sample at most each two seconds. `IdleSampling` takes the others, so that
the charts have no gaps while no tab asks. Samples for tabs take at most a tenth of the time, the
others at most a hundredth, however large the cluster is. Owns the times of the samples and a lock.
"""

from __future__ import annotations

import logging
import time
from threading import Event, Lock, Thread

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.groups.groups import listed
from client.live.looking import seen_topics, take_sample
from client.operations import operations_on_cluster
from client.refusals import Refused
from console.endpoints import Console
from console.overview.live_rates import LiveRates
from ottla.plugins.authorizer import Operation

SAMPLE_EVERY_S = 2.0
IDLE_EVERY_S = 10.0
IDLE_EVERY_S_MAX = 120.0
PART_OF_TIME = 10
"""A sample that takes a second is followed by at least ten seconds without one."""
IDLE_PART_OF_TIME = 100
GROUPS_MAX = 200

_log = logging.getLogger(f"ottla.{__name__}")


class Sampler:
    """The samples of topics and groups that all tabs share: `console.state(Sampler).now()`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = Lock()
        self._next_at = 0.0
        self._rates = LiveRates()
        self._error: Exception | None = None
        """The error of the last sample; None if it succeeded."""
        self._began_s = self._took_s = 0.0
        """The time of the last sample, and its seconds."""
        self.groups_left_out = 0
        self.hides_groups = False
        """Whether the login sees only the groups that it may describe."""

    def now(self) -> LiveRates:
        """Take a sample if one is due, and return the rates.

        Raises the error of the last sample, Refused or StartError, until one succeeds.
        """
        has_rates = self._rates.looked_at is not None
        if self._lock.acquire(blocking=not has_rates):  # otherwise another tab takes a sample
            try:
                if time.monotonic() >= self._next_at:
                    self._sample(with_groups=True)
            finally:
                self._lock.release()
        error = self._error
        if error is not None:
            raise error.with_traceback(None)
        return self._rates

    def sample_if_idle(self) -> float:
        """Take a sample of the topics if no tab has asked for one lately. Return the seconds until
        the next call."""
        with self._lock:
            idle_s = min(max(IDLE_EVERY_S, self._took_s * IDLE_PART_OF_TIME), IDLE_EVERY_S_MAX)
            self._rates.expect_every(idle_s)  # the next sample may be a tab's, before it is due
            due_s = self._began_s + idle_s - time.monotonic()
            if due_s > 0 and self._next_at:
                return due_s
            self._sample(with_groups=False)
            return idle_s

    def _sample(self, *, with_groups: bool) -> None:
        """Take a sample and keep its error, if it is one of the cluster's."""
        began = time.monotonic()
        try:
            with self._console.cluster() as cluster:
                topics = seen_topics(cluster, internal=True)
                names = self._groups(cluster) if with_groups else []
                sample = take_sample(cluster, topics, began, names)
        except (StartError, Refused) as error:
            self._error = error
        else:
            internal = {name for name, topic in topics.items() if topic.is_internal}
            self._rates.add(sample, time.time(), internal, with_groups=with_groups)
            self._error = None
        self._began_s, self._took_s = began, time.monotonic() - began
        self._next_at = began + max(SAMPLE_EVERY_S, self._took_s * (PART_OF_TIME + 1)) - 0.2

    def _groups(self, cluster: ClusterClient) -> list[str]:
        """Return the names of the groups to sample: none if the login may not list any."""
        try:
            names = [row.group for row in listed(cluster)]
        except Refused:
            names = []
        self.groups_left_out = max(len(names) - GROUPS_MAX, 0)
        operations = operations_on_cluster(cluster)
        self.hides_groups = operations is not None and Operation.DESCRIBE not in operations
        return names[:GROUPS_MAX]


class IdleSampling:
    """The thread that takes samples while no tab asks for any."""

    def __init__(self, console: Console) -> None:
        self._sampler = console.state(Sampler)
        self._end = Event()
        Thread(target=self._run, name="console-rates", daemon=True).start()

    def close(self) -> None:
        """Take no more samples."""
        self._end.set()

    def _run(self) -> None:
        """Take samples until `close`."""
        while not self._end.is_set():
            pause_s = IDLE_EVERY_S
            try:
                pause_s = self._sampler.sample_if_idle()
            except Exception:  # noqa: BLE001 - the thread goes on, the log has the trace
                _log.exception("a sample of the rates failed")
            self._end.wait(pause_s)
