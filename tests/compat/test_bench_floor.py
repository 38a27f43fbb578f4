"""The servers in C that stand for a broker: they write and send what one would, to the byte."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.batches import producing
from bench.floor import BATCHES_SOURCE, SOURCE, FloorPeer
from bench.peers import BenchPeer, start_peer
from bench.replayer import ReplayedConnection, replay_targets
from bench.wire import Wire, create_topic, end_offset, produce_frame
from protocol.messages.metadata import MetadataRequest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the floor is C: cc is missing")


@pytest.fixture(scope="module")
def broker() -> Iterator[BenchPeer]:
    started = start_peer("ottla")
    yield started
    started.stop()


def request(words: bytes) -> bytes:
    return len(words).to_bytes(4, "big") + words


def ask(connection: socket.socket, words: bytes) -> bytes:
    """The whole answer but for its length."""
    connection.sendall(request(words))
    with connection.makefile("rb", buffering=0) as stream:
        size = int.from_bytes(exactly(stream.read, 4), "big")
        return exactly(stream.read, size)


def exactly(read, size: int) -> bytes:  # type: ignore[no-untyped-def]
    data = b""
    while len(data) < size:
        part = read(size - len(data))
        assert part, "it hung up"
        data += part
    return data


@pytest.mark.parametrize("mode", ["append", "look"])
def test_what_ends_a_request_goes_to_the_end_of_the_file(mode: str) -> None:
    with FloorPeer(SOURCE, mode, 3, 12) as floor:
        # One connection after the other, as the replayer makes one for each window.
        for words in (b"head one", b"head two"):
            with socket.create_connection(("127.0.0.1", floor.port), timeout=90) as connection:
                assert ask(connection, words) == bytes(8)
        assert floor.file_bytes == 6
        assert Path(floor.file_name).read_bytes() == b"onetwo"
        done = replay_targets([ReplayedConnection(floor.port, [request(b"abc")])], 30, most=40)
        assert (done.answers, done.received_bytes) == (40, 40 * 12)
        assert floor.file_bytes == 6 + 40 * 3
        assert floor.cpu_seconds() > 0


def test_parts_of_the_file_follow_the_head_in_turn() -> None:
    parts = [bytes([number]) * 300_000 for number in range(3)]
    with (
        FloorPeer(SOURCE, "send", 300_000, 20, data=b"".join(parts)) as floor,
        socket.create_connection(("127.0.0.1", floor.port), timeout=90) as connection,
    ):
        for number in range(5):
            assert ask(connection, b"more") == bytes(16) + parts[number % 3]


def test_one_that_cannot_start_says_why() -> None:
    with pytest.raises(RuntimeError, match="ANSWER"):
        FloorPeer(SOURCE, "append", 3, 2)


def test_only_the_first_batch_of_a_connection_is_the_brokers(broker: BenchPeer) -> None:
    create_topic(broker.port, "frames")
    frame = produce_frame("frames", 0, 100)
    with FloorPeer(BATCHES_SOURCE, broker.port) as floor:
        for connections in (1, 2):
            with socket.create_connection(("127.0.0.1", floor.port), timeout=90) as connection:
                answers = set()
                for number in range(3):
                    correlation_id = number.to_bytes(4, "big")
                    answer = ask(connection, frame[4:8] + correlation_id + frame[12:])
                    assert answer[:4] == correlation_id
                    answers.add(answer[4:])
                assert len(answers) == 1
            assert end_offset(broker.port, "frames", 0) == connections
            assert floor.file_bytes == connections * 2 * len(frame)
        assert Path(floor.file_name).read_bytes()[12 : len(frame)] == frame[12:]


def test_a_stock_client_takes_it_for_the_broker(broker: BenchPeer) -> None:
    create_topic(broker.port, "stock", 2)
    with FloorPeer(BATCHES_SOURCE, broker.port) as floor:
        wire = Wire(floor.port)
        assert [one.port for one in wire.ask(MetadataRequest([]), 8).brokers] == [floor.port]
        wire.close()
        values = [bytes([number]) * 100 for number in range(10)]
        with producing(floor.bootstrap, values, {"linger.ms": 0}, 2) as produce:
            sent = [produce("stock", 0.2), produce("stock", 0.2)]
        assert floor.file_bytes > 100 * sum(sent[1])
        assert end_offset(broker.port, "stock", 1) < sent[0][1] + sent[1][1]
