"""One connection that sends and waits, against a peer that answers from a script."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker.config.security_settings import ClientSecurity, MechanismSettings
from broker.network.outgoing.blocking_client import (
    RESPONSE_BYTES_MAX,
    ApiNotServed,
    BlockingClient,
    wait_for_answers,
)
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from broker.security.connect_failures import ClosedBeforeAnswer, ClosedInLogin, SpeaksTls
from broker.security.tls.contexts import server_context
from protocol.errors import ProtocolError
from protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.messages.list_groups import ListGroupsRequest
from protocol.primitives import MessageBuffer
from tests.certificates import Identity, authority, pem_values, server
from tests.tools.waiting import LIMIT_S

Answer = Callable[[RequestHeader], bytes]


def framed(response: Any, version: int, correlation_id: int, header_version: int) -> bytes:
    out = MessageBuffer()
    ResponseHeader(correlation_id).write(out, header_version)
    response.write(out, version)
    frame = out.joined()
    return struct.pack(">i", len(frame)) + frame


def api_versions(header: RequestHeader) -> bytes:
    served = ApiVersionsResponse(api_keys=[ApiVersion(60, 0, 1)])
    return framed(served, 3, header.correlation_id, 0)


@pytest.fixture
def peer() -> Iterator[Callable[..., int]]:
    """Start a peer that answers the requests of one connection in turn; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(answers: list[Answer]) -> None:
        connection, _ = listener.accept()
        with connection:
            for answer in answers:
                (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
                view = memoryview(connection.recv(size, socket.MSG_WAITALL))
                header, _ = RequestHeader.read(view, 0, 2)
                connection.sendall(answer(header))

    threads = []

    def start(*answers: Answer) -> int:
        threads.append(threading.Thread(target=serve, args=(list(answers),), daemon=True))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join(LIMIT_S)
    listener.close()


def test_several_requests_are_on_their_way(peer: Callable[..., int]) -> None:
    seen: list[int] = []

    def answer(header: RequestHeader) -> bytes:
        seen.append(header.request_api_version)
        cluster_id = f"cluster {len(seen)}"
        version = header.request_api_version
        return framed(
            DescribeClusterResponse(cluster_id=cluster_id), version, header.correlation_id, 1
        )

    with BlockingClient("127.0.0.1", peer(api_versions, answer, answer), LIMIT_S) as client:
        client.send(DescribeClusterRequest())
        client.send(DescribeClusterRequest(), version_max=0)
        assert client.waiting == 2
        assert wait_for_answers([client], LIMIT_S) == [client]
        assert client.receive(DescribeClusterResponse).cluster_id == "cluster 1"
        assert client.receive(DescribeClusterResponse).cluster_id == "cluster 2"
        assert seen == [1, 0] and client.waiting == 0
        assert wait_for_answers([client], 0) in ([], [client])  # the peer hangs up about now


def test_it_agrees_on_the_highest_common_version(peer: Callable[..., int]) -> None:
    seen: list[RequestHeader] = []

    def answer(header: RequestHeader) -> bytes:
        seen.append(header)
        return framed(DescribeClusterResponse(cluster_id="abc"), 1, header.correlation_id, 1)

    with BlockingClient("127.0.0.1", peer(api_versions, answer), LIMIT_S) as client:
        assert client.call(DescribeClusterRequest()).cluster_id == "abc"
        with pytest.raises(ApiNotServed, match="LIST_GROUPS"):
            client.call(ListGroupsRequest())
    assert (seen[0].request_api_key, seen[0].request_api_version) == (60, 1)


def test_a_peer_that_hangs_up(peer: Callable[..., int]) -> None:
    with pytest.raises(ConnectionError):
        BlockingClient("127.0.0.1", peer(lambda _: b""), LIMIT_S)


@pytest.mark.parametrize("size", [-1, RESPONSE_BYTES_MAX + 1, 0x48545450])
def test_a_peer_that_is_no_broker(peer: Callable[..., int], size: int) -> None:
    with pytest.raises(ProtocolError, match="is this a Kafka broker"):
        BlockingClient("127.0.0.1", peer(lambda _: struct.pack(">i", size)), LIMIT_S)


def test_an_answer_to_another_request(peer: Callable[..., int]) -> None:
    def wrong(header: RequestHeader) -> bytes:
        return framed(ApiVersionsResponse(), 3, header.correlation_id + 1, 0)

    with pytest.raises(ProtocolError, match="another request"):
        BlockingClient("127.0.0.1", peer(wrong), LIMIT_S)


@pytest.mark.parametrize("body", [b"", b"\0\0", b"\0\0\0\1", b"\0\0\0\1\0\0\xff"])
def test_an_answer_that_cannot_be_read(peer: Callable[..., int], body: bytes) -> None:
    with pytest.raises(ProtocolError, match="cannot be read"):
        BlockingClient("127.0.0.1", peer(lambda _: struct.pack(">i", len(body)) + body), LIMIT_S)


def test_a_peer_that_refuses_the_handshake(peer: Callable[..., int]) -> None:
    def refuse(header: RequestHeader) -> bytes:
        return framed(ApiVersionsResponse(error_code=35), 3, header.correlation_id, 0)

    with pytest.raises(ProtocolError, match="UNSUPPORTED_VERSION"):
        BlockingClient("127.0.0.1", peer(refuse), LIMIT_S)


def test_a_peer_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        BlockingClient("127.0.0.1", listener.getsockname()[1], 0.05)


class Login:
    """One token, which is to be answered by `ok`."""

    lifetime_ms = 0

    def begin(self) -> bytes:
        return struct.pack(">i", 5) + b"token"

    def received(self, answer: bytes) -> None:
        if answer != b"ok":
            raise ConnectionError(answer.decode())


class Guard(ClientGuard):
    """A listener with SASL whose mechanism is `Login`."""

    def __init__(self) -> None:
        plain = ClientSecurity("SASL_PLAINTEXT", None, MechanismSettings("PLAIN"))
        super().__init__(plain, "", self.begin)

    def begin(self, client_id: str) -> Login:
        return Login()


@pytest.fixture
def raw_peer() -> Iterator[Callable[..., int]]:
    """Start a peer that answers whatever comes by these bytes in turn, then closes; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(answers: list[bytes]) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(ConnectionResetError):
            for answer in answers:
                connection.recv(65536)
                connection.sendall(answer)
            connection.recv(65536)

    threads = []

    def start(*answers: bytes) -> int:
        threads.append(threading.Thread(target=serve, args=(list(answers),), daemon=True))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join(LIMIT_S)
    listener.close()


def test_a_login_comes_first(raw_peer: Callable[..., int]) -> None:
    versions = framed(ApiVersionsResponse(), 3, 1, 0)
    port = raw_peer(struct.pack(">i", 2) + b"ok", versions)
    BlockingClient("127.0.0.1", port, LIMIT_S, guard=Guard()).close()


def test_a_refused_login_says_why(raw_peer: Callable[..., int]) -> None:
    port = raw_peer(struct.pack(">i", 5) + b"wrong")
    with pytest.raises(ConnectionError, match="^wrong$"):
        BlockingClient("127.0.0.1", port, LIMIT_S, guard=Guard())


def test_a_listener_that_closes_in_the_login(raw_peer: Callable[..., int]) -> None:
    with pytest.raises(ClosedInLogin):
        BlockingClient("127.0.0.1", raw_peer(), LIMIT_S, guard=Guard())


@pytest.mark.parametrize("guard", [PLAINTEXT_GUARD, Guard()], ids=str)
def test_a_listener_with_tls_is_known_by_its_alert(
    guard: ClientGuard, raw_peer: Callable[..., int]
) -> None:
    port = raw_peer(b"\x15\x03\x03\0\x02\x02\x50")
    with pytest.raises(SpeaksTls):
        BlockingClient("127.0.0.1", port, LIMIT_S, guard=guard)


def test_a_listener_that_lets_nobody_in_without_a_login(raw_peer: Callable[..., int]) -> None:
    """A listener with SASL tells everybody its versions, and closes then."""
    port = raw_peer(framed(ApiVersionsResponse(api_keys=[ApiVersion(60, 0, 1)]), 3, 1, 0))
    with BlockingClient("127.0.0.1", port, LIMIT_S) as client, pytest.raises(ClosedBeforeAnswer):
        client.call(DescribeClusterRequest())


@pytest.fixture
def tls_listener() -> Iterator[Callable[[Identity], int]]:
    """Start a listener with TLS and this certificate, which answers one request; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(identity: Identity) -> None:
        context = server_context("", pem_values(identity))
        connection, _ = listener.accept()
        with contextlib.suppress(OSError), context.wrap_socket(connection, True) as over_tls:
            over_tls.recv(65536)
            over_tls.sendall(framed(ApiVersionsResponse(), 3, 1, 0))
            over_tls.recv(65536)

    threads = []

    def start(identity: Identity) -> int:
        threads.append(threading.Thread(target=serve, args=(identity,), daemon=True))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join(LIMIT_S)
    listener.close()


def test_it_speaks_tls(tls_listener: Callable[[Identity], int]) -> None:
    guard = ClientGuard(ClientSecurity("SSL", pem_values(None)))
    BlockingClient("localhost", tls_listener(server()), LIMIT_S, guard=guard).close()


def test_a_certificate_for_another_host_is_refused(
    tls_listener: Callable[[Identity], int],
) -> None:
    guard = ClientGuard(ClientSecurity("SSL", pem_values(None)))
    port = tls_listener(authority().signs("CN=broker", hosts=("elsewhere",)))
    with pytest.raises(OSError, match="not valid for 'localhost'"):
        BlockingClient("localhost", port, LIMIT_S, guard=guard)
