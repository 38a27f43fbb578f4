"""Bytes that no client would send, over real sockets, to a broker that others go on using.

CVE-2022-34917, KIP-498 (TLS on a plain port), KIP-511. A complete frame that is no request is
answered with an error or closes its connection; an incomplete one is closed at its
deadline. The broker takes no memory for bytes that have not come.
"""

from __future__ import annotations

import random
import struct
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from ottla.testing.broker_process import BrokerProcess
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode, decode_response
from tests.chaos.conftest import PARTIAL_FRAME_TIMEOUT_MS
from tests.chaos.witness import (
    ANSWER_WITHIN_S,
    SILENT_S,
    Hostile,
    Witness,
    ask,
    frame,
    request_head,
    served_versions,
)
from tests.golden.traffic import TRAFFIC, mutation
from tests.messages.length_fields import lies, recorded
from tests.messages.message_values import case

pytestmark = pytest.mark.timeout(400)  # thousands of connections

REQUEST_MAX_BYTES = 104_857_600  # socket.request.max.bytes
MEGABYTE = 1_000_000
MUTATIONS = 12
LIES_PER_VERSION = 60
MAY_WAIT = {
    ApiKey.FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.PRODUCE,
    # A mutation that asks for a thousand partitions gets them, later.
    ApiKey.CREATE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
}
CLOSED = b""

TLS_CLIENT_HELLO = bytes.fromhex("16030100f5010000f10303") + bytes(range(200))
HTTP = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answered_within(key: int) -> float:
    """How long a request is given, in seconds, that may be right to have no answer yet."""
    return SILENT_S if key in MAY_WAIT else ANSWER_WITHIN_S


def rss_bytes(broker: BrokerProcess) -> int:
    """Memory of the process that is resident now."""
    return int(psutil.Process(broker.pid).memory_info().rss)


# --- N1: edge frames -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">i", -1), id="size -1"),
        pytest.param(struct.pack(">i", -(2**31)), id="size -2^31"),
        pytest.param(struct.pack(">i", REQUEST_MAX_BYTES + 1), id="size above the limit"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="size 2^31-1"),
        pytest.param(frame(b""), id="size 0"),
        pytest.param(frame(b"\0"), id="one byte"),
        pytest.param(frame(bytes(7)), id="header cut off"),
        pytest.param(frame(struct.pack(">hhi", 18, 0, 1)), id="no client id"),
        pytest.param(frame(struct.pack(">hhih", 18, 0, 1, 32767)), id="client id too long"),
        pytest.param(frame(struct.pack(">hhih", 3, 9, 1, -1) + b"\x01"), id="tags cut off"),
        pytest.param(frame(struct.pack(">hhih", 3, 9, 1, 2) + b"\xff\xfe"), id="client id no text"),
        pytest.param(HTTP, id="http"),
        pytest.param(TLS_CLIENT_HELLO, id="tls"),
        pytest.param(b"\xff" * 100, id="ff"),
        pytest.param(random.Random(1).randbytes(1000), id="random"),
        pytest.param(frame(random.Random(2).randbytes(1000)), id="random in a frame"),
    ],
)
def test_bytes_that_are_no_request_close_the_connection(
    unharmed: BrokerProcess, data: bytes
) -> None:
    assert ask(unharmed.port, data) == CLOSED


def test_a_null_client_id_is_fine(unharmed: BrokerProcess) -> None:
    answer = ask(unharmed.port, frame(struct.pack(">hhih", 18, 0, 77, -1)))
    assert answer and struct.unpack_from(">ih", answer) == (77, 0)


@pytest.mark.parametrize("key", [-(2**15), -1, 4, 5, 6, 7, 71, 72, 93, 9_999, 2**15 - 1])
def test_unknown_api_keys_close_the_connection(unharmed: BrokerProcess, key: int) -> None:
    """Metrics of clients (71, 72) are packed, and may be a bomb: CVE-2026-111073."""
    assert ask(unharmed.port, frame(request_head(key, 0) + bytes(20))) == CLOSED


def test_versions_that_are_not_served_close_the_connection(unharmed: BrokerProcess) -> None:
    for key, (oldest, latest) in served_versions(unharmed.port).items():
        if key == ApiKey.API_VERSIONS:
            continue
        if key == ApiKey.PRODUCE:
            oldest = 3  # says 0 for librdkafka's sake (KAFKA-18659)
        for version in (-(2**15), -1, oldest - 1, latest + 1, 2**15 - 1):
            if version == -1 or not oldest <= version <= latest:
                data = frame(request_head(key, version) + bytes(20))
                assert ask(unharmed.port, data) == CLOSED, (ApiKey(key).name, version)


@pytest.mark.parametrize("version", [6, 7, 99, 2**15 - 1])
def test_api_versions_too_new_is_answered_in_version_0(
    unharmed: BrokerProcess, version: int
) -> None:
    data = frame(request_head(18, version, 42, flexible=True) + b"\x03ot\x031\x00\x00")
    answer = ask(unharmed.port, data)
    assert answer
    correlation_id, response = decode_response(ApiKey.API_VERSIONS, memoryview(answer), 0)
    assert (correlation_id, response.error_code) == (42, 35)
    assert [(k.api_key, k.min_version) for k in response.api_keys] == [(18, 0)]


def test_requests_before_the_wrong_one_are_answered(unharmed: BrokerProcess) -> None:
    with Hostile(unharmed.port) as peer:
        peer.send(frame(request_head(18, 0, 1)) + frame(request_head(-1, 0, 2)))
        answer = peer.outcome()
        assert answer and answer[:4] == b"\0\0\0\x01"
        assert peer.outcome() == CLOSED


# --- incomplete frames ---------------------------------------------------------------------------


INCOMPLETE = {
    "a byte of the size": b"\0",
    "the size alone": struct.pack(">i", 100),
    "the largest size alone": struct.pack(">i", REQUEST_MAX_BYTES),
    "all but the last byte": frame(request_head(18, 0))[:-1],
    "after a whole request": frame(request_head(18, 0)) + b"\0\0",
}


def test_incomplete_frames_are_closed_at_their_deadline(unharmed: BrokerProcess) -> None:
    with ExitStack() as stack:
        started = time.monotonic()
        peers = {}
        for what, data in INCOMPLETE.items():
            peers[what] = stack.enter_context(Hostile(unharmed.port))
            peers[what].send(data)
        for what, peer in peers.items():
            while outcome := peer.outcome():
                pass
            assert outcome == CLOSED, what
            assert time.monotonic() - started > PARTIAL_FRAME_TIMEOUT_MS / 1000 * 0.5


def test_promised_bytes_reserve_no_memory(unharmed: BrokerProcess) -> None:
    before = rss_bytes(unharmed)
    peers = [Hostile(unharmed.port) for _ in range(100)]
    for peer in peers:
        peer.send(struct.pack(">i", REQUEST_MAX_BYTES) + bytes(1000))
    with Hostile(unharmed.port) as last:
        last.send(frame(request_head(18, 0)))
        assert last.outcome()
    assert rss_bytes(unharmed) - before < 20 * MEGABYTE
    for peer in peers:
        peer.close()


# --- N2: lengths that lie ------------------------------------------------------------------------


def lying_requests(key: int, version: int) -> list[bytes]:
    """Complete frames of this API whose body cannot be read, one lie each."""
    message = messages_of(ApiKey(key)).request
    rng = random.Random(f"{key} {version}")
    found = []
    for kind in ("random-1", "random-2"):
        body, fields = recorded(case(message.__name__).instance(version, kind), version)
        for field in fields:
            for lie in lies(body, field):
                try:
                    decode(message, memoryview(lie), 0, version)
                except ProtocolError:
                    flexible = version >= message.FLEXIBLE_FROM
                    found.append(frame(request_head(key, version, flexible=flexible) + lie))
    return rng.sample(found, min(len(found), LIES_PER_VERSION))


def test_lengths_that_lie_close_the_connection(unharmed: BrokerProcess) -> None:
    before = rss_bytes(unharmed)
    count = 0
    for key, (oldest, latest) in served_versions(unharmed.port).items():
        if key == ApiKey.PRODUCE:
            oldest = 3
        for version in range(oldest, latest + 1):
            for data in lying_requests(key, version):
                assert ask(unharmed.port, data) == CLOSED, (ApiKey(key).name, version, data.hex())
                count += 1
    assert count > 1_000
    assert rss_bytes(unharmed) - before < 50 * MEGABYTE


# --- N3: mutated traffic of real clients ---------------------------------------------------------


@pytest.mark.parametrize("path", TRAFFIC, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_mutated_traffic_is_answered_or_closed(unharmed: BrokerProcess, path: Path) -> None:
    rng = random.Random(f"{path.parent.name}/{path.name}")
    original = path.read_bytes()
    for _ in range(MUTATIONS):
        content = mutation(rng, original, rng.choice(TRAFFIC).read_bytes())
        key = int.from_bytes(content[:2], signed=True)
        outcome = ask(unharmed.port, frame(content), answered_within(key))
        assert outcome is not None or key in MAY_WAIT, content.hex()


# --- requests that can be read and mean nothing --------------------------------------------------


@pytest.mark.parametrize("kind", ["defaults", "random-1", "random-2", "nulls", "limits", "long"])
def test_meaningless_values_are_refused_as_values(unharmed: BrokerProcess, kind: str) -> None:
    for key, (oldest, latest) in served_versions(unharmed.port).items():
        message = messages_of(ApiKey(key)).request
        for version in range(max(oldest, message.MIN_VERSION), latest + 1):
            body, _ = recorded(case(message.__name__).instance(version, kind), version)
            flexible = version >= message.FLEXIBLE_FROM
            head = request_head(key, version, flexible=flexible)
            outcome = ask(unharmed.port, frame(head + body), answered_within(key))
            name = f"{ApiKey(key).name} v{version}"
            if outcome:
                decode_response(ApiKey(key), memoryview(outcome), version)
            else:
                # Produce with acks 0 closes when it fails, and is silent when it does not.
                assert key == ApiKey.PRODUCE or (outcome is None and key in MAY_WAIT), name


# --- others --------------------------------------------------------------------------------------


def test_another_client_is_not_disturbed(unharmed: BrokerProcess, witness: Witness) -> None:
    stop = threading.Event()
    served = served_versions(unharmed.port)
    attacks = [
        TLS_CLIENT_HELLO,
        HTTP,
        struct.pack(">i", REQUEST_MAX_BYTES) + bytes(100),
        *lying_requests(ApiKey.METADATA, served[ApiKey.METADATA][1])[:20],
    ]

    def attack() -> None:
        while not stop.is_set():
            for data in attacks:
                with Hostile(unharmed.port) as peer:
                    peer.send(data)

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        for _ in range(50):
            witness.checks_in()
    finally:
        stop.set()
        thread.join()
