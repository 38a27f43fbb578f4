"""The table asked of a node of Ottla, in this process and without sockets: quick enough for each
mutant.

Its requests go to the request handlers of both listeners. They are judged by an authorizer of the
case's ACLs; `judge` may stand between. Owns the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from broker.node.controller_server import ControllerServer
from controller.authorization.rights import Judge
from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import START_WALL_MS
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.message import Message
from protocol.messages.controller_registration import ControllerRegistrationRequest, Listener
from tests.authorization.denials.conversation import ADMIN, CLOSED, NONE_DUE, NOTHING
from tests.authorization.denials.rows import BROKER, CONTROLLER
from tests.authorization.reference import Entry
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{ADMIN}",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.create.topics.enable": "true",
    "delegation.token.secret.key": "secret",
    # Nobody's session ends amid another case, which would then have written something.
    "group.consumer.session.timeout.ms": "86400000",
    "group.consumer.max.session.timeout.ms": "86400000",
    "group.share.session.timeout.ms": "86400000",
    "group.share.max.session.timeout.ms": "86400000",
}
WAIT_MS = 10_000
SETTLED_MS = 100


class OttlaSide:
    """See `conversation.Side`."""

    def __init__(self, between: Callable[[Judge], Judge] = lambda judge: judge) -> None:
        filesystem = MemoryFilesystem(lambda: START_WALL_MS)
        self._running = Running("/data", filesystem=filesystem, **SETTINGS)
        node = self._running.node
        assert node.broker is not None
        self.handlers = {
            BROKER: node.broker.requests,
            CONTROLLER: ControllerServer(node.shared).requests,
        }
        """By listener."""
        self._acls = AclsImage()
        self.judge_through(between)
        self._register()

    def _register(self) -> None:
        """The controller, as one does that has others beside it."""
        endpoint = Listener("CONTROLLER", "here", 9093, 0)
        request = ControllerRegistrationRequest(
            self._running.node.config.node_id, bytes(16), False, [endpoint]
        )
        answer = self.ask(CONTROLLER, ADMIN, request, 0)
        assert not isinstance(answer, str), answer
        assert answer.error_code == 0, answer

    def judge_through(self, between: Callable[[Judge], Judge]) -> None:
        """From now on, this one asks the authorizer."""
        standard = StandardAuthorizer(lambda: self._acls, [f"User:{ADMIN}"])
        for handler in self.handlers.values():
            handler.admission.judge_by(between(standard))

    def ask(
        self, listener: str, user: str | None, request: Any, version: int, answered: bool = True
    ) -> Message | str:
        connection = Connection("PLAINTEXT" if listener == BROKER else "CONTROLLER")
        connection.principal = f"User:{user or 'ANONYMOUS'}"
        if user is not None:
            connection.security_protocol = "SASL_PLAINTEXT"
        frame = memoryview(bytearray(encode_request(request, version, 5, "me")))[4:]
        reply = Reply()
        try:
            self.handlers[listener].handle(connection, frame, reply)
            if not reply and not reply.closed:
                self._wait_for(reply)
        except ProtocolError:
            return CLOSED
        if reply.closed:
            return CLOSED
        if not reply:
            return NOTHING
        if reply[0] is None:
            return NONE_DUE
        data = memoryview(_joined(reply[0]))[4:]
        return decode_response(ApiKey(request.API_KEY), data, version)[1]

    def _wait_for(self, reply: Reply) -> None:
        scheduler = self._running.scheduler
        end = scheduler.monotonic_ms() + WAIT_MS
        while not reply and not reply.closed and scheduler.monotonic_ms() < end:
            if not scheduler.step():
                return

    def set_acls(self, entries: Iterable[Entry]) -> None:
        self._acls = AclsImage().changed(
            {n.to_bytes(16): Acl(*one) for n, one in enumerate(entries)}
        )
        for handler in self.handlers.values():
            handler.admission.changed()

    def written(self) -> Any:
        """How far each log goes, the metadata's too, once nothing is under way."""
        self._running.scheduler.run_for(SETTLED_MS)
        node = self._running.node
        logs = {log.partition: (log.log_start_offset, log.log_end_offset) for log in node.logs.logs}
        return node.image.offset, logs

    def wait(self, ms: int = 10) -> None:
        self._running.scheduler.run_for(ms)

    def close(self) -> None:
        self._running.stop()


def _joined(parts: Any) -> bytes:
    parts = parts if isinstance(parts, list) else [parts]
    return b"".join(
        part if isinstance(part, memoryview | bytearray | bytes) else part.read() for part in parts
    )
