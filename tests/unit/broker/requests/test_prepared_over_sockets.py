"""Over real sockets: whoever asks is judged, whatever was prepared for another one, or before.

A judge of our own stands in for the authorizer. Who is told what it may not know makes a test
fail, as the mutants of the key show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from pathlib import Path
from typing import Any

import pytest

from broker.apis.fetch.api import FetchApi
from broker.network.server.listening_socket import Listener
from broker.network.server.request_channel import ConnectionContext
from broker.requests.prepared import PreparedRequests, identity_of
from controller.authorization.rights import Rights, Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tests.unit.broker.apis.produce.produce_fixture import Broker, request
from tests.unit.broker.network.conftest import Client, Rig, until
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.broker.sliced_fixture import Turns

PARTS = ("principal", "client_host", "listener_name", "security_protocol", "client_id")
VERSION = 12
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
Identity = Callable[..., Hashable]


class Authorizer:
    """Refuses whoever is forbidden, and remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.forbidden: list[str] = []

    def judge(self, asker: Asker, action: Action) -> Verdict:
        self.asked.append(asker.principal)
        return Verdict(asker.principal not in self.forbidden, "the test")

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        raise AssertionError("neither Produce nor Fetch asks that")


class Brokers:
    """A broker with an authorizer, behind real sockets."""

    def __init__(self, rig: Rig, folder: Path, identity: Identity = identity_of) -> None:
        self.rig = rig
        self.broker = Broker(folder, True, identity)
        self.broker.replicas.create("t")
        self.handler = self.broker.handler
        self.authorizer = Authorizer()
        self.handler.admission.judge_by(self.authorizer)
        self.contexts: list[ConnectionContext] = []

    async def connect(
        self, listener: str = "L", protocol: str = "PLAINTEXT", address: str = "127.0.0.1"
    ) -> Client:
        def handle(context: ConnectionContext, frame: memoryview, respond: Any) -> None:
            if context not in self.contexts:
                self.contexts.append(context)
            self.handler.handle(context, frame, respond)

        listeners = [Listener(listener, "127.0.0.1", 0, protocol)]
        server = await self.rig.serve(
            handle,
            listeners=listeners,
            at_once=self.handler.handle_at_once,
            expect=self.handler.expect,
        )
        client = await Client.connect(server.ports[listener], local_addr=(address, 0))
        self.rig.clients.append(client)
        await until(lambda: bool(server.processors[0]._connections))
        (connection,) = server.processors[0]._connections
        self.contexts.append(connection.context)
        return client

    def frame(self, topic: str = "t", acks: int = 1, client_id: str = "one") -> bytes:
        records = bytes(self.broker.replicas.batch(b"value"))
        return request(records, VERSION, acks, topic, client_id=client_id)

    async def ask(self, client: Client, frame: bytes) -> tuple[int, bool]:
        """The error, and whether the authorizer was asked."""
        before = len(self.authorizer.asked)
        answer = await client.ask(frame)
        return error_of(answer), len(self.authorizer.asked) > before


def error_of(answer: bytes) -> int:
    response = decode_response(ApiKey.PRODUCE, memoryview(answer), VERSION)[1]
    ((one,),) = [topic.partition_responses for topic in response.responses]
    return int(one.error_code)


def without(part: str) -> Identity:
    """The mutant of the key that leaves a part out."""
    place = PARTS.index(part)

    def mutant(asker: Any, client_id: bytes) -> Hashable:
        whole = (*identity_of(asker, client_id),)  # type: ignore[misc]
        return whole[:place] + whole[place + 1 :]

    return mutant


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    await made.close()


async def is_judged_anew(brokers: Brokers, part: str) -> bool:
    """Whether one who differs from a first one in this part alone is asked about."""
    first = await brokers.connect()
    frame = brokers.frame()
    assert await brokers.ask(first, frame) == (0, True)
    for _ in range(3):
        assert await brokers.ask(first, frame) == (0, False)  # or there is nothing to see
    other = await brokers.connect(
        "OTHER" if part == "listener_name" else "L",
        "SASL_PLAINTEXT" if part == "security_protocol" else "PLAINTEXT",
        "127.0.0.2" if part == "client_host" else "127.0.0.1",
    )
    if part == "principal":
        brokers.contexts[-1].principal = "User:mallory"
    if part == "client_id":
        frame = brokers.frame(client_id="two")
    _, asked = await brokers.ask(other, frame)
    return asked


@pytest.mark.parametrize("part", PARTS)
async def test_the_same_bytes_of_another_one_are_judged(
    rig: Rig, tmp_path: Path, part: str
) -> None:
    assert await is_judged_anew(Brokers(rig, tmp_path), part)


@pytest.mark.parametrize("part", PARTS)
async def test_a_key_without_a_part_is_caught(rig: Rig, tmp_path: Path, part: str) -> None:
    assert not await is_judged_anew(Brokers(rig, tmp_path, without(part)), part)


async def test_the_same_bytes_of_one_who_may_not_are_refused(rig: Rig, tmp_path: Path) -> None:
    brokers = Brokers(rig, tmp_path)
    alice, mallory = await brokers.connect(), await brokers.connect()
    brokers.contexts[-1].principal = "User:mallory"
    brokers.authorizer.forbidden.append("User:mallory")
    frame = brokers.frame()
    for _ in range(3):
        assert (await brokers.ask(alice, frame))[0] == 0
        assert await brokers.ask(mallory, frame) == (REFUSED, True)
    assert brokers.broker.replicas.partition("t").log.log_end_offset == 3


async def test_fresh_client_ids_are_judged_each(rig: Rig, tmp_path: Path) -> None:
    brokers = Brokers(rig, tmp_path)
    client = await brokers.connect()
    for number in range(20):
        frame = brokers.frame(client_id=f"client {number:02}")
        assert [await brokers.ask(client, frame) for _ in range(2)] == [(0, True), (0, False)]


async def test_after_the_end_of_a_session_who_asks_is_judged(rig: Rig, tmp_path: Path) -> None:
    brokers = Brokers(rig, tmp_path)
    client = await brokers.connect()
    context, frame = brokers.contexts[-1], brokers.frame()
    anonymous = context.principal
    brokers.authorizer.forbidden.append(anonymous)
    context.principal = "User:alice"
    assert [await brokers.ask(client, frame) for _ in range(2)] == [(0, True), (0, False)]
    context.principal = anonymous
    for _ in range(2):
        assert await brokers.ask(client, frame) == (REFUSED, True)


async def test_after_a_revocation_who_was_known_is_refused(rig: Rig, tmp_path: Path) -> None:
    brokers = Brokers(rig, tmp_path)
    client, frame = await brokers.connect(), brokers.frame()
    assert [await brokers.ask(client, frame) for _ in range(2)] == [(0, True), (0, False)]
    brokers.authorizer.forbidden.append(brokers.contexts[-1].principal)
    brokers.handler.admission.changed()
    assert await brokers.ask(client, frame) == (REFUSED, True)


async def revoked_while_it_waits(brokers: Brokers, known: bool) -> tuple[int, bool]:
    """What comes of a Produce after one whose permission was revoked while replicas were waited
    for; `known`: that one was prepared for."""
    replicas = brokers.broker.replicas
    partition = replicas.create("r", replicas=[1, 2], isr=[1, 2], min_insync_replicas="2")
    for broker_id in (1, 2):
        replicas.register(broker_id)
    client, frame = await brokers.connect(), brokers.frame("r", acks=-1)

    async def replicated(offset: int) -> bytes:
        client.send(frame)
        await until(lambda: bool(replicas.manager.produce_purgatory.waiting))
        if offset == (2 if known else 1):
            brokers.authorizer.forbidden.append(brokers.contexts[-1].principal)
            brokers.handler.admission.changed()
        partition.follower_fetched(2, offset, 0, 1)
        partition.changed()
        return await client.receive()

    for offset in (1, 2) if known else (1,):
        assert error_of(await replicated(offset)) == 0
    before = len(brokers.authorizer.asked)

    def was_asked() -> bool:
        return len(brokers.authorizer.asked) > before

    client.send(frame)
    await until(lambda: was_asked() or bool(replicas.manager.produce_purgatory.waiting))
    return (error_of(await client.receive()), True) if was_asked() else (0, False)


@pytest.mark.parametrize("known", [False, True])
async def test_a_revocation_while_replicas_are_waited_for_holds(
    rig: Rig, tmp_path: Path, known: bool
) -> None:
    assert await revoked_while_it_waits(Brokers(rig, tmp_path), known) == (REFUSED, True)


async def test_an_epoch_that_is_read_after_the_wait_is_caught(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember = PreparedRequests.remember

    def late(self: PreparedRequests, asker: Any, kind: Any, *rest: Any) -> None:
        prepared, _, metrics = rest
        remember(self, asker, kind, prepared, self._admission.epoch, metrics)

    monkeypatch.setattr(PreparedRequests, "remember", late)
    assert await revoked_while_it_waits(Brokers(rig, tmp_path), False) == (0, False)


async def test_where_each_request_is_to_be_seen_each_is_judged(rig: Rig, tmp_path: Path) -> None:
    brokers = Brokers(rig, tmp_path)
    client, frame = await brokers.connect(), brokers.frame()
    await brokers.ask(client, frame)
    brokers.handler.admission.hold_preparing()
    for _ in range(3):
        assert await brokers.ask(client, frame) == (0, True)


# --- Fetch --------------------------------------------------------------------------------------

FETCH_VERSION = 18
CONSUMER, IN_SESSION, FOLLOWER = "a consumer", "a consumer in a session", "a follower"
KINDS = (CONSUMER, IN_SESSION, FOLLOWER)


class Reader:
    """Frames that are alike, of a reader of topic "f"."""

    def __init__(self, brokers: Brokers, kind: str) -> None:
        self.brokers = brokers
        self.kind = kind
        self.session = (0, -1) if kind == CONSUMER else (0, 0)
        replicas = brokers.broker.replicas
        followed = kind == FOLLOWER
        both = [1, 2] if followed else [1]
        for broker_id in both:
            replicas.register(broker_id)
        self.partition = replicas.create("f", replicas=both, isr=both)
        brokers.handler.serve(FetchApi(replicas.config, replicas.manager, Turns().answers).apis())
        for _ in range(2):
            replicas.append("f", b"value")

    async def open(self, client: Client) -> None:
        """Open its session, if it is to have one."""
        if self.kind != CONSUMER:
            answer = await client.ask(self.frame())
            response = decode_response(ApiKey.FETCH, memoryview(answer), FETCH_VERSION)[1]
            self.session = (response.session_id, 1)

    def frame(self, offset: int = 0) -> bytes:
        asked = [FetchPartition(0, 0, offset, -1, 0, 1 << 20)]
        state = ReplicaState(2, 1) if self.kind == FOLLOWER else ReplicaState()
        fetch = FetchRequest(
            replica_state=state,
            max_wait_ms=500,
            min_bytes=1,
            session_id=self.session[0],
            session_epoch=self.session[1],
            topics=[FetchTopic("", topic_id_of("f"), asked)],
        )
        if self.session[1] > 0:
            self.session = self.session[0], self.session[1] + 1
        return encode_request(fetch, FETCH_VERSION, 9, "one")[4:]

    async def ask(self, client: Client) -> tuple[int, bool]:
        """The error, and whether the authorizer was asked."""
        before = len(self.brokers.authorizer.asked)
        error, size = told(await client.ask(self.frame()))
        assert bool(size) is (not error)
        return error, len(self.brokers.authorizer.asked) > before

    async def wait(self, client: Client) -> None:
        """Send one at the log's end, which waits."""
        purgatory = self.brokers.broker.replicas.manager.fetch_purgatory
        client.send(self.frame(self.partition.log.log_end_offset))
        await until(lambda: bool(purgatory.waiting))

    def write(self) -> None:
        """What it waits for."""
        replicas = self.brokers.broker.replicas
        replicas.append("f", b"value")
        replicas.scheduler.run_for(0)


def told(answer: bytes) -> tuple[int, int]:
    """Of the one partition of a Fetch: its error, and the size of its records."""
    response = decode_response(ApiKey.FETCH, memoryview(answer), FETCH_VERSION)[1]
    ((one,),) = [topic.partitions for topic in response.responses]
    return int(one.error_code), len(one.records or b"")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fetch_of_one_who_may_not_is_refused_whatever_is_prepared(
    rig: Rig, tmp_path: Path, kind: str
) -> None:
    brokers = Brokers(rig, tmp_path)
    reader = Reader(brokers, kind)
    alice, mallory = await brokers.connect(), await brokers.connect()
    brokers.contexts[-1].principal = "User:mallory"
    brokers.authorizer.forbidden.append("User:mallory")
    await reader.open(alice)
    assert await reader.ask(alice) == (0, True)
    for _ in range(3):
        assert await reader.ask(alice) == (0, False)
        assert await reader.ask(mallory) == (REFUSED, True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fetch_after_a_revocation_is_refused(rig: Rig, tmp_path: Path, kind: str) -> None:
    brokers = Brokers(rig, tmp_path)
    reader, client = Reader(brokers, kind), await brokers.connect()
    await reader.open(client)
    assert [await reader.ask(client) for _ in range(2)] == [(0, True), (0, False)]
    brokers.authorizer.forbidden.append(brokers.contexts[-1].principal)
    brokers.handler.admission.changed()
    for _ in range(2):
        assert await reader.ask(client) == (REFUSED, True)


async def revoked_while_it_waits_to_read(
    brokers: Brokers, kind: str, known: bool
) -> tuple[int, int]:
    """What a fetch is told that was allowed as it came, and that waited while it was revoked.
    `known`: such a one was prepared for."""
    reader, client = Reader(brokers, kind), await brokers.connect()
    await reader.open(client)
    for _ in range(2 if known else 0):
        await reader.ask(client)
    await reader.wait(client)
    brokers.authorizer.forbidden.append(brokers.contexts[-1].principal)
    brokers.handler.admission.changed()
    reader.write()
    return told(await client.receive())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
async def test_a_revocation_while_records_are_waited_for_holds(
    rig: Rig, tmp_path: Path, kind: str, known: bool
) -> None:
    found = await revoked_while_it_waits_to_read(Brokers(rig, tmp_path), kind, known)
    assert found == (REFUSED, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
async def test_a_fetch_that_is_judged_only_as_it_comes_is_caught(
    rig: Rig, tmp_path: Path, kind: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rights, "stand_since", lambda rights, epoch: True)
    found = await revoked_while_it_waits_to_read(Brokers(rig, tmp_path), kind, known)
    assert found[0] == 0
    assert found[1] > 0


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fetch_that_waits_asks_nobody_where_it_is_prepared(
    rig: Rig, tmp_path: Path, kind: str
) -> None:
    brokers = Brokers(rig, tmp_path)
    reader, client = Reader(brokers, kind), await brokers.connect()
    await reader.open(client)
    for _ in range(2):
        await reader.ask(client)
    before = len(brokers.authorizer.asked)
    await reader.wait(client)
    reader.write()
    assert told(await client.receive())[0] == 0
    # A consumer's that waits goes the general way, and is judged there as it comes.
    assert len(brokers.authorizer.asked) - before == (0 if kind == FOLLOWER else 1)
