"""What a quorum answers to changes of its voters (KIP-853), as Apache Kafka answered.

`python -m tests.golden.voter_cases` records `voter_answers_kafka.json` again, from a dynamic quorum
of two Kafka nodes and from a static one. `tests/compat/test_voter_answers.py` has the same
conversations with Ottla.

Node 1 is a broker and the only voter; node 2 is a controller that observes. Requests go to the
listener for clients, from which the broker forwards them, and to that for controllers. What differs
from run to run has a name in the answers: ids, epochs and ports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.message import as_dict
from protocol.messages import add_raft_voter as adding
from protocol.messages import describe_quorum as describe
from protocol.messages import remove_raft_voter as removing
from protocol.messages import unregister_controller as unregistering
from protocol.messages import update_raft_voter as updating
from protocol.primitives import uuid_to_string
from tests.clients.wire_client import WireClient
from tests.golden.odd_controllers import OddControllers
from tests.kept_json import write_json
from tests.tools.cluster_processes import KAFKA, ClusterProcesses
from tests.tools.waiting import wait_until

RECORDED = Path(__file__).parent / "voter_answers_kafka.json"
LISTENER = "CONTROLLER"
LEADER, OBSERVER, STRANGER = 1, 2, 7
SOME_DIRECTORY = bytes(range(16))
NO_DIRECTORY = bytes(16)
OTHER_CLUSTER = "another-cluster-id----"
NOWHERE = ("localhost", 9)
CLIENTS, CONTROLLERS, FOLLOWER = "clients", "controllers", "follower"
_VOTER = re.compile(r"ReplicaKey\([^)]*\)")
_VOTERS = re.compile(r"\[ReplicaKey[^]]*\]")
CLOSED = "the connection is closed"
FEATURES = {"streams.version": 0}

Answers = dict[str, Any]
Case = tuple[str, Any, int]


class VoterTalk:
    """A conversation with a quorum: its connections, and the answers so far by name."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        """Connect, and read the quorum's ids."""
        self.answers: Answers = {}
        self.cluster_id = cluster.cluster_id
        first, *others = cluster.nodes.values()
        self._ports = {CLIENTS: first.client_port, CONTROLLERS: first.controller_port}
        if others:
            self._ports[FOLLOWER] = others[0].controller_port
        self._names = {str(port): f"<{name}>" for name, port in self._ports.items()}
        self._names[self.cluster_id] = "<cluster>"
        self._clients = {name: self.connect(name) for name in self._ports}
        self.directories = dict.fromkeys(cluster.nodes, SOME_DIRECTORY)
        wait_until(lambda: self._has_members(len(cluster.nodes)), "a quorum with all its nodes")

    def connect(self, listener: str) -> WireClient:
        """Return a further connection."""
        return WireClient(self._ports[listener])

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _has_members(self, count: int) -> bool:
        """Read the quorum; return whether it has a leader and `count` members."""
        log = describe.DescribeQuorumRequestPartitionData(0)
        topic = describe.DescribeQuorumRequestTopicData("__cluster_metadata", [log])
        answer = self.call(CONTROLLERS, describe.DescribeQuorumRequest([topic]), 2)
        partition = answer.topics[0].partitions[0]
        members = [*partition.current_voters, *partition.observers]
        self.epoch = partition.leader_epoch
        for member in members:
            if member.replica_id in self.directories:
                self.directories[member.replica_id] = member.replica_directory_id
                name = f"<directory of {member.replica_id}>"
                self._names[uuid_to_string(member.replica_directory_id)] = name
        return partition.leader_id == LEADER and count == len(
            [member for member in members if member.replica_id in self.directories]
        )

    def name(self, value: object, name: str) -> None:
        """Write `name` in place of a value that differs from run to run."""
        self._names[str(value)] = name

    def call(self, listener: str, request: Any, version: int) -> Any:
        """Return the answer to a request."""
        return self._clients[listener].call(request, version)

    def ask(self, cases: list[Case], *listeners: str) -> None:
        """Keep the answers to requests, on each listener."""
        for name, request, version in cases:
            for listener in listeners:
                full = f"{name}, v{version} ({listener})"
                try:
                    self.keep(full, self.call(listener, request, version))
                except ConnectionError:
                    self.answers[full] = CLOSED
                    self._clients[listener] = self.connect(listener)

    def keep(self, name: str, answer: Any) -> None:
        """Keep an answer without what differs from run to run."""
        assert name not in self.answers, name
        self.answers[name] = self._plain(as_dict(answer))

    def until_done(
        self,
        listener: str,
        name: str,
        request: Any,
        version: int,
        later: ErrorCode = ErrorCode.REQUEST_TIMED_OUT,
    ) -> None:
        """Ask until the answer is not `later`, and keep it. Before, the leader still commits the
        last change, or the new voter lags behind."""
        last: list[Any] = []

        def is_done() -> bool:
            last[:] = [self.call(listener, request, version)]
            return bool(last[0].error_code != later)

        wait_until(is_done, name)
        self.keep(f"{name}, v{version} ({listener})", last[0])

    def _plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self._plain(part, key) for key, part in value.items()}
        if name == "leader_epoch" and value == self.epoch:
            return "<epoch>"
        if name == "port":
            return self._names.get(str(value), value)
        if not isinstance(value, str):
            return value
        for real, shown in self._names.items():
            value = re.sub(rf"(?<![\w-]){re.escape(real)}(?![\w-])", shown, value)
        return _VOTERS.sub(_sorted_voters, value)

    # --- requests ------------------------------------------------------------------------------

    def add(
        self,
        voter: int = STRANGER,
        directory: bytes = SOME_DIRECTORY,
        at: tuple[str, int] = NOWHERE,
        listeners: tuple[str, ...] = (LISTENER,),
        **fields: Any,
    ) -> Any:
        """Return the request to add a voter with these listeners, all at one address."""
        values = {"cluster_id": self.cluster_id, "timeout_ms": 5_000, **fields}
        endpoints = [adding.Listener(name, *at) for name in listeners]
        return adding.AddRaftVoterRequest(
            voter_id=voter, voter_directory_id=directory, listeners=endpoints, **values
        )

    def remove(
        self, voter: int = STRANGER, directory: bytes = SOME_DIRECTORY, **fields: Any
    ) -> Any:
        """Return the request to remove a voter."""
        values = {"cluster_id": self.cluster_id, **fields}
        return removing.RemoveRaftVoterRequest(
            voter_id=voter, voter_directory_id=directory, **values
        )

    def update(
        self,
        voter: int = STRANGER,
        directory: bytes = SOME_DIRECTORY,
        at: tuple[str, int] = NOWHERE,
        listeners: tuple[str, ...] = (LISTENER,),
        levels: tuple[int, int] = (0, 1),
        **fields: Any,
    ) -> Any:
        """Return the request to update a voter, in the quorum's epoch if no other is given."""
        values = {"cluster_id": self.cluster_id, "current_leader_epoch": self.epoch, **fields}
        return updating.UpdateRaftVoterRequest(
            voter_id=voter,
            voter_directory_id=directory,
            listeners=[updating.Listener(name, *at) for name in listeners],
            k_raft_version_feature=updating.KRaftVersionFeature(*levels),
            **values,
        )

    def address(self, listener: str) -> tuple[str, int]:
        """Return the address of a listener."""
        return "127.0.0.1", self._ports[listener]


def _sorted_voters(voters: re.Match[str]) -> str:
    """Return a text's set of voters in order: Kafka's has none."""
    return f"[{', '.join(sorted(_VOTER.findall(voters[0])))}]"


# --- the requests of a dynamic quorum ------------------------------------------------------------


def _additions(talk: VoterTalk) -> list[Case]:
    own = talk.directories[LEADER]
    return [
        *[("add, another cluster", talk.add(cluster_id=OTHER_CLUSTER), v) for v in (0, 1)],
        *[("add, no cluster id", talk.add(-1, cluster_id=None), v) for v in (0, 1)],
        ("add, empty cluster id", talk.add(cluster_id=""), 1),
        *[("add, negative id", talk.add(-1), v) for v in (0, 1)],
        ("add, negative id of two digits", talk.add(-22), 1),
        ("add, no directory id", talk.add(directory=NO_DIRECTORY), 1),
        ("add, reserved directory id", talk.add(LEADER, NO_DIRECTORY[:15] + b"\1"), 1),
        ("add, no listener", talk.add(listeners=()), 1),
        ("add, another listener", talk.add(listeners=("OTHER",)), 1),
        ("add, another listener twice", talk.add(listeners=("OTHER", "other")), 1),
        ("add, two other listeners", talk.add(listeners=("OTHER", "THIRD")), 1),
        ("add, a name in lower case", talk.add(LEADER, listeners=("controller",)), 1),
        ("add, a listener twice", talk.add(LEADER, listeners=(LISTENER, LISTENER)), 1),
        ("add, an empty host", talk.add(LEADER, at=("", 9)), 1),
        ("add, port 0", talk.add(LEADER, at=("localhost", 0)), 1),
        *[("add the same voter again", talk.add(LEADER, own), v) for v in (0, 1)],
        ("add the same id, another directory", talk.add(LEADER), 1),
        ("add the same voter, no time", talk.add(LEADER, own, timeout_ms=0), 1),
        ("add the same voter, negative time", talk.add(LEADER, own, timeout_ms=-1), 1),
        ("add the same voter, early", talk.add(LEADER, own, ack_when_committed=False), 1),
    ]


def _removals(talk: VoterTalk) -> list[Case]:
    own, other = talk.directories[LEADER], talk.directories[OBSERVER]
    return [
        ("remove, another cluster", talk.remove(cluster_id=OTHER_CLUSTER), 0),
        ("remove, no cluster id", talk.remove(-1, cluster_id=None), 0),
        ("remove, negative id", talk.remove(-1), 0),
        ("remove, no directory id", talk.remove(directory=NO_DIRECTORY), 0),
        ("remove an unknown voter", talk.remove(), 0),
        ("remove an observer", talk.remove(OBSERVER, other), 0),
        ("remove a voter with another directory", talk.remove(LEADER), 0),
        ("remove the only voter", talk.remove(LEADER, own), 0),
    ]


def _updates(talk: VoterTalk) -> list[Case]:
    own = talk.directories[LEADER]
    levels = [(2, 3), (0, 0), (1, 1), (-1, 1), (1, 0), (0, -1), (-2, -1)]
    earlier, later = talk.epoch - 1, talk.epoch + 1
    return [
        ("update, another cluster", talk.update(cluster_id=OTHER_CLUSTER), 0),
        ("update, no cluster id", talk.update(cluster_id=None), 0),
        ("update, earlier epoch", talk.update(current_leader_epoch=earlier), 0),
        ("update, later epoch", talk.update(current_leader_epoch=later), 0),
        ("update, negative epoch", talk.update(current_leader_epoch=-1), 0),
        ("update, earlier epoch, negative id", talk.update(-1, current_leader_epoch=earlier), 0),
        ("update, negative id", talk.update(-1), 0),
        ("update, no directory id", talk.update(LEADER, NO_DIRECTORY), 0),
        ("update, no listener", talk.update(LEADER, own, listeners=()), 0),
        ("update, another listener", talk.update(LEADER, own, listeners=("OTHER",)), 0),
        *[(f"update, levels {low} to {high}", talk.update(levels=(low, high)), 0)
          for low, high in levels],
        ("update an unknown voter", talk.update(), 0),
        ("update a voter with another directory", talk.update(LEADER), 0),
        ("update an unknown voter, no listener", talk.update(listeners=()), 0),
    ]  # fmt: skip


def _of_a_follower(talk: VoterTalk, follows: str) -> list[Case]:
    """The requests to a node that does not lead."""
    other, epoch = talk.directories[OBSERVER], talk.epoch
    cases = [
        ("add", talk.add(), 1),
        ("add, another cluster", talk.add(cluster_id=OTHER_CLUSTER), 1),
        ("add, negative id", talk.add(-1), 1),
        ("remove", talk.remove(), 0),
        ("remove, negative id", talk.remove(-1), 0),
        ("update", talk.update(OBSERVER, other), 0),
        ("update, negative id", talk.update(-1), 0),
        ("update, another cluster", talk.update(cluster_id=OTHER_CLUSTER), 0),
        ("update, earlier epoch", talk.update(current_leader_epoch=epoch - 1), 0),
        ("update, later epoch", talk.update(current_leader_epoch=epoch + 1), 0),
    ]
    return [(f"{follows}: {name}", request, version) for name, request, version in cases]


def _ask_of_odd_controllers(talk: VoterTalk) -> None:
    """Add voters that do not answer as a controller does."""
    number = 20
    with OddControllers() as odd:
        for name, at in odd.addresses().items():
            for listener in (CLIENTS, CONTROLLERS):
                # Kafka waits before it asks a node again that has failed.
                number += 1
                talk.name(f"id={number}", "id=<odd>")
                talk.ask([(f"add {name}", talk.add(number, at=at), 1)], listener)


def _ask_while_a_change_waits(talk: VoterTalk) -> None:
    """Change the voters while the leader waits for a new voter, which never answers."""
    own = talk.directories[LEADER]
    with OddControllers() as odd, talk.connect(CONTROLLERS) as waiting:
        waiting.send(talk.add(19, at=odd.silent()), 1)
        odd.wait_for_connection()
        cases = [
            ("while a voter is added: add", talk.add(), 1),
            ("while a voter is added: add the same", talk.add(LEADER, own), 1),
            ("while a voter is added: add, negative id", talk.add(-1), 1),
            ("while a voter is added: remove", talk.remove(), 0),
        ]
        talk.ask(cases, CLIENTS, CONTROLLERS)
        cases = [
            ("while a voter is added: update", talk.update(), 0),
            ("while a voter is added: update, levels 2 to 3", talk.update(levels=(2, 3)), 0),
        ]
        talk.ask(cases, CONTROLLERS)
        talk.keep("add a voter that never answers", waiting.receive())


def ask_dynamic(cluster: ClusterProcesses) -> Answers:
    """Return the answers of a dynamic quorum of one voter and one observer."""
    talk = VoterTalk(cluster)
    talk.ask(_additions(talk), CLIENTS, CONTROLLERS)
    talk.ask(_removals(talk), CLIENTS, CONTROLLERS)
    talk.ask(_updates(talk), CONTROLLERS)
    talk.ask(_of_a_follower(talk, "observer"), FOLLOWER)
    _ask_of_odd_controllers(talk)
    _ask_while_a_change_waits(talk)
    other, there = talk.directories[OBSERVER], talk.address(FOLLOWER)
    add, remove = talk.add(OBSERVER, other, there), talk.remove(OBSERVER, other)
    early = talk.add(OBSERVER, other, there, ack_when_committed=False)
    talk.until_done(CLIENTS, "add", add, 1)
    again = [
        ("add the second voter again", add, 1),
        ("add the second voter, another directory", talk.add(OBSERVER, at=there), 1),
        ("remove the second voter, another directory", talk.remove(OBSERVER), 0),
    ]
    talk.ask(again, CLIENTS, CONTROLLERS)
    talk.ask(_of_a_follower(talk, "voter"), FOLLOWER)
    talk.until_done(CONTROLLERS, "update to the same", talk.update(OBSERVER, other, there), 0)
    unfit = talk.update(OBSERVER, other, there, levels=(0, 0))
    talk.until_done(CONTROLLERS, "update a voter, levels 0 to 0", unfit, 0)
    talk.until_done(CLIENTS, "remove", remove, 0)
    talk.until_done(CONTROLLERS, "add, an early answer", early, 1)
    talk.until_done(CONTROLLERS, "remove after an early answer", remove, 0)
    talk.until_done(CONTROLLERS, "add", add, 0)
    talk.until_done(CONTROLLERS, "remove", remove, 0)
    # The controller runs, so it registers again.
    gone, later = (
        unregistering.UnregisterControllerRequest(OBSERVER),
        ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
    )
    for listener in (CLIENTS, CONTROLLERS):
        talk.until_done(listener, "unregister a controller", gone, 0, later)
    talk.close()
    return talk.answers


def ask_static(cluster: ClusterProcesses) -> Answers:
    """Return the answers of a static quorum of one voter."""
    talk = VoterTalk(cluster)
    own, here = talk.directories[LEADER], talk.address(CONTROLLERS)
    changes: list[Case] = [
        ("static: add", talk.add(), 1),
        ("static: add the same voter again", talk.add(LEADER, own), 1),
        ("static: add, negative id", talk.add(-1), 1),
        ("static: add, another cluster", talk.add(cluster_id=OTHER_CLUSTER), 1),
        ("static: remove", talk.remove(), 0),
        ("static: remove the only voter", talk.remove(LEADER, own), 0),
    ]
    talk.ask(changes, CLIENTS, CONTROLLERS)
    updates: list[Case] = [
        ("static: update an unknown voter", talk.update(), 0),
        ("static: update, levels 1 to 1", talk.update(LEADER, own, here, levels=(1, 1)), 0),
        ("static: update, no listener", talk.update(LEADER, own, listeners=()), 0),
        ("static: update, no directory id", talk.update(LEADER, NO_DIRECTORY, here), 0),
        ("static: update, later epoch", talk.update(current_leader_epoch=talk.epoch + 1), 0),
    ]
    talk.ask(updates, CONTROLLERS)
    talk.close()
    return talk.answers


def conversations(peer: str, features: dict[str, int]) -> Answers:
    """Start the nodes of both quorums, one after the other, and return their answers."""
    answers: Answers = {}
    scenes: list[tuple[list[int] | None, list[str], Callable[[ClusterProcesses], Answers]]] = [
        ([1], ["broker,controller", "controller"], ask_dynamic),
        (None, ["broker,controller"], ask_static),
    ]
    for voters, roles, ask in scenes:
        with ClusterProcesses(
            len(roles), peer=peer, roles=roles, voters=voters, features=features
        ) as cluster:
            answers |= ask(cluster)
    return answers


def record() -> None:
    """Ask Apache Kafka, and write its answers down."""
    write_json(RECORDED, conversations(KAFKA, FEATURES))


if __name__ == "__main__":
    record()
