"""Users and certificates of a listener that change while a node runs, as a client meets them."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ottla.testing.broker_process import HOST, BrokerProcess
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.certificates import authority, pem_files
from tests.clients.wire_client import WireClient
from tests.tools.ports import free_port

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS = "listener.name.users.plain.sasl.jaas.config"
KEYSTORE = "listener.name.tls.ssl.keystore.location"
HOSTS = ("localhost", "127.0.0.1")


def users(**passwords: str) -> str:
    own = 'username="node" password="n"'
    known = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
    return f"{PLAIN} required {own} {known};"


class Node:
    def __init__(self, process: BrokerProcess, users_port: int, tls_port: int) -> None:
        self.process = process
        self.users_port = users_port
        self.tls_port = tls_port

    def alter(self, changes: Mapping[str, str | None]) -> tuple[int, str]:
        configs = [
            incremental.AlterableConfig(name, 1 if text is None else 0, text)
            for name, text in changes.items()
        ]
        request = incremental.IncrementalAlterConfigsRequest(
            [incremental.AlterConfigsResource(4, "1", configs)], False
        )
        with WireClient(self.process.port) as client:
            (answer,) = client.call(request, 1).responses
        return answer.error_code, answer.error_message or ""

    def lets_in(self, name: str, password: str) -> bool:
        with WireClient(self.users_port) as client:
            assert client.call(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
            token = f"\0{name}\0{password}".encode()
            code: int = client.call(SaslAuthenticateRequest(token), 2).error_code
            return code == 0

    def certificate(self) -> str:
        return ssl.get_server_certificate((HOST, self.tls_port), timeout=60)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    clients, users_port, tls_port = free_port(), free_port(), free_port()
    pem_files(tmp_path, authority().signs("CN=broker", hosts=HOSTS))
    properties = {
        "listeners": (
            f"PLAINTEXT://{HOST}:{clients},USERS://{HOST}:{users_port},TLS://{HOST}:{tls_port},"
            f"CONTROLLER://{HOST}:0"
        ),
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT"
        ),
        "listener.name.users.sasl.enabled.mechanisms": "PLAIN",
        USERS: users(ann="old"),
        "listener.name.tls.ssl.keystore.type": "PEM",
        KEYSTORE: str(tmp_path / "keystore.pem"),
        "connection.failed.authentication.delay.ms": "0",
    }
    with BrokerProcess(properties, data_dir=tmp_path / "data", port=clients) as process:
        yield Node(process, users_port, tls_port)


def test_users_change_and_stay_changed(node: Node) -> None:
    assert node.lets_in("ann", "old")
    with contextlib.ExitStack() as open_ones:
        open_ones.enter_context(WireClient(node.users_port))
        assert node.alter({USERS: users(ann="new", bob="b")}) == (0, "")
        assert not node.lets_in("ann", "old")
        assert node.lets_in("ann", "new")
        assert node.lets_in("bob", "b")
    code, message = node.alter({USERS: "nonsense"})
    assert (code, message.partition(":")[0]) == (42, USERS)
    assert node.lets_in("ann", "new")
    node.process.restart()
    assert node.lets_in("bob", "b") and not node.lets_in("ann", "old")
    assert node.alter({USERS: None}) == (0, "")
    assert node.lets_in("ann", "old") and not node.lets_in("bob", "b")


def test_a_certificate_is_renewed_under_the_same_path(node: Node, tmp_path: Path) -> None:
    first = node.certificate()
    pem_files(tmp_path, authority().signs("CN=broker", hosts=HOSTS))
    assert node.certificate() == first
    same = {KEYSTORE: str(tmp_path / "keystore.pem")}
    assert node.alter(same) == (0, "")
    second = node.certificate()
    assert second != first
    pem_files(tmp_path, authority().signs("CN=broker", hosts=HOSTS))
    assert node.alter(same) == (0, "")
    third = node.certificate()
    assert third not in (first, second)
    code, message = node.alter({KEYSTORE: str(tmp_path / "none.pem")})
    assert code == 42 and "none.pem for configuration " + KEYSTORE in message
    pem_files(tmp_path, authority().signs("CN=somebody else", hosts=HOSTS))
    code, message = node.alter(same)
    assert code == 42 and "distinguished name" in message
    assert node.certificate() == third
