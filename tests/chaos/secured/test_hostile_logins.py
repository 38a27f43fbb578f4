"""SASL by those who have no password: tokens of all sizes, heard messages said again, guesses.

CVE-2017-12610, CVE-2024-56128. Whoever is refused hears error 58, or nothing, and is closed.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time

import pytest

from broker.config.security_settings import Secret
from broker.security.sasl.scram_client import SaltedPasswords, ScramClient
from controller.metadata.scram_credential import SCRAM_MECHANISMS
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.chaos.secured.conftest import Siege
from tests.chaos.secured.secured_broker import MECHANISMS, PASSWORD, USER
from tests.chaos.secured.storm import answers_in, storm
from tests.clients.wire_client import WireClient

FRAME_MAX = 524_288  # sasl.server.max.receive.size
HEAD = len(encode_request(SaslAuthenticateRequest(b""), 1, 2, "x")) - 4
LARGEST = FRAME_MAX - HEAD
EDGES = [LARGEST - 1, LARGEST, LARGEST + 1, FRAME_MAX, FRAME_MAX + 1, 600_000]
SCRAM = "SCRAM-SHA-256"
GUESSES, GUESSERS = 600, 6
LOGGED_PER_SECOND = 10
FAILED = int(ErrorCode.SASL_AUTHENTICATION_FAILED)


def handshake(mechanism: str, version: int = 1) -> bytes:
    return encode_request(SaslHandshakeRequest(mechanism), version, 1, "x")


def token(data: bytes) -> bytes:
    return encode_request(SaslAuthenticateRequest(data), 1, 2, "x")


def bare(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def refused(answer: bytes) -> bool:
    said = decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(answer), 1)[1]
    return said.error_code == FAILED and not said.auth_bytes


# --- sizes ----------------------------------------------------------------------------------------


def sizes(rng: random.Random) -> list[int]:
    return [*range(40), *(int(2 ** rng.uniform(5, 19)) for _ in range(40)), *EDGES]


def filled(rng: random.Random, size: int) -> bytes:
    """Bytes that a mechanism may take for something."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(size)
    word = (b"\0", b"n,,n=alice,r=", b"\0alice\0", b"c=biws,r=,p=")[kind - 1]
    return (word * (size // len(word) + 1))[:size]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_tokens_of_every_size(siege: Siege, mechanism: str) -> None:
    rng = random.Random(mechanism)
    tokens = [filled(rng, size) for size in sizes(rng)] * siege.times
    sent = [handshake(mechanism) + token(one) * 2 for one in tokens]
    for one, received in zip(tokens, storm(siege.ports["SASL"], sent, at_once=20), strict=True):
        answers = answers_in(received)
        if len(one) > LARGEST:
            assert len(answers) == 1, (len(one), received[:200])
        elif len(answers) == 2:
            assert refused(answers[1]), (one[:60], answers)
        else:  # the first message of SCRAM may be one; not twice
            assert len(answers) == 3 and mechanism != "PLAIN" and refused(answers[2]), one[:60]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bare_tokens_of_every_size(siege: Siege, mechanism: str) -> None:
    rng = random.Random(mechanism)
    tokens = [filled(rng, size) for size in sizes(rng)] * siege.times
    sent = [handshake(mechanism, 0) + bare(one) * 2 for one in tokens]
    for one, received in zip(tokens, storm(siege.ports["SASL"], sent, at_once=20), strict=True):
        answers = answers_in(received)
        most = 1 if len(one) > FRAME_MAX or mechanism == "PLAIN" else 2
        assert 1 <= len(answers) <= most, (one[:60], answers)


def test_sizes_that_lie(siege: Siege) -> None:
    """The length of the token inside its frame, and the frame's own."""
    good = token(b"\0alice\0wrong")
    place = 4 + HEAD - 4
    sent = []
    for lie in (-(2**31), -2, -1, 13, 14, FRAME_MAX, 2**31 - 1):
        inside = good[:place] + struct.pack(">i", lie) + good[place + 4 :]
        sent.append(handshake("PLAIN") + inside)
        if not 0 <= lie <= FRAME_MAX:
            sent.append(handshake("PLAIN") + struct.pack(">i", lie) + good[4:])
            sent.append(struct.pack(">i", lie) + good[4:])
    for data, received in zip(sent, storm(siege.ports["SASL"], sent), strict=True):
        assert len(answers_in(received)) <= 1, (data, received)


# --- what was heard is said again -----------------------------------------------------------------


class Talk:
    """One connection that says tokens as a test likes."""

    def __init__(self, port: int, mechanism: str = SCRAM) -> None:
        self._client = WireClient(port)
        assert self._client.call(SaslHandshakeRequest(mechanism), 1).error_code == 0

    def say(self, data: bytes) -> tuple[int, bytes]:
        """The error, and the server's token."""
        answer = self._client.call(SaslAuthenticateRequest(data), 1)
        return answer.error_code, answer.auth_bytes

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def overheard(siege: Siege) -> tuple[bytes, bytes, bytes]:
    """A good login's two messages of the client, and the first of the server."""
    mechanism = SCRAM_MECHANISMS[SCRAM]
    client = ScramClient(USER, SaltedPasswords(mechanism, Secret(PASSWORD)), lambda: "heard")
    with Talk(siege.ports["SASL"]) as talk:
        _, server_first = talk.say(first := client.first())
        final = client.challenge(server_first)
        assert final is not None
        code, _ = talk.say(final)
        assert code == 0
        siege.let_in += 1
        assert talk.say(final)[0] == int(ErrorCode.ILLEGAL_SASL_STATE)
    return first, server_first, final


def test_heard_messages_let_nobody_in(siege: Siege) -> None:
    first, server_first, final = overheard(siege)
    old_nonce = server_first.split(b",")[0]
    for _ in range(50 * siege.times):
        with Talk(siege.ports["SASL"]) as talk:
            code, other = talk.say(first)
            new_nonce = other.split(b",")[0]
            assert code == 0 and new_nonce != old_nonce, "the server's nonce is new each time"
            assert talk.say(final)[0] == FAILED
        with Talk(siege.ports["SASL"]) as talk:
            new_nonce = talk.say(first)[1].split(b",")[0]
            assert talk.say(final.replace(old_nonce, new_nonce))[0] == FAILED
    for words in ([final], [first, first], [first, b""], [first, server_first]):
        with Talk(siege.ports["SASL"]) as talk:
            *_, (code, _) = [talk.say(word) for word in words]
            assert code == FAILED, words
    with Talk(siege.ports["SASL"], "SCRAM-SHA-512") as talk:
        talk.say(first)
        assert talk.say(final)[0] == FAILED


def test_a_nonce_of_the_server_is_never_given_twice(siege: Siege) -> None:
    sent = [handshake(SCRAM) + token(b"n,,n=alice,r=same") + token(b"")] * 300
    seen = set()
    for received in storm(siege.ports["SASL"], sent):
        answers = answers_in(received)
        said = decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(answers[1]), 1)[1]
        seen.add(said.auth_bytes.split(b",")[0])
    assert len(seen) == 300


@pytest.mark.parametrize(
    "mechanism", ["OAUTHBEARER", "GSSAPI", "plain", "ANONYMOUS", "", "x" * 300]
)
def test_mechanisms_that_are_not_enabled(siege: Siege, mechanism: str) -> None:
    """Behind them a token without a signature, and one of PLAIN."""
    unsigned = b"n,,\1auth=Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.\1\1"
    for said in (unsigned, f"\0{USER}\0{PASSWORD}".encode()):
        (received,) = storm(siege.ports["SASL"], [handshake(mechanism) + token(said)])
        (answer,) = answers_in(received)
        told = decode_response(ApiKey.SASL_HANDSHAKE, memoryview(answer), 1)[1]
        assert told.error_code == int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)


# --- guesses --------------------------------------------------------------------------------------


def test_a_flood_of_wrong_passwords_fills_no_log(siege: Siege) -> None:
    failed = siege.broker.logins("failed")
    guesses = GUESSES * siege.times
    began_s = time.monotonic()

    def guess(number: int) -> None:
        mechanism = MECHANISMS[number % 2]
        for attempt in range(guesses // GUESSERS):
            said = f"\0{USER}\0guess-{number}-{attempt}".encode()
            if mechanism != "PLAIN":
                said = b"n,,n=nobody%d,r=x" % attempt
            with socket.create_connection(("127.0.0.1", siege.ports["SASL"]), timeout=60) as peer:
                peer.sendall(handshake(mechanism) + token(said) + token(b"c=biws,r=x,p=eA=="))
                while peer.recv(1 << 16):
                    pass

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(GUESSERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began_s
    assert siege.broker.logins("failed") - failed == guesses
    logged = siege.logged()
    lines = [line for line in logged.splitlines() if "Failed authentication" in line]
    assert 0 < len(lines) <= (seconds + 2) * LOGGED_PER_SECOND
    assert "guess-" not in logged
