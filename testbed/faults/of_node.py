"""The wiring of faults to a running node: its request handlers, topic names and fetch sessions."""

from __future__ import annotations

from broker.node.node import Node
from testbed.faults.faults import FaultRules
from testbed.faults.fetch_sessions import FetchSessions


def faults_of(node: Node) -> FaultRules:
    """Return fault rules, empty at first, for requests to this node's listeners: those for clients
    and, if there are any, those for controllers. The node must have a broker."""
    assert node.broker is not None, "a controller alone has no clients"

    def name_of(topic_id: bytes) -> str | None:
        topic = node.image.topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    handlers = [node.broker.requests]
    if node.controller_server is not None:
        handlers.append(node.controller_server.requests)
    sessions = FetchSessions(node.broker.parts.replicas.sessions, name_of)
    return FaultRules(node.shared.ports.scheduler, name_of, sessions, handlers)
