"""The secured form of a cluster of processes: what its nodes are told, and how clients log in.

Clients and brokers reach brokers over SASL_SSL (PLAIN), controllers are reached over TLS with
certificates from both sides. Owns the keys of the configuration and the stores in a folder. Never:
a process.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import ssl
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.config.security_settings import JaasEntry, MechanismSettings, Secret
from broker.security.sasl.client_authenticator import SaslClient
from broker.security.sasl.mechanism_factory import client_mechanism
from tests.certificates import pem_files, server

CLIENTS, BROKERS, CONTROLLERS = "CLIENTS", "INTERNAL", "CONTROLLER"
NODE, NODE_PASSWORD = "node", "node-secret"
USER, PASSWORD = "client", "client-secret"
MECHANISM = "PLAIN"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class ClusterLogin:
    """How a client comes to be let in."""

    tls: ssl.SSLContext
    certificate: str
    authority: str

    async def log_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """On a connection over TLS. SaslRefused, OSError, asyncio.IncompleteReadError."""
        options = {"username": Secret(USER), "password": Secret(PASSWORD)}
        settings = MechanismSettings(MECHANISM, JaasEntry("", options))
        mechanism = client_mechanism(settings, lambda: secrets.token_hex(16))()
        login = SaslClient(MECHANISM, mechanism, "chaos", itertools.count(1).__next__)
        frame: bytes | None = login.begin()
        while frame is not None:
            writer.write(frame)
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = login.received(memoryview(await reader.readexactly(size)))

    def of_librdkafka(self) -> dict[str, str]:
        """Keys of confluent-kafka."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.authority,
            "sasl.mechanism": MECHANISM,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }

    def of_python_clients(self) -> dict[str, Any]:
        """Arguments of kafka-python and aiokafka."""
        return {
            "security_protocol": "SASL_SSL",
            "ssl_context": self.tls,
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
        }


class ClusterSecurity:
    """Of one cluster."""

    def __init__(self, folder: Path) -> None:
        self._stores = pem_files(folder, server())
        keystore, truststore = self._stores.keystore_location, self._stores.truststore_location
        assert keystore is not None and truststore is not None
        context = ssl.create_default_context(cafile=truststore)
        context.load_cert_chain(keystore)
        self.login = ClusterLogin(context, keystore, truststore)

    def properties(self) -> dict[str, str]:
        """Of every node."""
        kinds = {CLIENTS: "SASL_SSL", BROKERS: "SASL_SSL", CONTROLLERS: "SSL"}
        jaas = (
            f'{_MODULE} username="{NODE}" password="{NODE_PASSWORD}" '
            f'user_{NODE}="{NODE_PASSWORD}" user_{USER}="{PASSWORD}";'
        )
        keys = {
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in kinds.items()),
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "listener.name.controller.ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.login.certificate,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.login.authority,
        }
        for name in (CLIENTS, BROKERS):
            prefix = f"listener.name.{name.lower()}"
            keys[f"{prefix}.sasl.enabled.mechanisms"] = MECHANISM
            keys[f"{prefix}.{MECHANISM.lower()}.sasl.jaas.config"] = jaas
        return keys
