"""One who logs in by raw frames, and keeps what goes to and fro: `sasl_cases` says what.

A recorded step has what was sent, in hex with its size left out unless `raw` is set, what came
back, and whether it came late: after `connection.failed.authentication.delay.ms`.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import time
from base64 import b64decode, b64encode
from typing import Any

from protocol.frames.message_codec import encode_request
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

CLOSED = "closed"
NOTHING = "nothing"
DELAY_MS = 300
"""What a failed login waits for in the broker that is recorded."""

ITERATIONS = 4096
SALT = bytes(range(1, 25))
NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
SCRAM_USERS = [
    ("alice", "SCRAM-SHA-256", "alice-secret"),
    ("bob", "SCRAM-SHA-512", "bob-secret"),
    ("a,b=c", "SCRAM-SHA-256", "comma"),
    ("ä", "SCRAM-SHA-256", "umlaut"),
    ("pässword", "SCRAM-SHA-512", "pässword"),
    ("utf", "SCRAM-SHA-256", "pässword"),
]
PLAIN_USERS = {"alice": "alice-secret", "bob": "bob-secret", "ä": "pässword", "empty": ""}


def salted(
    mechanism: str, password: str, salt: bytes = SALT, iterations: int = ITERATIONS
) -> bytes:
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def users_request() -> AlterUserScramCredentialsRequest:
    """The users that logins by SCRAM know."""
    return AlterUserScramCredentialsRequest(
        [],
        [
            ScramCredentialUpsertion(
                name, NUMBERS[mechanism], ITERATIONS, SALT, salted(mechanism, password)
            )
            for name, mechanism, password in SCRAM_USERS
        ],
    )


class Talk:
    """One connection, and what is kept of it."""

    def __init__(self, port: int, listener: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._correlation = 0
        self.kept: dict[str, Any] = {"listener": listener, "steps": []}

    # --- steps ----------------------------------------------------------------------------------

    def request(self, request: Any, version: int) -> bytes | None:
        """A request frame; the answer's frame, None where the connection is closed."""
        self._correlation += 1
        return self.frame(encode_request(request, version, self._correlation, "me")[4:])

    def handshake(self, mechanism: str, version: int = 1) -> bytes | None:
        return self.request(SaslHandshakeRequest(mechanism), version)

    def token(self, token: bytes, version: int = 2) -> bytes | None:
        """SaslAuthenticate: the whole answer."""
        return self.request(SaslAuthenticateRequest(token), version)

    def frame(self, frame: bytes) -> bytes | None:
        return self._step(frame, struct.pack(">i", len(frame)) + frame)

    def raw(self, data: bytes) -> bytes | None:
        """Bytes that are no frame."""
        return self._step(data, data, raw=True)

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)
        self.kept["steps"].append({"wait_ms": ms})

    def is_closed(self) -> None:
        """Keep whether the broker closes now, and whether late."""
        since = time.monotonic()
        last = self.kept["steps"][-1]
        self._socket.settimeout(DELAY_MS / 1000 * 2)
        try:
            last["then"] = CLOSED if not self._socket.recv(1) else "more"
        except TimeoutError:
            last["then"] = "open"
        except ConnectionError:
            last["then"] = CLOSED
        if last["then"] == CLOSED:
            last["closed_late"] = time.monotonic() - since > DELAY_MS / 1000 * 0.8
        self._socket.settimeout(10)

    def close(self) -> None:
        self._socket.close()

    # --- inside ---------------------------------------------------------------------------------

    def _step(self, sent: bytes, data: bytes, raw: bool = False) -> bytes | None:
        since = time.monotonic()
        step: dict[str, Any] = {"sent": sent.hex()}
        if raw:
            step["raw"] = True
        self.kept["steps"].append(step)
        try:
            self._socket.sendall(data)
            answer = self._receive()
        except TimeoutError:
            step["answer"] = NOTHING
            return None
        except ConnectionError:
            step["answer"] = CLOSED
            answer = None
        else:
            step["answer"] = answer.hex()
        if time.monotonic() - since > DELAY_MS / 1000 * 0.8:
            step["late"] = True
        return answer

    def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("closed")
            data += piece
        return bytes(data)


class Scram:
    """A client's half of SCRAM, that can be told to do each part wrong."""

    def __init__(self, talk: Talk, mechanism: str, version: int | None = 2) -> None:
        """`version` of SaslAuthenticate; None: bare tokens."""
        self._talk = talk
        self._mechanism = mechanism
        self._version = version
        self._first_bare = ""
        self.server_first = ""
        self.nonce = ""

    def _send(self, token: str | bytes) -> bytes | None:
        token = token.encode() if isinstance(token, str) else token
        if self._version is None:
            return self._talk.frame(token)
        return self._talk.token(token, self._version)

    def first(self, message: str) -> bytes | None:
        """The client's first message, with its gs2 header."""
        self._first_bare = message.split(",", 2)[-1]
        answer = self._send(message)
        if answer is not None and b"r=" in answer:
            text = answer[answer.index(b"r=") :].decode("latin-1")
            # What follows is the session's lifetime and tags.
            end = text.index(f"i={ITERATIONS}") + len(f"i={ITERATIONS}")
            self.server_first = text[:end]
            self.nonce = self.server_first.split(",")[0][2:]
        return answer

    def final(
        self,
        password: str,
        *,
        channel: str = "biws",
        nonce: str | None = None,
        extensions: str = "",
        signed_extensions: str | None = None,
        proof: bytes | None = None,
        message: str | None = None,
    ) -> bytes | None:
        """The client's last message."""
        if message is not None:
            return self._send(message)
        name = HASHES[self._mechanism]
        salt = b64decode(self.server_first.split(",")[1][2:])
        key = salted(self._mechanism, password, salt)
        client_key = hmac.digest(key, b"Client Key", name)
        stored_key = hashlib.new(name, client_key).digest()
        without = f"c={channel},r={self.nonce if nonce is None else nonce}{extensions}"
        signed = without
        if signed_extensions is not None:
            signed = without.removesuffix(extensions) + signed_extensions
        auth = ",".join([self._first_bare, self.server_first, signed])
        signature = hmac.digest(stored_key, auth.encode(), name)
        if proof is None:
            proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return self._send(f"{without},p={b64encode(proof).decode()}")
