"""An Apache Kafka that judges by ACLs, with two listeners of each role.

SASL and CONTROLLER take PLAIN logins of `USERS` (each one's password is the name); PLAINTEXT and
OPENCONTROLLER take everybody as `User:ANONYMOUS`. `admin` is a super user, and what the node itself
logs in as. Owns the settings, and the changes of ACLs by raw requests. Never asks what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.authorization.reference import Entry
from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.ports import free_port
from tests.tools.waiting import LIMIT_S, wait_until

ADMIN = "admin"
USERS = (ADMIN, "alice", "bob")
ANY = 1
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "CONTROLLER": "SASL_PLAINTEXT",
    "OPENCONTROLLER": "PLAINTEXT",
}
"""Listener → security protocol."""


class SecuredKafka:
    """Its ports by listener, and who may do what."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.ports = ports
        self._admin = self.client("SASL", ADMIN)
        self._controller = self.client("CONTROLLER", ADMIN)

    def client(
        self,
        listener: str,
        user: str | None = None,
        source: str = HOST,
        timeout_s: float = LIMIT_S,
    ) -> WireClient:
        """A connection; without a user, nobody has logged in."""
        host = source if ":" in source else HOST
        client = WireClient(self.ports[listener], host=host, source=source, timeout_s=timeout_s)
        if user is not None:
            client.log_in("PLAIN", user, user)
        return client

    def set_acls(self, entries: Iterable[Entry]) -> None:
        """From now on just these."""
        wanted = set(entries)
        before = self._acls()
        if before - wanted:
            gone = [DeleteAclsFilter(*one) for one in before - wanted]
            self._admin.call(DeleteAclsRequest(gone), 3)
        if wanted - before:
            made = [AclCreation(*one) for one in wanted - before]
            results = self._admin.call(CreateAclsRequest(made), 3).results
            assert not any(one.error_code for one in results), results
        until(lambda: self._acls() == wanted == self._acls(self._controller))

    def _acls(self, asked: WireClient | None = None) -> set[Entry]:
        """Those by which the broker judges, or another who is asked."""
        everything = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)
        return {
            (one.resource_type, one.resource_name, one.pattern_type, *_of(acl))
            for one in (asked or self._admin).call(everything, 3).resources
            for acl in one.acls
        }

    def close(self) -> None:
        self._admin.close()
        self._controller.close()


def until(there: Callable[[], bool]) -> None:
    """Wait for it."""
    wait_until(there, "what Apache Kafka is to show", pause_s=0.005)


def _of(acl: Any) -> tuple[str, str, int, int]:
    return acl.principal, acl.host, acl.operation, acl.permission_type


@contextmanager
def secured_kafka(
    properties: Mapping[str, str] | None = None, *, bound_to: str = HOST
) -> Iterator[SecuredKafka]:
    """Start it, and stop it. `bound_to` is the address of its listeners."""
    kafka = ApacheKafka(jvm_options=FAST_START, heap="768m", static_voters=True)
    ports = {
        "PLAINTEXT": kafka.port,
        "SASL": free_port(),
        "CONTROLLER": kafka.controller_port,
        "OPENCONTROLLER": free_port(),
    }
    kafka._extra.update(_properties(ports, bound_to))
    kafka._extra.update(properties or {})
    with kafka:
        secured = SecuredKafka(ports)
        try:
            yield secured
        finally:
            secured.close()


def _properties(ports: Mapping[str, int], bound_to: str) -> dict[str, str]:
    listeners, advertised = (
        ",".join(f"{name}://{host}:{port}" for name, port in ports.items())
        for host in (bound_to, HOST)
    )
    users = " ".join(f'user_{name}="{name}"' for name in USERS)
    jaas = f'{_MODULE} username="{ADMIN}" password="{ADMIN}" {users};'
    return {
        "listeners": listeners,
        "advertised.listeners": advertised,
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in PROTOCOLS.items()),
        "controller.listener.names": "CONTROLLER,OPENCONTROLLER",
        "inter.broker.listener.name": "SASL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": jaas,
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": _AUTHORIZER,
        "super.users": f"User:{ADMIN}",
    }
