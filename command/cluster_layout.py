"""A cluster on one machine, on paper: which node does what, on which port, with which file.

`ClusterLayout` says who the nodes are and writes the properties file of each; `with_keys` changes
single keys of such a file and leaves everything else as somebody wrote it.
`command.cluster_command` puts it into practice. Never: looks at a disk, a port or a process.

The number of controllers is odd, as KIP-595 advises: a second one of two, or a fourth of four, lets
no more of them fail than one or three do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from command.cluster_security import LISTENER, LISTENER_KEYS, NodeSecurity

BROKERS_MAX = 9
CONTROLLERS_MAX = 5
FIRST_PORT = 9092
CONTROLLER_PORTS_FROM = 10
"""A node's controller listener is so many ports above the one for clients."""
PORTS = CONTROLLER_PORTS_FROM + BROKERS_MAX
HOST = "localhost"

_REPLICAS = 3
_Key = tuple[str, str, str]
"""(the line above it, name, value)"""

_LISTENER_KEYS: Sequence[_Key] = (
    ("Controllers talk here.", "controller.listener.names", "CONTROLLER"),
    ("Brokers talk where clients do.", "inter.broker.listener.name", "PLAINTEXT"),
    (
        "Both without TLS.",
        "listener.security.protocol.map",
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    ),
)
_LAPTOP_KEYS: Sequence[_Key] = (
    (
        "The first consumer of a group does not wait for others.",
        "group.initial.rebalance.delay.ms",
        "0",
    ),
    ("The operating system sizes the buffers of sockets.", "socket.send.buffer.bytes", "-1"),
    ("The same for what arrives.", "socket.receive.buffer.bytes", "-1"),
)
_KEY_LINE = r"^[ \t]*{}[ \t]*[=:].*$"


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node; `controller_port` is None where it is a broker and nothing else."""

    node_id: int
    port: int
    controller_port: int | None


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """All nodes, by id."""

    nodes: Sequence[ClusterNode]

    @property
    def bootstrap_servers(self) -> str:
        """What a client of the cluster is given."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    @property
    def controllers(self) -> list[int]:
        """The ids of the nodes that form the quorum."""
        return [node.node_id for node in self.nodes if node.controller_port is not None]

    @property
    def quorum_voters(self) -> str:
        """`controller.quorum.voters` of every node."""
        return ",".join(
            f"{node.node_id}@{HOST}:{node.controller_port}"
            for node in self.nodes
            if node.controller_port is not None
        )

    def keys_of_place(
        self, node: ClusterNode, data_dir: str, security: NodeSecurity | None = None
    ) -> dict[str, str]:
        """The keys that follow from ports and folders: they change when the cluster moves."""
        name = "PLAINTEXT" if security is None else LISTENER
        listeners = f"{name}://{HOST}:{node.port}"
        if node.controller_port is not None:
            listeners += f",CONTROLLER://{HOST}:{node.controller_port}"
        return {
            "listeners": listeners,
            "controller.quorum.voters": self.quorum_voters,
            "log.dirs": data_dir,
            **({} if security is None else security.places),
        }

    def properties(
        self, node: ClusterNode, data_dir: str, security: NodeSecurity | None = None
    ) -> str:
        """The whole file of a node, every key with the reason for it."""
        names = _LISTENER_KEYS if security is None else LISTENER_KEYS
        sections = {
            "Who it is": _identity_keys(node),
            "Where it is": _place_keys(self.keys_of_place(node, data_dir, security)),
            "Names of listeners": names,
            **({} if security is None else {"Who may connect": security.keys()}),
            "Copies": _replication_keys(len(self.nodes)),
            "One person's machine": _LAPTOP_KEYS,
        }
        title = (
            f"# Node {node.node_id} of {len(self.nodes)}, written by ottla cluster. It is yours: "
            "edit it, and the next start uses it.\n"
            '# Ottla sets the keys under "Where it is" anew when the folder or the ports change.\n'
        )
        return title + "".join(_section(name, keys) for name, keys in sections.items())


def new_layout(brokers: int, first_port: int = FIRST_PORT) -> ClusterLayout:
    """Nodes 1 … `brokers`; an odd number of them, at most five, are controllers too."""
    assert 1 <= brokers <= BROKERS_MAX
    controllers = min(brokers - (brokers + 1) % 2, CONTROLLERS_MAX)
    return ClusterLayout([_node(one, first_port, one <= controllers) for one in _ids(brokers)])


def grown(layout: ClusterLayout, brokers: int) -> ClusterLayout:
    """The same nodes and, up to `brokers`, new ones that are no controllers: voters are static."""
    first_port = layout.nodes[0].port - layout.nodes[0].node_id + 1
    known = [node.node_id for node in layout.nodes]
    added = [_node(one, first_port, False) for one in _ids(brokers) if one not in known]
    return ClusterLayout([*layout.nodes, *added])


def moved(layout: ClusterLayout, first_port: int) -> ClusterLayout:
    """The same nodes on other ports."""
    return ClusterLayout(
        [_node(node.node_id, first_port, node.controller_port is not None) for node in layout.nodes]
    )


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """A properties file with some keys set; a key that it does not have comes at its end."""
    for name, value in keys.items():
        line = f"{name}={value}"
        pattern = re.compile(_KEY_LINE.format(re.escape(name)), re.MULTILINE)
        text, count = pattern.subn(line.replace("\\", r"\\"), text)
        if count == 0:
            text = f"{text.rstrip()}\n{line}\n"
    return text


def _ids(brokers: int) -> range:
    return range(1, brokers + 1)


def _node(node_id: int, first_port: int, controls: bool) -> ClusterNode:
    port = first_port + node_id - 1
    return ClusterNode(node_id, port, port + CONTROLLER_PORTS_FROM if controls else None)


def _identity_keys(node: ClusterNode) -> Sequence[_Key]:
    roles = "broker" if node.controller_port is None else "broker,controller"
    return [
        ("What this node does.", "process.roles", roles),
        ("Never changed afterwards.", "node.id", str(node.node_id)),
    ]


def _place_keys(place: Mapping[str, str]) -> Sequence[_Key]:
    reasons = (
        "This machine only.",
        "The controllers, the same in every node's file.",
        "The partitions and the metadata.",
        "This node's private key, then its certificate.",
        "A certificate that this one signed is trusted.",
    )
    return [(why, *key) for why, key in zip(reasons, place.items(), strict=False)]


def _replication_keys(nodes: int) -> Sequence[_Key]:
    replicas = str(min(_REPLICAS, nodes))
    in_sync = "2" if nodes >= _REPLICAS else "1"
    enough = "How many of them must answer."
    return [
        (
            "Replicas of a topic that does not say how many.",
            "default.replication.factor",
            replicas,
        ),
        (
            "Replicas that must have a record before acks=all is acknowledged: with two of three, "
            "one may die.",
            "min.insync.replicas",
            in_sync,
        ),
        ("Replicas of groups and offsets.", "offsets.topic.replication.factor", replicas),
        (
            "Replicas of the state of transactions.",
            "transaction.state.log.replication.factor",
            replicas,
        ),
        (enough, "transaction.state.log.min.isr", in_sync),
        (
            "Replicas of the state of share groups.",
            "share.coordinator.state.topic.replication.factor",
            replicas,
        ),
        (enough, "share.coordinator.state.topic.min.isr", in_sync),
    ]


def _section(name: str, keys: Sequence[_Key]) -> str:
    heading = f"\n# --- {name} ".ljust(98, "-")
    return heading + "\n" + "".join(f"\n# {why}\n{key}={value}\n" for why, key, value in keys)
