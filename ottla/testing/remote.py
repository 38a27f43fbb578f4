"""A cluster that runs already, in the place of a broker of the tests' own.

`OTTLA_BOOTSTRAP_SERVERS=host:port,…` points the fixtures `ottla` and `ottla_broker` at it: one of
Ottla or of Apache Kafka. What needs a process of ours, to kill it or to put faults into it, raises
NotPossible, for which the plugin skips the test.

It is not emptied between tests. What a test has named, and what was not there before, goes with it:
so the application's topics and groups do, too, and nothing of anybody else's does.
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
        self._before: tuple[set[str], set[str]] | None = None
        """Topics and groups that were there when the test began; None between tests."""
        self._named: tuple[set[str], set[str]] = set(), set()
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
        for named, found in zip(self._named, names_in(args or {}), strict=True):
            named |= found
        return self._channel.call(op, args, timeout_s=timeout_s)

    def begin_test(self) -> None:
        """What is there now is not the test's. Without effect within a test."""
        if self._before is None:
            self._before = self._present()
            self._named = set(), set()

    def drop_topics(self) -> None:
        """Delete the topics that `topic` has made, and all topics and groups that the test has
        named and that were not there before it."""
        before, self._before = self._before, None
        if before is not None:
            named, present = self._named, self._present()
            topics, groups = (
                sorted((named[kind] & present[kind]) - before[kind]) for kind in (0, 1)
            )
            if topics:
                self.call("topic.delete", {"names": topics})
            if groups:
                self.call("group.delete", {"groups": groups})
            self._topics().clear()
        super().drop_topics()

    def _present(self) -> tuple[set[str], set[str]]:
        return set(self.topics()), {one["group"] for one in self.call("group.list")}

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


def names_in(args: Mapping[str, Json]) -> tuple[set[str], set[str]]:
    """The topics and the groups that an operation is about."""
    topics = {args.get("name"), args.get("topic"), *(args.get("names") or ())}
    groups = {args.get("group"), *(args.get("groups") or ())}
    return (topics | {*(args.get("topics") or ())}) - {None}, groups - {None}


def addresses(bootstrap_servers: str) -> Sequence[Sequence[Json]]:
    """Pairs of host and port."""
    found = []
    for one in bootstrap_servers.split(","):
        host, colon, port = one.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise Misuse(f"{VARIABLE}={bootstrap_servers}: write it as host:port,host:port")
        found.append([host.strip("[]"), int(port)])
    return found
