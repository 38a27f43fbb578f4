"""A cluster that runs already, in the place of a broker of the tests' own.

`OTTLA_BOOTSTRAP_SERVERS=host:port,…` points the fixtures `ottla` and `ottla_broker` at it: one of
Ottla or of Apache Kafka. What needs a process of ours, to kill it or to put faults into it, raises
NotPossible, for which the plugin skips the test.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from ottla.testing.broker import Broker
from ottla.testing.channel import CALL_TIMEOUT_S, Channel
from ottla.testing.contents import Contents
from ottla.testing.errors import Misuse, NotPossible
from ottla.testing.frames import Json
from ottla.testing.host import the_host
from ottla.testing.log_lines import last_lines

VARIABLE = "OTTLA_BOOTSTRAP_SERVERS"


class RunningCluster(Contents):
    """See the module. It is asked over the network, by a process of the host's."""

    running = True

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.properties: Mapping[str, str] = {}
        self._host = the_host()
        self._folder = self._host.folder("asking")
        self._log = self._folder / "log"
        ours, theirs = socket.socketpair()
        with theirs:
            self._channel = Channel(ours, f"the process that asks {bootstrap_servers}")
            self._host.start(theirs, self._log)
        self.call("connect", {"bootstrap": addresses(bootstrap_servers)})

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """One operation, as with `Broker.call`."""
        return self._channel.call(op, args, timeout_s=timeout_s)

    def output(self, offset: int = 0) -> str:
        """What the process that asks has printed: the cluster's logs are not to be had."""
        return last_lines(self._log, offset)

    @property
    def output_size(self) -> int:
        """How much that is so far."""
        return self._log.stat().st_size if self._log.exists() else 0

    def close(self) -> None:
        """Ask no more."""
        self._channel.close()
        if self._host.running:
            self._host.drop(self._folder)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_") or not hasattr(Broker, name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        raise NotPossible(
            f"{name} needs a broker that the tests have started, and {VARIABLE} is set"
        )


def addresses(bootstrap_servers: str) -> Sequence[Sequence[Json]]:
    """Pairs of host and port."""
    found = []
    for one in bootstrap_servers.split(","):
        host, colon, port = one.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise Misuse(f"{VARIABLE}={bootstrap_servers}: write it as host:port,host:port")
        found.append([host.strip("[]"), int(port)])
    return found
