"""A running cluster that the fixtures use instead of a broker of their own.

`OTTLA_BOOTSTRAP_SERVERS=host:port,…` points the fixtures `ottla` and `ottla_broker` to a cluster of
Ottla or of Apache Kafka. A call that needs a process that the tests started, such as a kill or a
fault, raises NotPossible; then the plugin skips the test.

The cluster is not emptied between tests. After a test, the topics and groups that the test has
named and that did not exist before it are deleted, and the configs that it set for these groups.
This includes topics and groups that the application created, if the test names them. No others are
deleted.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from ottla.testing.broker import Broker
from ottla.testing.channel import CALL_TIMEOUT_S, ProcessChannel
from ottla.testing.contents import Contents
from ottla.testing.errors import Misuse, NotPossible
from ottla.testing.frames import Json
from ottla.testing.host import the_host
from ottla.testing.log_lines import last_lines

VARIABLE = "OTTLA_BOOTSTRAP_SERVERS"


class RunningCluster(Contents):
    """A cluster that runs already. A process of the host calls it over the network."""

    running = True

    def __init__(self, bootstrap_servers: str) -> None:
        """Start a process of the host that calls the cluster at `bootstrap_servers`, `host:port,…`,
        and wait for its answer. Raises Misuse if the text has another form, OttlaError if no broker
        answers."""
        self.bootstrap_servers = bootstrap_servers
        self.properties: Mapping[str, str] = {}
        self._before: tuple[set[str], set[str]] | None = None
        """The topics and groups that existed when the test began; None between tests."""
        self._named: tuple[set[str], set[str]] = set(), set()
        self._configured: dict[str, dict[str, None]] = {}
        """The keys of the configs that the test has set, by group."""
        self._host = the_host()
        self._folder = self._host.folder("asking")
        self._log = self._folder / "log"
        ours, theirs = socket.socketpair()
        with theirs:
            self._channel = ProcessChannel(ours, f"the process that asks {bootstrap_servers}")
            self._host.start(theirs, self._log)
        self.call("connect", {"bootstrap": addresses(bootstrap_servers)})

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """Return the answer of one operation, as `Broker.call` does. Remember the topics, groups
        and configs of groups in the arguments, so that `drop_topics` can delete them."""
        for names, new_names in zip(self._named, names_in(args or {}), strict=True):
            names |= new_names
        if op == "group.configure" and args is not None:
            self._configured.setdefault(args["group"], {}).update(dict.fromkeys(args["configs"]))
        return self._channel.call(op, args, timeout_s=timeout_s)

    def begin_test(self) -> None:
        """Record the topics and groups that exist, which do not belong to the test that begins. Do
        nothing within a test."""
        if self._before is None:
            self._before = self._present_names()
            self._named = set(), set()
            self._configured = {}

    def drop_topics(self) -> None:
        """Delete the topics that `topic` has created, and all topics and groups, with their
        configs, that the test has named and that did not exist before it. The test ends with
        this."""
        before, self._before = self._before, None
        if before is not None:
            named, present = self._named, self._present_names()
            topics, groups = (
                sorted((named[kind] & present[kind]) - before[kind]) for kind in (0, 1)
            )
            if topics:
                self.call("topic.delete", {"names": topics})
            if groups:
                self.call("group.delete", {"groups": groups})
            for group, configs in list(self._configured.items()):
                if group not in before[1]:
                    self.call("group.configure", {"group": group, "configs": configs})
            self._topics().clear()
        super().drop_topics()

    def _present_names(self) -> tuple[set[str], set[str]]:
        """Return the names of the topics and of the groups that the cluster has now."""
        return set(self.topics()), {group["group"] for group in self.call("group.list")}

    def output(self, offset: int = 0) -> str:
        """Return the last 200 lines of the process that calls the cluster, after `offset` bytes.
        The logs of the cluster are not available."""
        return last_lines(self._log, offset)

    @property
    def output_size(self) -> int:
        """The number of bytes that the process that calls the cluster has printed so far."""
        return self._log.stat().st_size if self._log.exists() else 0

    def close(self) -> None:
        """End the process that calls the cluster, and remove its folder. The cluster runs on."""
        self._channel.close()
        if self._host.running:
            self._host.drop(self._folder)

    def __getattr__(self, name: str) -> object:
        """Raise NotPossible for an attribute that only a `Broker` has, such as `kill`, and
        AttributeError for any other name."""
        if name.startswith("_") or not hasattr(Broker, name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        raise NotPossible(
            f"{name} needs a broker that the tests have started, and {VARIABLE} is set"
        )


def names_in(args: Mapping[str, Json]) -> tuple[set[str], set[str]]:
    """Return the topics and the groups that the arguments of an operation name."""
    topics = {args.get("name"), args.get("topic"), *(args.get("names") or ())}
    groups = {args.get("group"), *(args.get("groups") or ())}
    return (topics | {*(args.get("topics") or ())}) - {None}, groups - {None}


def addresses(bootstrap_servers: str) -> Sequence[Sequence[Json]]:
    """Return the pairs of host and port in a text `host:port,host:port`. Raises Misuse if the text
    has another form."""
    pairs = []
    for address in bootstrap_servers.split(","):
        host, colon, port = address.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise Misuse(f"{VARIABLE}={bootstrap_servers}: write it as host:port,host:port")
        pairs.append([host.strip("[]"), int(port)])
    return pairs
