"""A broker process with a listener of each secured kind, and what it is measured by.

    PLAINTEXT   for the tests themselves
    REQUIRED    SSL, and a certificate has to be shown
    REQUESTED   SSL, and one may be shown
    SASL        SASL_PLAINTEXT: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    BOTH        SASL_SSL, the same mechanisms

`alice` is a user of all mechanisms. Owns the process; never: an attack.
"""

from __future__ import annotations

import os
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import psutil

from broker.security.tls.contexts import client_context
from controller.metadata.scram_credential import SCRAM_MECHANISMS, salted_password
from ottla.testing.broker_process import HOST, BrokerProcess
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from tests import certificates
from tests.clients.wire_client import WireClient
from tests.tools.ports import Ports

LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "REQUIRED": "SSL",
    "REQUESTED": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USER, PASSWORD = "alice", "Alice-Secret"
REFUSAL_DELAY_MS = 20
LOGIN_TIMEOUT_MS = 10_000
SCRAM_ITERATIONS = 4096
_SALT = b"0123456789abcdef"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class SecuredBroker(BrokerProcess):
    """See the module. To be started by `with`; then `add_users`."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self._held = Ports()
        self.ports = {name: self._held.take() for name in LISTENERS}
        self._metrics_port = self._held.take()
        keys = {**self._keys(folder), **(properties or {})}
        super().__init__(keys, port=self.ports["PLAINTEXT"])

    def _keys(self, folder: Path) -> dict[str, str]:
        certificates.pem_files(folder, certificates.server())
        addresses = [f"{name}://{HOST}:{port}" for name, port in self.ports.items()]
        keys = {
            "listeners": ",".join(addresses) + f",CONTROLLER://{HOST}:0",
            "listener.security.protocol.map": ",".join(
                [*(f"{name}:{kind}" for name, kind in LISTENERS.items()), "CONTROLLER:PLAINTEXT"]
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "keystore.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "truststore.pem"),
            "listener.name.required.ssl.client.auth": "required",
            "listener.name.requested.ssl.client.auth": "requested",
            # Else the system lets those wait for a second who come a hundred at once.
            "socket.listen.backlog.size": "1024",
            # Other tests may run between two of these, for longer than ten minutes, and the
            # bystander's connection is to be there still.
            "connections.max.idle.ms": "-1",
            "connection.failed.authentication.delay.ms": str(REFUSAL_DELAY_MS),
            "ottla.authentication.timeout.ms": str(LOGIN_TIMEOUT_MS),
            "ottla.metrics.port": str(self._metrics_port),
        }
        for listener in ("sasl", "both"):
            prefix = f"listener.name.{listener}"
            keys[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            keys[f"{prefix}.plain.sasl.jaas.config"] = (
                f'{_PLAIN} required user_{USER}="{PASSWORD}";'
            )
            for name in MECHANISMS[1:]:
                keys[f"{prefix}.{name.lower()}.sasl.jaas.config"] = f"{_SCRAM} required;"
        return keys

    def close(self) -> None:
        """Close as a `BrokerProcess` does, and give the ports back."""
        super().close()
        self._held.close()

    def add_users(self) -> None:
        """`alice` of SCRAM; PLAIN has her from the start."""
        for number, name in enumerate(MECHANISMS[1:], 1):
            mechanism = SCRAM_MECHANISMS[name]
            salted = salted_password(mechanism, PASSWORD, _SALT, SCRAM_ITERATIONS)
            one = ScramCredentialUpsertion(USER, number, SCRAM_ITERATIONS, _SALT, salted)
            with WireClient(self.port) as client:
                request = AlterUserScramCredentialsRequest([], [one])
                (result,) = client.call(request, 0).results
            assert result.error_code == 0, result.error_message

    # --- what it is measured by ------------------------------------------------------------------

    @property
    def descriptors(self) -> int:
        """Open ones of the process."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def resident_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    def counters(self) -> dict[str, float]:
        """Every counter of its metrics, with its labels, that is not zero."""
        url = f"http://localhost:{self._metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        found = {}
        for line in lines:
            name, _, value = line.rpartition(" ")
            if not line.startswith("#") and name.partition("{")[0].endswith("_total"):
                found[name] = float(value)
        return {name: value for name, value in found.items() if value}

    def logins(self, what: str = "successful") -> int:
        """Over all listeners; or "failed"."""
        name = f"kafka_server_socket_server_metrics_{what}_authentication_total"
        counted = self.counters().items()
        return int(sum(value for key, value in counted if key.startswith(name)))

    def handled(self) -> dict[str, float]:
        """Requests that were handled, by API."""
        start = 'kafka_network_requestmetrics_requests_total{request="'
        return {
            key.removeprefix(start).rstrip('"}'): value
            for key, value in self.counters().items()
            if key.startswith(start)
        }


def tls_of(identity: certificates.Identity | None) -> ssl.SSLContext:
    """A client's context that shows this certificate."""
    return client_context("", certificates.pem_values(identity))
