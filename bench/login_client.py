"""`python -m bench.login_client mtls|scram PORT AUTHORITY [CLIENT]`: logs in again and again.

Each line of standard input is a number of seconds. The process logs in for that time, each time on
a new connection, and prints a line of JSON: seconds, its CPU, and the time of each login. A login
ends with the answer to ApiVersions. A process has one connection at a time; `bench.logins` runs
several processes.

The client must not be the limit: its frames are encoded beforehand, the password's 4,096 rounds are
computed once for a salt (clients may cache them), and TLS is OpenSSL's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import ssl
import sys
import time
from collections.abc import Callable
from functools import cache

from bench.idle import API_VERSIONS_FRAME
from bench.secured import PASSWORD, USER
from bench.wire import Wire
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

MTLS = "mtls"
SCRAM = "scram"
MECHANISM = "SCRAM-SHA-512"


def by_mtls(port: int, context: ssl.SSLContext) -> None:
    """Log in once by certificate, with a full handshake: no session is resumed."""
    _ask_once(Wire(port, context))


def by_scram(port: int) -> None:
    """Log in once by SCRAM-SHA-512."""
    _ask_once(logged_in_by_scram(port))


def logged_in_by_scram(port: int) -> Wire:
    """Return a connection after a SCRAM login of four messages, with the server's proof checked.

    Raises RuntimeError if the broker rejects the login or its proof is wrong.
    """
    wire = Wire(port)
    if error := wire.ask(SaslHandshakeRequest(MECHANISM), 1).error_code:
        raise RuntimeError(f"SaslHandshake is refused: error {error}")
    nonce = secrets.token_urlsafe(18)
    first = f"n={USER},r={nonce}"
    challenge = _authenticate(wire, f"n,,{first}")
    attributes = dict(part.split("=", 1) for part in challenge.split(","))
    if not attributes["r"].startswith(nonce):
        raise RuntimeError("the server's nonce is not ours")
    client_key, stored_key, server_key = keys(attributes["s"], int(attributes["i"]))
    last = f"c=biws,r={attributes['r']}"
    covered = f"{first},{challenge},{last}".encode()
    signature = hmac.digest(stored_key, covered, "sha512")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = _authenticate(wire, f"{last},p={base64.b64encode(proof).decode()}")
    if answer != f"v={base64.b64encode(hmac.digest(server_key, covered, 'sha512')).decode()}":
        raise RuntimeError("the server does not know the password")
    return wire


@cache
def keys(salt: str, iterations: int) -> tuple[bytes, bytes, bytes]:
    """Return ClientKey, StoredKey and ServerKey of RFC 5802."""
    salted = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), base64.b64decode(salt), iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    return (
        client_key,
        hashlib.sha512(client_key).digest(),
        hmac.digest(salted, b"Server Key", "sha512"),
    )


def _authenticate(wire: Wire, token: str) -> str:
    """Send a SASL token and return the broker's. Raises RuntimeError if it is rejected."""
    answer = wire.ask(SaslAuthenticateRequest(token.encode()), 1)
    if answer.error_code:
        raise RuntimeError(f"error {answer.error_code}: {answer.error_message}")
    return bytes(answer.auth_bytes).decode()


def _ask_once(wire: Wire) -> None:
    wire.socket.sendall(API_VERSIONS_FRAME)
    wire.skip_response()
    wire.close()


def log_in_for(seconds: float, log_in: Callable[[], None]) -> dict[str, object]:
    """Log in for so long, at least once, and return the fields of the module's JSON."""
    clock, trips = time.perf_counter, list[float]()
    cpu = time.process_time()
    began = now = clock()
    while not trips or now < began + seconds:
        log_in()
        trips.append(clock() - now)
        now += trips[-1]
    return {"seconds": now - began, "cpu_s": time.process_time() - cpu, "trips": trips}


def main(words: list[str]) -> int:
    """Log in for each line of standard input, until it ends."""
    kind, port, authority = words[0], int(words[1]), words[2]
    if kind == MTLS:
        context = ssl.create_default_context(cafile=authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(words[3])

        def log_in() -> None:
            by_mtls(port, context)
    else:

        def log_in() -> None:
            by_scram(port)

    for line in sys.stdin:
        print(json.dumps(log_in_for(float(line), log_in)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
