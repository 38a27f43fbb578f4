"""Simulated brokers and a controller whose clients have names, and are judged by ACLs.

Owns who asks: `ROOT` may do all, as the nodes themselves; whoever else is named may do what the
ACLs say, and what no ACL speaks about.
"""

from __future__ import annotations

from typing import Any

from controller.metadata.acl import PatternType, Permission
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from tests.simulation.scenario import Scenario
from tests.unit.broker.fake_connection import Connection, Reply

ROOT, NODES = "User:root", "User:ANONYMOUS"
ALL = 2
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"{ROOT};{NODES}",
    "allow.everyone.if.no.acl.found": "true",
}


def allowing(
    principal: str,
    operation: Operation | int,
    resource: Resource,
    name: str,
    *,
    prefix: bool = False,
) -> AclCreation:
    """An ACL as it is asked for."""
    pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
    return AclCreation(resource, name, pattern, principal, "*", operation, Permission.ALLOW)


ON_CLUSTER = allowing(ROOT, ALL, Resource.CLUSTER, CLUSTER_NAME)
"""Makes the cluster ROOT's alone."""


class SecuredStory(Scenario):
    """Brokers 1 to 3 and the controller 101."""

    def __init__(self) -> None:
        super().__init__(1, layout=Layout.apart(3, 1), properties=SETTINGS)

    def broker(self, number: int) -> SimBroker:
        return next(one for one in self.brokers if one.node_id == number)

    def ask_as(self, principal: str, request: Any, version: int, to: SimBroker) -> Any:
        """What a broker answers to somebody."""
        connection, reply = Connection(), Reply()
        connection.principal = principal
        frame = memoryview(bytearray(encode_request(request, version, 5, "me")))[4:]
        assert to.node is not None
        to.node.handle(connection, frame, reply)
        self.run_until(lambda: bool(reply) or reply.closed, 10_000)
        parts = reply[0] if isinstance(reply[0], list) else [reply[0]]
        data = memoryview(b"".join(bytes(part) for part in parts))[4:]
        return decode_response(ApiKey(request.API_KEY), data, version)[1]

    def set_acls(self, *made: AclCreation) -> None:
        """Also these, known to each node."""
        results = self.ask_as(ROOT, CreateAclsRequest(list(made)), 3, self.broker(1)).results
        assert not any(one.error_code for one in results)
        self.run_for(500)
