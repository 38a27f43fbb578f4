"""The lines that turn a file of Kafka with ZooKeeper into one of a single node without it.

Apache Kafka 4.0 removed ZooKeeper. A file from before has neither roles nor controllers, and would
be rejected once for each missing key. This module only handles texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.support import is_of_zookeeper
from broker.config.synonyms import with_node_id

_LISTENERS = "listeners"
_NODE_ID = "node.id"
_PROTOCOL_MAP = "listener.security.protocol.map"
_PLAIN = "PLAINTEXT://"
_CONTROLLER = "CONTROLLER"
_CONTROLLER_PORT = 9093


def is_zookeeper_file(texts: Mapping[str, str]) -> bool:
    """Return whether the keys are those of a node with ZooKeeper: they name it, and no roles."""
    return "process.roles" not in texts and any(map(is_of_zookeeper, texts))


def single_node_lines(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the keys, with values, that a file of ZooKeeper lacks to be that of a single node, or
    has with another value: broker and controller, with the listeners of the file and one more."""
    listeners = [
        entry.strip()
        for entry in texts.get(_LISTENERS, "").split(",")
        if entry.strip() and not entry.strip().upper().startswith(f"{_CONTROLLER}:")
    ] or [f"{_PLAIN}:9092"]
    node_id = with_node_id(texts).get(_NODE_ID, "").strip()
    lines = {"process.roles": "broker,controller"}
    if not node_id.isdecimal():
        lines[_NODE_ID] = node_id = "1"
    controller = f"localhost:{_free_port(listeners)}"
    lines["controller.listener.names"] = _CONTROLLER
    lines["controller.quorum.voters"] = f"{node_id}@{controller}"
    lines[_LISTENERS] = ",".join([*listeners, f"{_CONTROLLER}://{controller}"])
    if _PROTOCOL_MAP in texts or not all(entry.startswith(_PLAIN) for entry in listeners):
        protocols = texts.get(_PROTOCOL_MAP, BROKER_CONFIG_DEF[_PROTOCOL_MAP].default or "")
        lines[_PROTOCOL_MAP] = f"{protocols},{_CONTROLLER}:PLAINTEXT"
    return lines


def _free_port(listeners: list[str]) -> int:
    """Return the first port from 9093 on that none of the listeners has."""
    ports = [entry.rpartition(":")[2] for entry in listeners]
    port = _CONTROLLER_PORT
    while str(port) in ports:
        port += 1
    return port
