"""The configuration that applies when no file is given: one broker that is its own controller.

Kafka has no such default (it refuses to start without a file); the values are those of its
quickstart `config/server.properties`, with four differences: it listens on this machine only,
keeps its data in `./data`, does not hold back the first rebalance of a group, and leaves the size
of socket buffers to the operating system, which fits them to each connection.
"""

from __future__ import annotations

from collections.abc import Mapping

from storage.config_def import ConfigError

PROFILE_NAME = "single-node"

SINGLE_NODE_PROFILE: dict[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
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
    """The profile with `overrides` above it, and what they leave open made to fit.

    Who moves `listeners` or `node.id` need not know about the controller: its listener gets a free
    port of this machine, and the quorum stays this node. Raises ConfigError where the roles are
    others: what follows from that, the profile cannot guess.
    """
    roles = overrides.get("process.roles", "").strip()
    if roles in ("broker", "controller") and "controller.quorum.voters" not in overrides:
        text = (
            f"process.roles={roles}: the {PROFILE_NAME} profile is broker and controller; give a "
            "file for a node of several, --config FILE"
        )
        raise ConfigError("process.roles", text)
    texts = {**SINGLE_NODE_PROFILE, **overrides}
    controller_port = "9093"
    if "listeners" in overrides and "controller.listener.names" not in overrides:
        listeners = texts["listeners"]
        if "CONTROLLER://" not in listeners.upper() and listeners.strip():
            texts["listeners"] = f"{listeners},CONTROLLER://localhost:0"
            controller_port = "0"
    if "controller.quorum.voters" not in overrides:
        node_id = texts["node.id"].strip()
        texts["controller.quorum.voters"] = f"{node_id}@localhost:{controller_port}"
    return texts
