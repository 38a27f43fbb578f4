"""A node's Produce on a folder, with what is prepared or without it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from broker.apis.produce.api import ProduceApi
from broker.apis.produce.transactional import TransactionalProduce
from broker.requests.context import ExpectedRequest, RequestContext
from broker.requests.prepared import identity_of
from broker.requests.request_handler import RequestHandler
from broker.verification.append_verification import AppendVerification
from controller.authorization.rights import UNLIMITED, Rights
from protocol.errors import ProtocolError
from protocol.frames.message_codec import encode_request
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns

PREPARED_BYTES = 1 << 20


class Broker:
    """A request handler on a folder of its own."""

    def __init__(
        self, folder: Path, prepares: bool, identity: Callable[..., Hashable] = identity_of
    ) -> None:
        self.replicas = Replicas(str(folder))
        transactions = TransactionalProduce(
            self.replicas.manager, AppendVerification(None, True), 20, 100
        )
        self.turns = Turns()
        (api,) = ProduceApi(self.replicas.manager, transactions, self.turns.answers).apis()
        self.handled: list[Any] = []
        handle = api.handle

        def counted_handle(*args: Any) -> None:
            self.handled.append(args)
            handle(*args)

        object.__setattr__(api, "handle", counted_handle)
        self.handler = RequestHandler([api], PREPARED_BYTES if prepares else 0, identity)


class Client:
    """One connection: what is prepared is tried, then the general way, as in the network."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.connection = Connection()
        self.at_once: list[bool] = []

    def send(self, frame: bytes) -> Any:
        """The answer; what closes the connection as words."""
        handler = self.broker.handler
        try:
            answer = handler.handle_at_once(self.connection, memoryview(bytearray(frame)), _now)
            self.at_once.append(answer is not None)
            if answer is not None:
                return answer or None
            reply = Reply()
            handler.handle(self.connection, memoryview(bytearray(frame)), reply)
        except ProtocolError as error:
            return str(error)
        if reply.error is not None:
            return str(reply.error)
        return bytes(reply[0]) if reply[0] is not None else None


class Looked(Client):
    """One connection that is looked at: each request lies where the one before it lay."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.expected: list[bool] = []
        self.last = b""

    def send(self, frame: bytes, size: int | None = None) -> Any:
        """As by the network; `size` is what comes before the frame, if it is not the frame's."""
        message = (len(frame) if size is None else size).to_bytes(4, "big", signed=True) + frame
        room, last = memoryview(bytearray(message)), self.last
        self.last = message
        answer = None
        if len(last) == len(message):
            room[:] = last
            expected = self.expect(room)
            if expected is not None:
                room[:] = message
                answer = expected.answer()
                expected.settle()
        self.expected.append(answer is not None)
        if answer is None and size is None:
            return super().send(frame)
        return answer

    def expect(self, message: memoryview) -> ExpectedRequest | None:
        return self.broker.handler.expect(self.connection, message)


def _now() -> Reply:
    raise AssertionError("a Produce that is answered at once waits for nobody")


def request(
    records: Any,
    version: int = 12,
    acks: int = 1,
    topic: str = "t",
    index: int = 0,
    number: int = 9,
    client_id: str | None = "me",
) -> bytes:
    """A frame, without its size."""
    data = [TopicProduceData(topic, topic_id_of(topic), [PartitionProduceData(index, records)])]
    return encode_request(ProduceRequest(None, acks, 1000, data), version, number, client_id)[4:]


def batch(client: Client, size: int = 5) -> bytes:
    return bytes(client.broker.replicas.batch(b"v" * size))


def partition_of(client: Client) -> Any:
    partition = client.broker.replicas.manager.partition("t", 0)
    assert partition is not None
    return partition


def data_of(client: Client) -> bytes:
    """What the log's file holds."""
    return b"".join(bytes(one.file.pread(one.size, 0)) for one in partition_of(client).log.segments)


class Produce:
    """The API on a folder, and what it answered."""

    def __init__(self, folder: Path, rights: Rights = UNLIMITED) -> None:
        self.replicas = Replicas(str(folder))
        self.rights = rights
        transactions = TransactionalProduce(
            self.replicas.manager, AppendVerification(None, True), 20, 100
        )
        self.turns = Turns()
        self.api = ProduceApi(self.replicas.manager, transactions, self.turns.answers)
        self.answers: list[Any] = []

    def send(self, request: ProduceRequest, version: int = 12, long: bool = False) -> None:
        context = RequestContext(0, version, 1, "me", "here", "PLAINTEXT", "c", self.rights)
        if long:
            context.writer = self.turns.answers
        self.api.handle(context, request, self.answers.append)

    def one(
        self, topic: str = "t", index: int = 0, acks: int = 1, records: Any = None, **options: Any
    ) -> PartitionProduceResponse:
        if records is None:
            records = self.replicas.batch(b"value", **options)
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(index, records)])]
        self.send(ProduceRequest(None, acks, 1000, data))
        return self.last()

    def refusal(self) -> str:
        """Why the last request closes its connection."""
        error = self.answers[-1]
        assert isinstance(error, ProtocolError)
        return str(error)

    def last(self) -> PartitionProduceResponse:
        response: ProduceResponse = self.answers[-1]
        ((partition,),) = [topic.partition_responses for topic in response.responses]
        return partition
