"""One node of Ottla that judges by ACLs, in this process and in virtual time.

Its ACLs are changed as people change them, by requests. Clients are connections of their own, and
their requests come in as from the network: what is prepared is answered so. Owns the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.requests.request_handler import RequestHandler
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import START_WALL_MS
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tests.authorization.random_acls import ALLOW, LITERAL
from tests.authorization.reference import DENY
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

ADMIN, ALICE, BOB = "User:admin", "User:alice", "User:bob"
CLOSED = "closed"
Right = tuple[Operation, Resource, str]
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": ADMIN,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


class SecuredNode:
    """See the module. The topic `t` is there."""

    def __init__(self) -> None:
        filesystem = MemoryFilesystem(lambda: START_WALL_MS)
        self.running = Running("/data", filesystem=filesystem, **SETTINGS)
        self.scheduler = self.running.scheduler
        assert self.running.node.broker is not None
        self.handler: RequestHandler = self.running.node.broker.requests
        self.admin = self.client(ADMIN)
        self.admin.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 1000), 7)
        self.topic_id = self.running.node.image.topics.get("t").id

    def client(self, principal: str) -> Client:
        """A connection of somebody."""
        return Client(self, principal)

    def allow(self, principal: str, *rights: Right) -> None:
        """Also these."""
        self._create(principal, rights, ALLOW)

    def deny(self, principal: str, *rights: Right) -> None:
        """Though they are allowed."""
        self._create(principal, rights, DENY)

    def _create(self, principal: str, rights: tuple[Right, ...], permission: int) -> None:
        made = [
            AclCreation(resource, name, LITERAL, principal, "*", operation, permission)
            for operation, resource, name in rights
        ]
        results = self.admin.ask(CreateAclsRequest(made), 3).results
        assert not any(one.error_code for one in results)

    def take_away(self, principal: str, *rights: Right) -> None:
        """What was allowed."""
        gone = [
            DeleteAclsFilter(resource, name, LITERAL, principal, "*", operation, ALLOW)
            for operation, resource, name in rights
        ]
        results = self.admin.ask(DeleteAclsRequest(gone), 3).filter_results
        assert [len(one.matching_acls) for one in results] == [1] * len(rights)

    def end_offset(self) -> int:
        """Of the topic."""
        assert self.running.node.broker is not None
        partition = self.running.node.broker.parts.replicas.partition("t", 0)
        return int(partition.log.log_end_offset)


class Client:
    """One connection."""

    def __init__(self, node: SecuredNode, principal: str) -> None:
        self.connection = Connection()
        self.connection.principal = principal
        self._node = node

    def frame(self, request: Any, version: int) -> bytearray:
        """A request's bytes, behind its size."""
        return bytearray(encode_request(request, version, 5, "me"))[4:]

    def ask(self, request: Any, version: int) -> Any:
        """The answer, or CLOSED."""
        return self.send(request, version)()

    def send(self, request: Any, version: int) -> Callable[[], Any]:
        """A request whose answer is asked for later: it may be parked."""
        reply, scheduler = Reply(), self._node.scheduler
        try:
            frame = memoryview(self.frame(request, version))
            self._node.running.node.handle(self.connection, frame, reply)
        except ProtocolError:
            reply.close()

        def answer() -> Any:
            scheduler.run_until(lambda: bool(reply) or reply.closed)
            if not reply:
                return CLOSED
            return None if reply[0] is None else _read(request, version, reply[0])

        return answer

    def is_prepared(self, request: Any, version: int) -> bool:
        """Whether a request would be answered as one before it was."""
        frame = memoryview(self.frame(request, version))
        return self._node.handler.prepared.find(self.connection, frame) is not None


def _read(request: Any, version: int, parts: Any) -> Any:
    parts = parts if isinstance(parts, list) else [parts]
    data = b"".join(
        part if isinstance(part, memoryview | bytearray | bytes) else part.read() for part in parts
    )
    return decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)[1]
