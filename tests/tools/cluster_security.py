"""The secured form of a cluster of processes: the configuration of its nodes, the clients' login.

Clients and brokers connect to brokers over SASL_SSL (PLAIN), and to controllers over TLS with
certificates on both sides. Nodes are super users; the clients' user has the rights of its ACLs.
Owns the keys of the configuration, the stores in a folder, and those ACLs. It starts no process.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import ssl
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.config.security_settings import JaasEntry, MechanismSettings, Secret
from broker.security.sasl.client_authenticator import SaslClient
from broker.security.sasl.mechanism_factory import client_mechanism
from ottla.plugins.authorizer import CLUSTER_NAME, Resource
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.certificates import pem_files, server
from tests.clients.wire_client import WireClient

CLIENTS, BROKERS, CONTROLLERS = "CLIENTS", "INTERNAL", "CONTROLLER"
NODE, NODE_PASSWORD = "node", "node-secret"
USER, PASSWORD = "client", "client-secret"
STRANGER, STRANGER_PASSWORD = "stranger", "stranger-secret"
"""A user without any rights, although the login succeeds."""
MECHANISM = "PLAIN"
_ANY, _ALL, _LITERAL, _ALLOW = 1, 2, 3, 3
"""Kafka's codes in filters and ACLs: any type, all operations, a literal name, an allowing ACL."""
_MAY_DO_ALL_TO = (
    (Resource.TOPIC, "*"),
    (Resource.GROUP, "*"),
    (Resource.TRANSACTIONAL_ID, "*"),
    (Resource.CLUSTER, CLUSTER_NAME),
)
"""The resources of the clients' ACLs: one ACL each allows all operations."""
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class ClusterLogin:
    """The clients' login: their TLS context, the files of the stores, and SASL over them."""

    tls: ssl.SSLContext
    certificate: str
    authority: str
    mechanism: str = MECHANISM
    user: str = USER
    password: str = PASSWORD

    async def log_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Authenticate over a connection that already has TLS.

        Raises SaslRefused, OSError or asyncio.IncompleteReadError.
        """
        options = {"username": Secret(self.user), "password": Secret(self.password)}
        settings = MechanismSettings(self.mechanism, JaasEntry("", options))
        mechanism = client_mechanism(settings, lambda: secrets.token_hex(16))()
        login = SaslClient(self.mechanism, mechanism, "chaos", itertools.count(1).__next__)
        frame: bytes | None = login.begin()
        while frame is not None:
            writer.write(frame)
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = login.received(memoryview(await reader.readexactly(size)))

    def of_librdkafka(self) -> dict[str, str]:
        """Return the login as keys of confluent-kafka."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.authority,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.user,
            "sasl.password": self.password,
        }

    def of_python_clients(self) -> dict[str, Any]:
        """Return the login as arguments of kafka-python and aiokafka."""
        return {
            "security_protocol": "SASL_SSL",
            "ssl_context": self.tls,
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
        }


class ClusterSecurity:
    """The certificates, properties and ACLs of a secured cluster."""

    def __init__(self, folder: Path) -> None:
        identity = server()
        self._subject = identity.certificate.subject.rfc4514_string()
        self._stores = pem_files(folder, identity)
        keystore, truststore = self._stores.keystore_location, self._stores.truststore_location
        assert keystore is not None and truststore is not None
        context = ssl.create_default_context(cafile=truststore)
        context.load_cert_chain(keystore)
        self.login = ClusterLogin(context, keystore, truststore)

    def properties(self) -> dict[str, str]:
        """Return the server keys that are the same on every node."""
        kinds = {CLIENTS: "SASL_SSL", BROKERS: "SASL_SSL", CONTROLLERS: "SSL"}
        jaas = (
            f'{_MODULE} username="{NODE}" password="{NODE_PASSWORD}" '
            f'user_{NODE}="{NODE_PASSWORD}" user_{USER}="{PASSWORD}" '
            f'user_{STRANGER}="{STRANGER_PASSWORD}";'
        )
        keys = {
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in kinds.items()),
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "listener.name.controller.ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.login.certificate,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.login.authority,
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{NODE};User:{self._subject}",
        }
        for name in (CLIENTS, BROKERS):
            prefix = f"listener.name.{name.lower()}"
            keys[f"{prefix}.sasl.enabled.mechanisms"] = MECHANISM
            keys[f"{prefix}.{MECHANISM.lower()}.sasl.jaas.config"] = jaas
        return keys

    def let_clients_in(self, ports: Iterable[int], timeout_s: float = 90) -> None:
        """Create the clients' ACLs, and wait until the brokers on all of `ports` have them."""
        principal = f"User:{USER}"
        acls = [
            AclCreation(resource, name, _LITERAL, principal, "*", _ALL, _ALLOW)
            for resource, name in _MAY_DO_ALL_TO
        ]
        broker_ports = list(ports)
        with self._as_node(broker_ports[0]) as wire:
            results = wire.call(CreateAclsRequest(acls), 3).results
            assert not any(result.error_code for result in results), results
        deadline = time.monotonic() + timeout_s
        for port in broker_ports:
            with self._as_node(port) as wire:
                while self._known(wire) < len(acls):
                    assert time.monotonic() < deadline, f"no ACLs on port {port}"
                    time.sleep(0.02)

    def _as_node(self, port: int) -> WireClient:
        wire = WireClient(port, tls=self.login.tls)
        wire.log_in(MECHANISM, NODE, NODE_PASSWORD)
        return wire

    def _known(self, wire: WireClient) -> int:
        request = DescribeAclsRequest(_ANY, None, _ANY, None, None, _ANY, _ANY)
        return sum(len(resource.acls) for resource in wire.call(request, 3).resources)
