"""Kafka's tools on the metadata quorum of a cluster whose voters change.

`QuorumTools` adds and removes voters by `kafka-metadata-quorum`, and compares what all nodes say of
the quorum. Used by the tests of changing voters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import NamedTuple

from tests.tools.apache_kafka import HOST
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.kafka_tools import KafkaTools, ToolResult
from tests.tools.waiting import wait_until

TOOL = "kafka-metadata-quorum"
Nodes = tuple[tuple[int, str], ...]


class Quorum(NamedTuple):
    """The quorum, as a tool printed it: node ids with directory ids, in ascending order."""

    leader: int
    voters: Nodes
    observers: Nodes


class QuorumTools:
    """The tools for a cluster. Every second change goes through the controllers, the others through
    the brokers."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        self._cluster = cluster
        self._tools = KafkaTools(cluster.bootstrap)
        self._through = cycle((self._by_brokers(), self._by_controllers()))
        self._topics: list[str] = []

    def close(self) -> None:
        self._tools.close()

    # --- changes -------------------------------------------------------------------------------

    def add(self, node_id: int) -> None:
        """Add a running controller, after it has caught up."""
        node = self._cluster.nodes[node_id]
        words = ("--command-config", str(node.config_file), "add-controller")
        done = self._change(*words)
        assert f"Added controller {node_id} with directory id {node.directory_id}" in done.stdout
        assert f"CONTROLLER://{HOST}:{node.controller_door}" in done.stdout

    def remove(self, node_id: int) -> None:
        """Remove a voter with the directory id that it has now."""
        directory_id = self._cluster.nodes[node_id].directory_id
        names = ("--controller-id", str(node_id), "--controller-directory-id", directory_id)
        done = self._change("remove-controller", *names)
        assert f"Removed KRaft controller {node_id}" in done.stdout

    def _change(self, *words: str) -> ToolResult:
        """Run the tool until it succeeds: the change before may not be committed yet, or the leader
        may be new."""
        place = next(self._through)

        def try_once() -> ToolResult | None:
            nonlocal last
            last = self._tools.run(TOOL, *place, *words)
            assert last.exit == 0 or "TimeoutException" in last.stderr, last
            return last if last.exit == 0 else None

        last: ToolResult | None = None
        return wait_until(try_once, f"no success of {' '.join(words)}", pause_s=0.2)

    def upgrade(self, level: int) -> ToolResult:
        """Run the tool that raises kraft.version, and return its result."""
        place = ("--bootstrap-server", self._cluster.bootstrap)
        words = ("upgrade", "--feature", f"kraft.version={level}")
        return self._tools.run("kafka-features", *place, *words)

    def new_topic(self) -> None:
        """Create a topic, and find it and all before it in the brokers' list."""
        topic = f"topic-{len(self._topics)}"
        self._tools("kafka-topics", "--create", "--topic", topic, "--partitions", "2")
        self._topics.append(topic)
        wait_until(
            lambda: sorted(self._tools("kafka-topics", "--list").lines) == sorted(self._topics),
            f"{topic} is not in the list",
        )

    # --- the quorum ----------------------------------------------------------------------------

    def wait_for(self, voters: Sequence[int], *, leader: int | None = None) -> int:
        """Wait until brokers and controllers, and both forms of the tool, agree that these are the
        voters and all other running nodes are observers. Return the leader.

        Raises AssertionError with the answers if they do not agree.
        """
        running = {node.node_id for node in self._cluster.nodes.values() if node.running}
        expected_voters = self._with_directories(voters)
        expected_observers = self._with_directories(running - set(voters))
        present = {*expected_voters, *expected_observers}

        def agreed() -> int | None:
            answers = self.answers()
            first = answers[0]
            if first is None or any(answer != first for answer in answers):
                return None
            # A replica that has gone stays an observer for five minutes.
            observers = tuple(node for node in first.observers if node in present)
            fits = (first.voters, observers) == (expected_voters, expected_observers)
            return first.leader if fits and leader in (None, first.leader) else None

        try:
            return wait_until(agreed, "no agreement on the quorum", pause_s=0.2)
        except AssertionError as error:
            expected = f"expected {expected_voters} and {expected_observers}"
            raise AssertionError(f"{error}; {expected}; answers {self.answers()}") from error

    def answers(self) -> list[Quorum | None]:
        """Return the quorum as both forms of the tool show it, asked through brokers and through
        controllers; None for a tool that failed."""
        places = (self._by_brokers(), self._by_controllers())
        return [form(place) for place in places for form in (self._status, self._replication)]

    def _status(self, place: Sequence[str]) -> Quorum | None:
        """Return the quorum of `describe --status`, and check the endpoints of the voters."""
        done = self._tools.run(TOOL, *place, "describe", "--status")
        if done.exit != 0:
            return None
        lines = dict(re.findall(r"^(\w+): +(.*)$", done.stdout, re.MULTILINE))
        voters, observers = (json.loads(lines[f"Current{of}"]) for of in ("Voters", "Observers"))
        for voter in voters:
            node = self._cluster.nodes[voter["id"]]
            assert voter["endpoints"] == [f"CONTROLLER://{HOST}:{node.controller_door}"], voter
        nodes = [
            tuple(sorted((node["id"], node.get("directoryId", "")) for node in some))
            for some in (voters, observers)
        ]
        return Quorum(int(lines["LeaderId"]), *nodes)

    def _replication(self, place: Sequence[str]) -> Quorum | None:
        """Return the quorum of `describe --replication`."""
        done = self._tools.run(TOOL, *place, "describe", "--replication")
        if done.exit != 0:
            return None
        rows = [line.split() for line in done.lines[1:]]
        nodes = {
            status: tuple(sorted((int(row[0]), row[1]) for row in rows if row[-1] == status))
            for status in ("Leader", "Follower", "Observer")
        }
        voters = tuple(sorted(nodes["Leader"] + nodes["Follower"]))
        return Quorum(nodes["Leader"][0][0], voters, nodes["Observer"])

    def _with_directories(self, node_ids: Iterable[int]) -> Nodes:
        return tuple((node, self._cluster.nodes[node].directory_id) for node in sorted(node_ids))

    def _by_brokers(self) -> tuple[str, str]:
        return "--bootstrap-server", self._cluster.bootstrap

    def _by_controllers(self) -> tuple[str, str]:
        return "--bootstrap-controller", self._cluster.bootstrap_controllers
