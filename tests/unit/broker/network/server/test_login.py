"""SASL on a listener, over sockets: nothing is handled before it is known who is there."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.security_settings import (
    JaasEntry,
    ListenerSecurity,
    MechanismSettings,
    SaslSettings,
    Secret,
)
from broker.network.server.listening_socket import Listener
from broker.network.server.request_channel import ConnectionContext, Responder
from broker.network.server.socket_server import SocketServer
from broker.plugins.logins import plain_logins
from broker.plugins.loop_calls import LoopCalls
from broker.security.listener_guard import BuildPrincipal, ListenerGuard, NoPrincipal
from broker.security.logins import Logins
from broker.security.sasl.mechanism_factory import server_mechanisms
from ground.ports import AnswerTimeout
from ottla.plugins.logins import PasswordCheck
from ottla.plugins.principal import Peer
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import (
    Client,
    Rig,
    connection_of,
    framed,
    turns,
    until,
)
from tests.unit.broker.network.server.virtual_time import VirtualTime

JAAS = JaasEntry("PlainLoginModule", {"user_alice": Secret("secret")})
GOOD, WRONG = b"\0alice\0secret", b"\0alice\0wrong"
METADATA = encode_request(MetadataRequest(), 9, 7, "me")[4:]


class Requests:
    """Notes whose requests are handled, and echoes them."""

    def __init__(self) -> None:
        self.principals: list[str] = []

    def __call__(self, context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        self.principals.append(context.principal)
        respond(framed(bytes(frame)))


def guard(max_reauth_ms: int = 0, delay_ms: int = 0) -> ListenerGuard:
    plain = MechanismSettings("PLAIN", JAAS, max_reauth_ms=max_reauth_ms)
    sasl = SaslSettings((plain,), failed_authentication_delay_ms=delay_ms)
    return ListenerGuard(
        ListenerSecurity("SASL", "SASL_PLAINTEXT", sasl=sasl),
        Logins("SASL", 1000, time.monotonic),
        server_mechanisms(sasl, lambda *_: None, lambda: "nonce"),
        lambda *_: None,
        between_nodes=False,
    )


async def serve(rig: Rig, door: ListenerGuard, **settings: Any) -> tuple[SocketServer, Requests]:
    requests = Requests()
    listeners = [
        Listener("SASL", "127.0.0.1", 0, "SASL_PLAINTEXT", guard=door),
        Listener("PLAIN", "127.0.0.1", 0),
    ]
    return await rig.serve(requests, listeners=listeners, **settings), requests


def handshake(mechanism: str = "PLAIN") -> bytes:
    return encode_request(SaslHandshakeRequest(mechanism), 1, 1, "me")[4:]


def token(data: bytes) -> bytes:
    return encode_request(SaslAuthenticateRequest(data), 2, 2, "me")[4:]


def answer_of(frame: bytes) -> Any:
    return decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(frame), 2)[1]


async def log_in(client: Client) -> Any:
    await client.ask(handshake())
    return answer_of(await client.ask(token(GOOD)))


async def test_requests_are_handled_for_who_has_logged_in(rig: Rig) -> None:
    door = guard()
    server, requests = await serve(rig, door)
    client = await rig.client(server, "SASL")
    assert (await log_in(client)).error_code == 0
    assert await client.ask(METADATA) == METADATA
    assert requests.principals == ["User:alice"]
    assert (door.logins.succeeded, door.logins.failed) == (1, 0)


async def test_a_login_that_is_over_is_garbage_without_a_collection(rig: Rig) -> None:
    server, _ = await serve(rig, guard())
    client = await rig.client(server, "SASL")
    await log_in(client)
    held = connection_of(server).login
    assert held is not None
    login = weakref.ref(held)
    del held
    gc.collect()
    gc.disable()
    try:
        client.writer.close()
        await until(lambda: login() is None)
    finally:
        gc.enable()


@pytest.mark.parametrize("first", [METADATA, token(GOOD), GOOD, b"", b"\xff" * 40])
async def test_nothing_else_is_handled_before(
    rig: Rig, first: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    door = guard()
    server, requests = await serve(rig, door)
    client = await rig.client(server, "SASL")
    client.send(first, METADATA)
    assert await client.closed_by_server()
    assert requests.principals == []
    assert door.logins.failed == 1
    assert "Traceback" not in caplog.text


async def test_a_request_behind_a_wrong_password_is_not_handled(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    server, requests = await serve(rig, guard())
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(WRONG), METADATA)
    await client.receive()
    answer = answer_of(await client.receive())
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.closed_by_server()
    assert requests.principals == []
    (line,) = [one for one in caplog.messages if one.startswith("Failed authentication")]
    assert "listener SASL by PLAIN" in line and "Invalid username or password" in line
    assert "wrong" not in line and "secret" not in line


async def test_a_refusal_is_delayed_and_holds_nobody_else_up(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, requests = await serve(rig, guard(delay_ms=300))
    clock = VirtualTime(server, monkeypatch)
    wrong, right = await rig.client(server, "SASL"), await rig.client(server, "SASL")
    wrong.send(handshake(), token(WRONG))
    await wrong.receive()
    await log_in(right)
    assert await right.ask(METADATA) == METADATA, "it does not wait for another client's delay"
    clock.run_for(299)
    refusal = asyncio.ensure_future(wrong.receive())
    await turns()
    assert not refusal.done()
    clock.run_for(1)
    assert answer_of(await refusal).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await wrong.closed_by_server()
    assert requests.principals == ["User:alice"]


async def test_a_frame_larger_than_a_login_needs_is_refused(rig: Rig) -> None:
    server, requests = await serve(rig, guard())
    client = await rig.client(server, "SASL")
    client.writer.write((524_289).to_bytes(4))
    assert await client.closed_by_server()
    other = await rig.client(server, "SASL")
    await log_in(other)
    large = b"x" * 600_000
    assert await other.ask(large) == large, "the limit is for those who have not logged in"
    assert requests.principals == ["User:alice"]


async def test_who_does_not_log_in_in_time_is_closed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = await serve(rig, guard(), ottla_authentication_timeout_ms=3_000)
    clock = VirtualTime(server, monkeypatch)
    silent, good = await rig.client(server, "SASL"), await rig.client(server, "SASL")
    await log_in(good)
    clock.run_for(2_900)
    assert server.connection_count == 2
    clock.run_for(300)  # its deadline, and a tick of the wheel
    assert await silent.closed_by_server()
    assert await good.ask(METADATA) == METADATA


async def test_after_the_end_of_a_login_only_another_one_is_taken(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = guard(max_reauth_ms=500)
    server, requests = await serve(rig, door)
    clock = VirtualTime(server, monkeypatch)
    client, late = await rig.client(server, "SASL"), await rig.client(server, "SASL")
    assert (await log_in(client)).session_lifetime_ms == 500
    await log_in(late)
    clock.run_for(499)
    assert await client.ask(METADATA) == METADATA
    clock.run_for(2)
    late.send(METADATA)
    assert await late.closed_by_server()
    assert (await log_in(client)).session_lifetime_ms == 500
    assert await client.ask(METADATA) == METADATA
    assert requests.principals == ["User:alice"] * 2
    assert (door.logins.succeeded, door.logins.renewed) == (2, 1)


async def test_who_fails_to_log_in_again_is_closed(rig: Rig) -> None:
    door = guard(max_reauth_ms=60_000)
    server, requests = await serve(rig, door)
    client = await rig.client(server, "SASL")
    await log_in(client)
    client.send(handshake(), token(WRONG), METADATA)
    await client.receive()
    answer = answer_of(await client.receive())
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.closed_by_server()
    assert requests.principals == []
    assert door.logins.failed_renewals == 1


async def test_a_stop_closes_those_who_log_in_or_wait_for_a_refusal(rig: Rig) -> None:
    server, _ = await serve(rig, guard(delay_ms=60_000))
    waiting, refused = await rig.client(server, "SASL"), await rig.client(server, "SASL")
    await waiting.ask(handshake())
    refused.send(handshake(), token(WRONG))
    await refused.receive()
    await server.stop(1.0)
    assert await waiting.closed_by_server()
    assert await refused.closed_by_server()


async def test_nothing_is_prepared_or_looked_for_before_a_login(rig: Rig) -> None:
    tried: list[str] = []

    def at_once(context: ConnectionContext, _frame: memoryview, _later: Any) -> None:
        tried.append(context.principal)

    server, _ = await serve(rig, guard(), at_once=at_once)
    client = await rig.client(server, "SASL")
    await client.ask(handshake())
    connection = connection_of(server)
    assert not connection.can_receive
    await client.ask(token(GOOD))
    await client.ask(METADATA)
    assert tried == ["User:alice"]
    assert connection.can_receive


CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"


async def test_tls_on_a_listener_without_it_is_told(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    server, _ = await serve(rig, guard())
    for name in ("SASL", "PLAIN"):
        client = await rig.client(server, name)
        client.writer.write(CLIENT_HELLO)
        assert await client.closed_by_server()
    sasl, plain = [one for one in caplog.messages if one.startswith("Failed authentication")]
    assert "on listener SASL by TLS" in sasl and "has no TLS: its protocol is SASL_PLAIN" in sasl
    assert "on listener PLAIN by TLS" in plain and "has no TLS: its protocol is PLAINTEXT" in plain


# --- somebody else is asked ----------------------------------------------------------------------


class Directory:
    """Answers when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]] = []

    def ask(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        self.waiting.append((job, done))

    async def asked(self) -> None:
        await until(lambda: bool(self.waiting))

    def answer(self, error: Exception | None = None) -> None:
        job, done = self.waiting.pop(0)
        done(None if error else job(), error)


class Passwords(PasswordCheck):
    def is_right(self, user: str, password: str) -> bool:
        return password == "secret"


def asking_guard(
    directory: Directory, max_reauth_ms: int = 0, build_principal: BuildPrincipal | None = None
) -> ListenerGuard:
    plain = MechanismSettings("PLAIN", JAAS, max_reauth_ms=max_reauth_ms)
    sasl = SaslSettings((plain,), failed_authentication_delay_ms=0)
    own = plain_logins(Passwords(), LoopCalls("acme:Passwords", lambda: 0.0))
    return ListenerGuard(
        ListenerSecurity("SASL", "SASL_PLAINTEXT", sasl=sasl),
        Logins("SASL", 1000, time.monotonic),
        server_mechanisms(sasl, lambda *_: None, lambda: "nonce", {"PLAIN": own}),
        lambda *_: None,
        between_nodes=False,
        build_principal=build_principal,
        run_blocking=directory.ask,
    )


async def test_nothing_behind_a_login_is_taken_until_somebody_has_answered(rig: Rig) -> None:
    directory = Directory()
    server, requests = await serve(rig, asking_guard(directory))
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(GOOD), METADATA)
    await client.receive()
    await directory.asked()
    client.send(METADATA)
    assert requests.principals == []
    directory.answer()
    assert answer_of(await client.receive()).error_code == 0
    assert [await client.receive(), await client.receive()] == [METADATA, METADATA]
    assert requests.principals == ["User:alice"] * 2


@pytest.mark.parametrize("error", [None, AnswerTimeout("no answer within 5 ms")])
async def test_who_is_refused_by_somebody_else_is_refused(
    rig: Rig, error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    directory = Directory()
    server, requests = await serve(rig, asking_guard(directory))
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(WRONG), METADATA)
    await client.receive()
    await directory.asked()
    directory.answer(error)
    answer = answer_of(await client.receive())
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.closed_by_server()
    assert requests.principals == []
    told = "acme:Passwords: no answer within 5 ms" if error else "Invalid username or password"
    assert told in caplog.text


async def test_an_answer_for_one_who_has_gone_is_dropped(rig: Rig) -> None:
    directory = Directory()
    door = asking_guard(directory)
    server, _ = await serve(rig, door)
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(GOOD))
    await client.receive()
    await directory.asked()
    client.writer.close()
    await until(lambda: not server.connection_count)
    directory.answer()
    assert (door.logins.succeeded, door.logins.failed) == (0, 0)


async def test_one_who_logs_in_again_waits_for_an_answer_too(rig: Rig) -> None:
    directory = Directory()
    door = asking_guard(directory, max_reauth_ms=60_000)
    server, requests = await serve(rig, door)
    client = await rig.client(server, "SASL")
    for _ in range(2):
        client.send(handshake(), token(GOOD), METADATA)
        await client.receive()
        await directory.asked()
        directory.answer()
        assert answer_of(await client.receive()).error_code == 0
        assert await client.receive() == METADATA
    assert (door.logins.succeeded, door.logins.renewed) == (1, 1)
    assert requests.principals == ["User:alice"] * 2


async def test_one_whose_other_login_is_refused_later_is_closed(rig: Rig) -> None:
    directory = Directory()
    door = asking_guard(directory, max_reauth_ms=60_000)
    server, _ = await serve(rig, door)
    client = await rig.client(server, "SASL")
    for good in (True, False):
        client.send(handshake(), token(GOOD if good else WRONG))
        await client.receive()
        await directory.asked()
        directory.answer()
        code = answer_of(await client.receive()).error_code
        assert code == (0 if good else ErrorCode.SASL_AUTHENTICATION_FAILED)
    assert await client.closed_by_server()
    assert door.logins.failed_renewals == 1


async def test_a_stop_waits_for_nobody_who_is_asked(rig: Rig) -> None:
    directory = Directory()
    server, _ = await serve(rig, asking_guard(directory))
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(GOOD))
    await client.receive()
    await directory.asked()
    async with asyncio.timeout(LIMIT_S):
        await server.stop(10 * LIMIT_S)
    directory.answer()


@pytest.mark.parametrize("answer", ["Team:a", NoPrincipal("nobody of ours")])
async def test_a_builder_names_who_logs_in(
    rig: Rig, answer: str | NoPrincipal, caplog: pytest.LogCaptureFixture
) -> None:
    def name(peer: Peer) -> str:
        assert (peer.user, peer.mechanism, peer.host) == ("alice", "PLAIN", "127.0.0.1")
        if isinstance(answer, NoPrincipal):
            raise answer
        return answer

    directory = Directory()
    server, requests = await serve(rig, asking_guard(directory, build_principal=name))
    client = await rig.client(server, "SASL")
    client.send(handshake(), token(GOOD), METADATA)
    await client.receive()
    await directory.asked()
    directory.answer()
    code = answer_of(await client.receive()).error_code
    if isinstance(answer, str):
        assert (code, await client.receive()) == (0, METADATA)
        assert requests.principals == ["Team:a"]
    else:
        assert code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.closed_by_server()
        assert "nobody of ours" in caplog.text


@pytest.mark.parametrize("known", [True, False])
async def test_a_builder_names_who_comes_without_a_login(
    rig: Rig, known: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def name(peer: Peer) -> str:
        if not known:
            raise NoPrincipal("no host of ours")
        return f"Host:{peer.host}"

    door = ListenerGuard(
        ListenerSecurity("SASL", "PLAINTEXT"),
        Logins("SASL", 1000, time.monotonic),
        None,
        lambda *_: None,
        between_nodes=False,
        build_principal=name,
    )
    requests = Requests()
    listeners = [Listener("SASL", "127.0.0.1", 0, "PLAINTEXT", guard=door)]
    server = await rig.serve(requests, listeners=listeners)
    client = await rig.client(server, "SASL")
    if known:
        assert await client.ask(METADATA) == METADATA
        assert requests.principals == ["Host:127.0.0.1"]
    else:
        assert await client.closed_by_server()
        assert "by PLAINTEXT" in caplog.text and "no host of ours" in caplog.text
