"""Requests cut into single bytes, thousands at once, peers that vanish: order per connection holds.

What is sent here is right; only how it arrives, or is taken, is not.
"""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from ottla.testing.broker_process import BrokerProcess
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest
from protocol.records import Record
from tests.batches import build_batch
from tests.chaos.witness import Hostile, frame, request_head
from tests.golden.damaged_batches import Asker, create_topic, produce
from tests.tools.waiting import wait_until

PIPELINED = 10_000
LARGE_BYTES = 900_000


def fetch(correlation_id: int, topic: str, max_wait_ms: int, min_bytes: int) -> bytes:
    """A whole Fetch v11 frame from offset 0."""
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=50_000_000)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=50_000_000,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    return encode_request(request, 11, correlation_id, "torn")


@pytest.fixture(scope="module")
def large_topic(broker: BrokerProcess) -> str:
    """A topic whose Fetch answer fills any socket's buffers."""
    with Asker(broker.port) as asker:
        create_topic(asker, "large")
        batch = bytes(build_batch([Record(-1, 0, None, bytes(LARGE_BYTES))]))
        for _ in range(20):
            assert produce(asker, 9, batch, "large").error_code == 0
    return "large"


def test_one_byte_at_a_time(unharmed: BrokerProcess) -> None:
    data = encode_request(MetadataRequest(topics=None), 9, 5, "torn")
    data += frame(request_head(18, 0, 6))

    def answers() -> list[bytes]:
        with Hostile(unharmed.port) as peer:
            for index in range(len(data)):
                peer.send(data[index : index + 1])
            found = [answer for answer in (peer.outcome(), peer.outcome()) if answer]
        return found if len(found) == 2 else []

    # A machine that is busy may hold this process up for longer than a frame may take.
    first, second = wait_until(answers, "two answers to single bytes")
    correlation_id, metadata = decode_response(ApiKey.METADATA, memoryview(first), 9)
    assert correlation_id == 5 and metadata.brokers
    assert second[:4] == b"\0\0\0\x06"


def test_thousands_of_pipelined_requests_are_answered_in_order(unharmed: BrokerProcess) -> None:
    data = b"".join(frame(request_head(18, 0, number)) for number in range(PIPELINED))
    with socket.create_connection(("127.0.0.1", unharmed.port), timeout=90) as peer:
        sender = threading.Thread(target=peer.sendall, args=(data,))
        sender.start()
        received = b""
        numbers = []
        while len(numbers) < PIPELINED:
            chunk = peer.recv(1 << 20)
            assert chunk, "the broker closed"
            received += chunk
            position = 0
            while len(received) - position >= 8:
                size, number = struct.unpack_from(">ii", received, position)
                if len(received) - position < 4 + size:
                    break
                numbers.append(number)
                position += 4 + size
            received = received[position:]
        sender.join()
        assert numbers == list(range(PIPELINED))


def test_a_request_behind_a_long_poll_waits_for_it(
    unharmed: BrokerProcess, large_topic: str
) -> None:
    with Hostile(unharmed.port) as peer:
        waits = fetch(1, large_topic, 300, 2**31 - 1)
        peer.send(waits + frame(request_head(18, 0, 2)))
        answers = [peer.outcome(), peer.outcome()]
    assert [(answer or b"")[:4] for answer in answers] == [b"\0\0\0\x01", b"\0\0\0\x02"]


def test_peers_that_vanish_in_the_midst_of_an_answer(
    unharmed: BrokerProcess, large_topic: str
) -> None:
    for number in range(30):
        peer = socket.create_connection(("127.0.0.1", unharmed.port), timeout=60)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sendall(fetch(number, large_topic, 0, 1) * 3)
        if number % 2:
            assert peer.recv(1000)
        peer.close()  # resets


def test_peers_that_never_read(unharmed: BrokerProcess, large_topic: str) -> None:
    import psutil

    before = psutil.Process(unharmed.pid).memory_info().rss
    peers = [Hostile(unharmed.port) for _ in range(20)]
    for peer in peers:
        peer.send(fetch(1, large_topic, 0, 1) * 20)
    with Asker(unharmed.port) as asker:
        assert asker.ask(MetadataRequest(topics=None), 9).brokers
    assert psutil.Process(unharmed.pid).memory_info().rss - before < 30_000_000
    for peer in peers:
        peer.close()
