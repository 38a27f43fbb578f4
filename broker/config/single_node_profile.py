"""The configuration without a file: a single broker that is its own controller.

Kafka has no such default (it refuses to start without a file). The values are those of its
quickstart `config/server.properties`, with five differences. The broker listens only on this
machine, and only for clients. It keeps its data in `./data`, and does not delay the first rebalance
of a group. It leaves the size of socket buffers to the operating system, which adapts them to each
connection.

A controller must have a listener. The profile's own has port 0, also in `controller.quorum.voters`.
No other node could use that address, so it is not opened
(`BrokerConfig.opens_controller_listeners`), and two nodes without a file do not contend for a port.
A configured port is opened.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.synonyms import with_node_id
from ground.config_def import ConfigError

PROFILE_NAME = "single-node"

_CONTROLLER = "CONTROLLER"
_VOTERS = "controller.quorum.voters"
_WILDCARDS = ("", "0.0.0.0", "[::]")

SINGLE_NODE_PROFILE: dict[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:0",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:0",
    "inter.broker.listener.name": "PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": "data",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "socket.send.buffer.bytes": "-1",
    "socket.receive.buffer.bytes": "-1",
}


def single_node_texts(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the profile with `overrides`, and the keys of the controller adapted to them.

    Overrides of `listeners` or `node.id` need not mention the controller: it has a listener, and
    the quorum stays this node. If only one of `listeners` and `controller.quorum.voters` has the
    address of the controller, the other gets it, too. Raises ConfigError for other roles, whose
    further keys the profile cannot guess.
    """
    roles = overrides.get("process.roles", "").strip()
    if roles in ("broker", "controller") and _VOTERS not in overrides:
        text = (
            f"process.roles={roles}: the {PROFILE_NAME} profile is broker and controller; give a "
            "file for a node of several, --config FILE"
        )
        raise ConfigError("process.roles", text)
    texts = {**SINGLE_NODE_PROFILE, **with_node_id(overrides)}
    node_id = texts["node.id"].strip()
    own_listener = f"{_CONTROLLER}://localhost:{_port_of_voter(texts[_VOTERS], node_id)}"
    if "listeners" not in overrides:
        texts["listeners"] = f"PLAINTEXT://localhost:9092,{own_listener}"
    elif "controller.listener.names" not in overrides:
        listeners = texts["listeners"]
        if f"{_CONTROLLER}://" not in listeners.upper() and listeners.strip():
            texts["listeners"] = f"{listeners},{own_listener}"
    if _VOTERS not in overrides:
        name = texts["controller.listener.names"].partition(",")[0].strip()
        address = _address_of_listener(texts["listeners"], name)
        texts[_VOTERS] = f"{node_id}@{address}"
    return texts


def _port_of_voter(voters: str, node_id: str) -> str:
    """Return the port of a node in `controller.quorum.voters`; 0 if it is not there."""
    for voter in voters.split(","):
        voter_id, _, address = voter.strip().partition("@")
        if voter_id == node_id:
            return address.rpartition(":")[2]
    return "0"


def _address_of_listener(listeners: str, name: str) -> str:
    """Return the host and port by which this machine reaches one of `listeners`; localhost:0 if it
    is not there."""
    for listener in listeners.split(","):
        own_name, _, address = listener.strip().partition("://")
        if own_name.upper() == name.upper():
            host, _, port = address.rpartition(":")
            return f"{'localhost' if host in _WILDCARDS else host}:{port}"
    return "localhost:0"
