"""The layout of a cluster on one machine: the roles, ports and properties files of its nodes.

`ClusterLayout` has the nodes, and makes the text of each node's properties file. `with_keys`
changes single keys of such a file and leaves everything else as the user wrote it. Pure text: never
looks at a disk, a port or a process (`command.cluster_command` does).

The number of controllers is odd, as KIP-595 advises: two or four controllers tolerate no more
failures than one or three.

The quorum of a new cluster is dynamic (KIP-853): the metadata log has its voters, and the files of
the nodes only addresses of controllers. Clusters of earlier releases are static: each file has all
voters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from command.cluster_security import LISTENER, LISTENER_KEYS, NodeSecurity

BROKERS_MAX = 9
CONTROLLERS_MAX = 5
FIRST_PORT = 9092
CONTROLLER_PORTS_FROM = 10
"""The distance from a node's port for clients to that of its controller listener."""
PORTS = CONTROLLER_PORTS_FROM + BROKERS_MAX
HOST = "localhost"
VOTERS_KEY = "controller.quorum.voters"
BOOTSTRAP_KEY = "controller.quorum.bootstrap.servers"
REPLICAS_KEY = "default.replication.factor"

_REPLICAS = 3
_Key = tuple[str, str, str]
"""A key of a properties file: (the comment above it, name, value)."""

_LISTENER_KEYS: Sequence[_Key] = (
    ("The listener of the controllers.", "controller.listener.names", "CONTROLLER"),
    ("The listener of brokers and clients.", "inter.broker.listener.name", "PLAINTEXT"),
    (
        "The protocol of each listener: without TLS.",
        "listener.security.protocol.map",
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    ),
)
_LAPTOP_KEYS: Sequence[_Key] = (
    (
        "A new group does not wait for further consumers.",
        "group.initial.rebalance.delay.ms",
        "0",
    ),
    ("The operating system sizes the send buffers of sockets.", "socket.send.buffer.bytes", "-1"),
    (
        "The operating system sizes the receive buffers of sockets.",
        "socket.receive.buffer.bytes",
        "-1",
    ),
)
_KEY_LINE = r"^[ \t]*{}[ \t]*[=:].*$"


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node of the cluster; `controller_port` is None if it is only a broker."""

    node_id: int
    port: int
    controller_port: int | None


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The nodes of a cluster, in the order of their ids."""

    nodes: Sequence[ClusterNode]
    is_dynamic: bool = False
    """Whether the metadata log has the voters of the quorum; else each node's file has them."""

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all nodes, as clients take them (`bootstrap.servers`)."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    @property
    def controllers(self) -> list[int]:
        """The ids of the nodes that form the quorum."""
        return [node.node_id for node in self.nodes if node.controller_port is not None]

    @property
    def quorum_voters(self) -> str:
        """The value of `controller.quorum.voters`, the same for every node."""
        return ",".join(
            f"{node.node_id}@{HOST}:{node.controller_port}"
            for node in self.nodes
            if node.controller_port is not None
        )

    @property
    def quorum_bootstrap_servers(self) -> str:
        """The value of `controller.quorum.bootstrap.servers`, the same for every node."""
        return ",".join(
            f"{HOST}:{node.controller_port}"
            for node in self.nodes
            if node.controller_port is not None
        )

    @property
    def quorum_keys(self) -> dict[str, str]:
        """The key by which a node finds the quorum."""
        if self.is_dynamic:
            return {BOOTSTRAP_KEY: self.quorum_bootstrap_servers}
        return {VOTERS_KEY: self.quorum_voters}

    @property
    def ports(self) -> dict[int, int]:
        """The ids of the nodes by each of their ports."""
        return {
            port: node.node_id
            for node in self.nodes
            for port in (node.port, node.controller_port)
            if port is not None
        }

    def node(self, node_id: int) -> ClusterNode:
        """Return the node with this id. Raises StopIteration if there is none."""
        return next(node for node in self.nodes if node.node_id == node_id)

    def with_nodes(self, *added: ClusterNode) -> ClusterLayout:
        """Return the layout with further nodes."""
        nodes = sorted([*self.nodes, *added], key=lambda node: node.node_id)
        return replace(self, nodes=nodes)

    def without(self, node_id: int) -> ClusterLayout:
        """Return the layout without a node."""
        return replace(self, nodes=[node for node in self.nodes if node.node_id != node_id])

    def keys_of_place(
        self, node: ClusterNode, data_dir: str, security: NodeSecurity | None = None
    ) -> dict[str, str]:
        """Return the keys that depend on ports and folders, which change if the cluster moves."""
        name = "PLAINTEXT" if security is None else LISTENER
        listeners = f"{name}://{HOST}:{node.port}"
        if node.controller_port is not None:
            listeners += f",CONTROLLER://{HOST}:{node.controller_port}"
        return {
            "listeners": listeners,
            **self.quorum_keys,
            "log.dirs": data_dir,
            **({} if security is None else security.places),
        }

    def properties(
        self, node: ClusterNode, data_dir: str, security: NodeSecurity | None = None
    ) -> str:
        """Return the text of a node's properties file, with a comment above each key."""
        names = _LISTENER_KEYS if security is None else LISTENER_KEYS
        sections = {
            "Identity": _identity_keys(node),
            "Addresses and files": _place_keys(
                self.keys_of_place(node, data_dir, security), self.is_dynamic
            ),
            "Listeners": names,
            **({} if security is None else {"Security": security.keys()}),
            "Replication": _replication_keys(len(self.nodes)),
            "Settings for a developer's machine": _LAPTOP_KEYS,
        }
        title = (
            f"# Node {node.node_id} of {len(self.nodes)}, written by ottla cluster. You may edit "
            "this file; the next start uses it.\n"
            "# If the folder or the ports change, Ottla updates the keys of Addresses and files.\n"
        )
        return title + "".join(_section(name, keys) for name, keys in sections.items())


def new_layout(
    brokers: int, first_port: int = FIRST_PORT, *, is_dynamic: bool = False
) -> ClusterLayout:
    """Return a layout of nodes 1 … `brokers`; the first ones are controllers, too.

    The number of controllers is odd, at most CONTROLLERS_MAX.
    """
    assert 1 <= brokers <= BROKERS_MAX
    controllers = controllers_for(brokers)
    nodes = [node_at(node_id, first_port, node_id <= controllers) for node_id in _ids(brokers)]
    return ClusterLayout(nodes, is_dynamic)


def controllers_for(nodes: int) -> int:
    """Return how many of so many nodes are controllers: an odd number, at most CONTROLLERS_MAX."""
    return min(nodes - (nodes + 1) % 2, CONTROLLERS_MAX)


def first_port_of(layout: ClusterLayout) -> int:
    """Return the port for clients that node 1 has, or would have."""
    return layout.nodes[0].port - layout.nodes[0].node_id + 1


def grown(layout: ClusterLayout, brokers: int) -> ClusterLayout:
    """Return the layout with new nodes, up to `brokers` in all.

    The new nodes are no controllers: a quorum changes only while its controllers run, and a static
    quorum never does.
    """
    count = max(brokers - len(layout.nodes), 0)
    first_port = first_port_of(layout)
    added = [node_at(node_id, first_port, False) for node_id in free_ids(layout)[:count]]
    return layout.with_nodes(*added)


def free_ids(layout: ClusterLayout) -> list[int]:
    """Return the ids that no node has, from the lowest to BROKERS_MAX."""
    known_ids = [node.node_id for node in layout.nodes]
    return [node_id for node_id in _ids(BROKERS_MAX) if node_id not in known_ids]


def moved(layout: ClusterLayout, first_port: int) -> ClusterLayout:
    """Return the layout with the same nodes on other ports, from `first_port` on.

    Several controllers of a dynamic quorum keep their ports for each other: those are in the
    metadata log, which needs a majority to change.
    """
    nodes = [
        node_at(node.node_id, first_port, node.controller_port is not None) for node in layout.nodes
    ]
    if layout.is_dynamic and len(layout.controllers) > 1:
        nodes = [
            replace(after, controller_port=before.controller_port)
            for after, before in zip(nodes, layout.nodes, strict=True)
        ]
    return replace(layout, nodes=nodes)


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """Return the text of a properties file with some keys set; missing keys are appended."""
    for name, value in keys.items():
        line = f"{name}={value}"
        pattern = re.compile(_KEY_LINE.format(re.escape(name)), re.MULTILINE)
        text, count = pattern.subn(line.replace("\\", r"\\"), text)
        if count == 0:
            text = f"{text.rstrip()}\n{line}\n"
    return text


def _ids(brokers: int) -> range:
    """Return the ids of `brokers` nodes, from 1 on."""
    return range(1, brokers + 1)


def node_at(node_id: int, first_port: int, controls: bool) -> ClusterNode:
    """Return the node with the ports that follow from its id; `controls`: it is a controller,
    too."""
    port = first_port + node_id - 1
    return ClusterNode(node_id, port, port + CONTROLLER_PORTS_FROM if controls else None)


def _identity_keys(node: ClusterNode) -> Sequence[_Key]:
    """Return the keys for the roles and the id of a node."""
    roles = "broker" if node.controller_port is None else "broker,controller"
    return [
        ("The roles of this node.", "process.roles", roles),
        ("The id of this node, which must not change.", "node.id", str(node.node_id)),
    ]


def _place_keys(place: Mapping[str, str], is_dynamic: bool) -> Sequence[_Key]:
    """Return the keys of `keys_of_place`, each with the comment above it."""
    reasons = (
        "The addresses of the listeners, on this machine only.",
        "Addresses of controllers, the same in every node's file. The metadata has the voters."
        if is_dynamic
        else "The ids and addresses of the controllers, the same in every node's file.",
        "The folder of the partitions and the metadata.",
        "The file with this node's private key and then its certificate.",
        "The certificate of the authority: certificates that it signed are trusted.",
    )
    return [(reason, *key) for reason, key in zip(reasons, place.items(), strict=False)]


def _replication_keys(nodes: int) -> Sequence[_Key]:
    """Return the keys for numbers of replicas and in-sync replicas in a cluster of so many
    nodes."""
    replicas = str(min(_REPLICAS, nodes))
    in_sync = "2" if nodes >= _REPLICAS else "1"
    enough = "Replicas that must have a record of that state before it is acknowledged."
    return [
        (
            "Replicas of a topic that is created without a number of replicas.",
            REPLICAS_KEY,
            replicas,
        ),
        (
            "Replicas that must have a record before acks=all is acknowledged: with two of three, "
            "one replica may fail.",
            "min.insync.replicas",
            in_sync,
        ),
        (
            "Replicas of the committed offsets of groups.",
            "offsets.topic.replication.factor",
            replicas,
        ),
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


def replication_changes(keys: Mapping[str, str], nodes: int) -> dict[str, str]:
    """Return the keys for numbers of replicas with their values in a cluster of so many nodes; none
    if a file's `keys` have these values, or values that the user has chosen."""
    wanted, *others = [
        {name: value for _, name, value in _replication_keys(size)}
        for size in (nodes, *range(1, _REPLICAS + 1))
    ]
    present = {name: keys.get(name) for name in wanted}
    return wanted if present != wanted and present in others else {}


def _section(name: str, keys: Sequence[_Key]) -> str:
    """Return the text of a section of a properties file: a heading, then each key below its
    comment."""
    heading = f"\n# --- {name} ".ljust(98, "-")
    return heading + "\n" + "".join(f"\n# {reason}\n{key}={value}\n" for reason, key, value in keys)
