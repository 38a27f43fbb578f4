"""The secured listeners of a peer, beside its plain one: TLS, mTLS, SCRAM-SHA-512 without TLS.

ACLs apply to users that log in. Clients without a login, such as the harness and the loads through
TLS, may do everything.

All peers get the same settings and the same certificates: P-256 keys, signed with SHA-256, and only
TLS 1.3, so that all do the same work. The certificates are those of the tests, made once a process.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import ssl
import tempfile
from importlib import import_module
from pathlib import Path

from bench.wire import Wire
from broker.config.authorizer import STANDARD_AUTHORIZER
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from tests.tools.apache_kafka import HOST
from tests.tools.ports import Ports

USER = "alice"
PASSWORD = "alice-secret"
ITERATIONS = 4096
SHA_512 = 2
"""The number of the mechanism in AlterUserScramCredentials."""

_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured:
    """The ports and files of one peer's secured listeners."""

    def __init__(self) -> None:
        # Imported here: scenarios without TLS need no library for certificates.
        certificates = import_module("tests.certificates")
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-bench-tls-"))
        self._held = Ports()
        self.tls_port, self.mtls_port, self.scram_port = (self._held.take() for _ in range(3))
        self._keystore = self._folder / "keystore.pem"
        self.authority = self._folder / "authority.pem"
        self.client = self._folder / "client.pem"
        server, client = certificates.server(), certificates.client()
        self._keystore.write_text(server.key_pem() + server.chain_pem)
        self.authority.write_text(certificates.authority().certificate_pem)
        self.client.write_text(client.key_pem() + client.chain_pem)

    def properties(self, listeners: str) -> dict[str, str]:
        """Return the settings of a node with these plain listeners and the secured ones."""
        return {
            "listeners": (
                f"{listeners},TLS://{HOST}:{self.tls_port},MTLS://{HOST}:{self.mtls_port},"
                f"SCRAM://{HOST}:{self.scram_port}"
            ),
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,MTLS:SSL,SCRAM:SASL_PLAINTEXT"
            ),
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "ssl.enabled.protocols": "TLSv1.3",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_LOGIN_MODULE} required;",
        }

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a client without a certificate."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context

    def add_user(self, port: int) -> None:
        """Create the user of the SCRAM logins. Raises RuntimeError if the broker refuses."""
        salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), salt, ITERATIONS)
        user = ScramCredentialUpsertion(USER, SHA_512, ITERATIONS, salt, salted)
        wire = Wire(port)
        (result,) = wire.ask(AlterUserScramCredentialsRequest([], [user]), 0).results
        wire.close()
        if result.error_code:
            raise RuntimeError(f"the user {USER} is refused: {result.error_message}")

    def close(self) -> None:
        """Remove the files, and give the ports back."""
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)
