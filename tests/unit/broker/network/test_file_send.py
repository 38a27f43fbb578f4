"""ResponseSender: bytes and file slices, in order, whatever the socket and the disk do."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
from pathlib import Path
from typing import Any

import pytest

from broker.network import file_send, socket_calls
from broker.network.file_send import COPIED_BYTES, ResponseSender
from broker.network.file_slice import CHUNK_BYTES, PROBE_BYTES, SMALL_SLICE_BYTES, SliceEnded
from ground import platform_calls
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import until
from tests.unit.broker.network.sending import (
    NO_WAIT,
    HeldBlocking,
    Pipe,
    Slice,
    look_and_find_all,
    look_by,
)


@pytest.fixture(autouse=True)
def warm():
    """Every file, where a test says nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        look_and_find_all(patch)
        yield


@pytest.fixture
async def pipe():
    made = Pipe()
    yield made
    made.close()


@pytest.fixture
async def narrow():
    made = Pipe(small_buffers=True)
    yield made
    made.close()


@pytest.fixture
def log(tmp_path: Path):
    """A warm file of a few chunks with content that shows what is missing."""
    content = random.Random(7).randbytes(3 * CHUNK_BYTES + 12345)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    yield fd, content
    os.close(fd)


async def test_one_piece(pipe: Pipe):
    assert pipe.sender.send(b"hello")
    assert await pipe.receive(5) == b"hello"
    assert pipe.sender.sent_bytes == 5
    assert pipe.sender.pending_bytes == 0


async def test_bytes_the_socket_does_not_take_follow_in_order(narrow: Pipe):
    data = random.Random(1).randbytes(1_000_000)
    assert not narrow.sender.send(data[:600_000])
    assert not narrow.sender.send(data[600_000:])
    assert 0 < narrow.sender.pending_bytes < 1_000_000
    assert await narrow.receive(1_000_000) == data
    await narrow.drained.wait()
    assert narrow.sender.pending_bytes == 0


@pytest.mark.parametrize("kind", ["pipe", "narrow"])
async def test_headers_and_slices_keep_their_order(
    kind: str, request: pytest.FixtureRequest, log: tuple[int, bytes], pipe: Pipe, narrow: Pipe
):
    way = pipe if kind == "pipe" else narrow
    fd, content = log
    expected = b""
    position = 0
    sizes = [100, SMALL_SLICE_BYTES, SMALL_SLICE_BYTES + 1, 1, CHUNK_BYTES + 7, 0, 60_000]
    for number, size in enumerate(sizes):
        header = b"header %d;" % number
        way.sender.push(header)
        way.sender.push(Slice(fd, position, size))
        expected += header + content[position : position + size]
        position += size
    way.sender.push(b"tagged fields")
    expected += b"tagged fields"
    assert way.sender.pending_bytes == len(expected)
    if not way.sender.flush():
        assert not way.drained.is_set()
    assert await way.receive(len(expected)) == expected
    assert way.sender.pending_bytes == 0
    assert way.sender.sent_bytes == len(expected)
    assert way.blocking.jobs == []


async def test_a_slice_only(pipe: Pipe, log: tuple[int, bytes]):
    fd, content = log
    pipe.sender.push(Slice(fd, 0, len(content)))
    pipe.sender.flush()
    assert await pipe.receive(len(content)) == content
    await pipe.drained.wait()


async def test_many_parts(pipe: Pipe, log: tuple[int, bytes]):
    fd, content = log
    expected = b""
    for number in range(1500):
        pipe.sender.push(b"%04d" % number)
        pipe.sender.push(Slice(fd, number, 10))
        expected += b"%04d" % number + content[number : number + 10]
    pipe.sender.flush()
    assert await pipe.receive(len(expected)) == expected


async def test_header_and_large_slice_leave_as_one_stream_without_a_pause(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    flags: list[int] = []

    class Spy:
        def __init__(self, sock: socket.socket) -> None:
            self._sock = sock

        def fileno(self) -> int:
            return self._sock.fileno()

        def send(self, data: bytes, flag: int = 0) -> int:
            flags.append(flag)
            return self._sock.send(data, flag)

    pipe.sender._socket = Spy(pipe.ours)  # type: ignore[assignment]
    pipe.sender.push(b"header")
    pipe.sender.push(Slice(log[0], 0, SMALL_SLICE_BYTES + 1))
    pipe.sender.flush()
    assert flags == [socket_calls.MORE]
    await pipe.receive(6 + SMALL_SLICE_BYTES + 1)


def _cold(monkeypatch: pytest.MonkeyPatch, code: int = errno.EAGAIN) -> None:
    """Let nothing be in the page cache: probing reads fail as the kernel lets them fail."""
    real = platform_calls.read_into

    def preadv(fd: int, buffers: list[Any], offset: int, flags: int = 0) -> int:
        if flags & NO_WAIT:
            raise OSError(code, os.strerror(code))
        return real(fd, buffers, offset, 0)

    look_by(monkeypatch, preadv)


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EOPNOTSUPP])
@pytest.mark.parametrize("size", [500, 2 * CHUNK_BYTES + 9])
async def test_cold_pages_are_read_by_a_job(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch, code: int, size: int
):
    _cold(monkeypatch, code)
    fd, content = log
    pipe.sender.push(b"header")
    pipe.sender.push(Slice(fd, 5, size))
    pipe.sender.push(b"end")
    assert not pipe.sender.flush()
    # The header has left, the rest waits for the job, and nobody else may overtake it.
    assert await pipe.receive(6) == b"header"
    assert len(pipe.blocking.jobs) == 1
    assert not pipe.sender.send(b"next")
    received = asyncio.ensure_future(pipe.receive(size + 7))
    jobs = 0
    async with asyncio.timeout(LIMIT_S):
        while not received.done():
            if pipe.blocking.jobs:
                pipe.blocking.run_one()
                jobs += 1
            await asyncio.sleep(0)
    assert received.result() == content[5 : 5 + size] + b"endnext"
    # A job a chunk; more where the socket was full for a while, since pages may have gone.
    assert jobs >= -(-size // CHUNK_BYTES)
    assert not pipe.blocking.jobs


async def test_where_the_page_cache_tells_nothing_a_job_reads_what_is_large(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(platform_calls, "NO_WAIT", 0)
    fd, content = log
    assert pipe.sender.send_parts([b"head", Slice(fd, 1, SMALL_SLICE_BYTES)])
    assert not pipe.sender.send_parts([b"head", Slice(fd, 0, CHUNK_BYTES), b"tail"])
    expected = b"head" + content[1 : 1 + SMALL_SLICE_BYTES] + b"head"
    assert await pipe.receive(len(expected)) == expected
    received = asyncio.ensure_future(pipe.receive(CHUNK_BYTES + 4))
    async with asyncio.timeout(LIMIT_S):
        while not received.done():
            if pipe.blocking.jobs:
                pipe.blocking.run_one()
            await asyncio.sleep(0)
    assert received.result() == content[:CHUNK_BYTES] + b"tail"


async def test_part_of_a_small_slice_is_cold(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    fd, content = log
    real = platform_calls.read_into

    def preadv(number: int, buffers: list[Any], offset: int, flags: int = 0) -> int:
        if flags & NO_WAIT:
            if offset >= 4096:
                raise BlockingIOError(errno.EAGAIN, "cold")
            buffers = [memoryview(buffers[0])[: 4096 - offset]]
        return real(number, buffers, offset, 0)

    look_by(monkeypatch, preadv)
    pipe.sender.push(Slice(fd, 0, 8192))
    assert not pipe.sender.flush()
    pipe.blocking.run_one()
    assert await pipe.receive(8192) == content[:8192]


async def test_a_failed_read_ahead_fails_the_connection(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    _cold(monkeypatch)
    pipe.sender.push(Slice(log[0], 0, 100))
    pipe.sender.flush()
    error = OSError(errno.EIO, "disk")
    pipe.blocking.run_one(error)
    assert pipe.failed == [error]


async def test_a_job_that_ends_after_the_connection_is_ignored(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    _cold(monkeypatch)
    pipe.sender.push(Slice(log[0], 0, 100))
    pipe.sender.flush()
    pipe.sender.close()
    pipe.blocking.run_one()
    assert not pipe.failed and not pipe.drained.is_set()


@pytest.mark.parametrize("size", [100, SMALL_SLICE_BYTES * 2])
async def test_a_slice_beyond_the_files_end_is_an_error(
    pipe: Pipe, log: tuple[int, bytes], size: int
):
    fd, content = log
    pipe.sender.push(b"header")
    pipe.sender.push(Slice(fd, len(content) - 10, size))
    with pytest.raises(SliceEnded):
        pipe.sender.flush()


async def test_a_truncated_file_in_the_middle_of_sendfile(narrow: Pipe, tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(bytes(1_000_000))
    with path.open("rb") as file:
        narrow.sender.push(Slice(file.fileno(), 0, 1_000_000))
        assert not narrow.sender.flush()
        os.truncate(path, narrow.sender.sent_bytes)
        received = asyncio.ensure_future(narrow.receive(1_000_000))
        await until(lambda: bool(narrow.failed))
        received.cancel()
        await asyncio.gather(received, return_exceptions=True)
    assert isinstance(narrow.failed[0], SliceEnded)


async def test_a_closed_file_fails_the_connection(narrow: Pipe, log: tuple[int, bytes]):
    part = Slice(log[0], 0, len(log[1]))
    narrow.sender.push(part)
    assert not narrow.sender.flush()
    part.close()
    narrow.theirs.recv(1 << 20)
    await until(lambda: bool(narrow.failed))
    assert isinstance(narrow.failed[0], ValueError)


async def test_the_peer_leaves_in_the_middle(narrow: Pipe, log: tuple[int, bytes]):
    narrow.sender.push(Slice(log[0], 0, len(log[1])))
    assert not narrow.sender.flush()
    narrow.theirs.close()
    await until(lambda: bool(narrow.failed))
    assert isinstance(narrow.failed[0], ConnectionError)
    before = len(os.listdir("/proc/self/fd"))
    narrow.sender.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert narrow.sender.pending_bytes == 0
    narrow.sender.push(b"ignored")
    assert narrow.sender.flush()


async def test_one_connection_does_not_keep_the_loop(pipe: Pipe, tmp_path: Path, monkeypatch):
    """A peer that takes everything gets TURN_BYTES, then others have the loop."""
    path = tmp_path / "log"
    path.write_bytes(bytes(300_000))
    monkeypatch.setattr(file_send, "TURN_BYTES", 1000)
    with path.open("rb") as file:
        for _ in range(3):
            pipe.sender.push(Slice(file.fileno(), 0, 1000))
            pipe.sender.push(Slice(file.fileno(), 0, SMALL_SLICE_BYTES + 1))
        assert not pipe.sender.flush()
        assert pipe.sender.pending_bytes > 0
        await pipe.receive(3 * (1000 + SMALL_SLICE_BYTES + 1))
        await pipe.drained.wait()


class Transport:
    """The copying path's transport: counts, and is full when the test says so."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.calls: list[list[int]] = []
        """The sizes of what each call gave."""
        self.full_at = 1 << 62
        self.sender: ResponseSender | None = None

    def write(self, data: bytes) -> None:
        self.writelines([data])

    def writelines(self, parts: list[bytes]) -> None:
        self.calls.append([len(part) for part in parts])
        self.data += b"".join(parts)
        if len(self.data) >= self.full_at:
            assert self.sender is not None
            self.sender.transport_paused()


def copying(
    transport: Transport, drained: list[bool], failed: list[Exception], blocking: HeldBlocking
) -> ResponseSender:
    """A sender that has no socket of its own."""
    sender = ResponseSender(
        asyncio.get_running_loop(),
        None,
        transport,  # type: ignore[arg-type]
        blocking,
        lambda: drained.append(True),
        failed.append,
    )
    transport.sender = sender
    return sender


async def test_the_copying_path(log: tuple[int, bytes]):
    fd, content = log
    transport = Transport()
    drained: list[bool] = []
    failed: list[Exception] = []
    sender = copying(transport, drained, failed, HeldBlocking())
    assert sender.send(b"plain")
    transport.full_at = CHUNK_BYTES
    sender.push(b"header")
    sender.push(Slice(fd, 3, len(content) - 3))
    sender.push(b"end")
    assert not sender.flush()
    assert CHUNK_BYTES <= len(transport.data) < 3 * CHUNK_BYTES
    assert not sender.send(b"behind")
    while not drained:
        transport.full_at += CHUNK_BYTES
        sender.transport_resumed()
        await asyncio.sleep(0)
    assert transport.data == b"plain" + b"header" + content[3:] + b"end" + b"behind"
    assert not failed
    sender.close()


async def test_the_copying_path_gives_the_transport_pieces_that_it_does_not_join(
    log: tuple[int, bytes],
):
    fd, content = log
    transport = Transport()
    sender = copying(transport, [], [], HeldBlocking())
    assert sender.send_parts([b"head", Slice(fd, 0, 2 * COPIED_BYTES + 40_000)])
    assert transport.calls == [[4, COPIED_BYTES], [COPIED_BYTES], [40_000]]
    transport.calls.clear()
    assert sender.send(content[: COPIED_BYTES + 50_000])  # an answer from memory
    assert transport.calls == [[COPIED_BYTES], [50_000]]
    transport.calls.clear()
    assert sender.send_parts([b"head", Slice(fd, 0, 500), b"tail"])  # one TLS record
    assert transport.calls == [[508]]
    assert transport.data.endswith(b"head" + content[:500] + b"tail")
    sender.close()


async def test_the_copying_path_reads_ahead_more_than_it_gives_at_once(
    log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    fd, content = log
    real, warm_until = platform_calls.read_into, 0

    def preadv(fd: int, buffers: list[Any], offset: int, flags: int = 0) -> int:
        nonlocal warm_until
        if not flags & NO_WAIT:
            warm_until = max(warm_until, offset + sum(map(len, buffers)))
        elif offset + sum(map(len, buffers)) > warm_until:
            raise BlockingIOError(errno.EAGAIN, "cold")
        return real(fd, buffers, offset, 0)

    look_by(monkeypatch, preadv)
    transport, blocking = Transport(), HeldBlocking()
    sender = copying(transport, [], [], blocking)
    assert not sender.send_parts([b"head", Slice(fd, 0, CHUNK_BYTES)])
    blocking.run_one()
    assert not blocking.jobs
    assert transport.data == b"head" + content[:CHUNK_BYTES]
    sender.close()


@pytest.mark.parametrize("head", [b"", b"head"])
async def test_the_copying_path_reads_ahead_where_only_the_middle_is_cold(
    log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch, head: bytes
):
    fd, content = log
    real = platform_calls.read_into

    def preadv(fd: int, buffers: list[Any], offset: int, flags: int = 0) -> int:
        if flags & NO_WAIT and offset < 8192:
            buffers = [memoryview(buffers[0])[: 8192 - offset]]
        return real(fd, buffers, offset, 0)

    look_by(monkeypatch, preadv)
    transport, blocking, drained = Transport(), HeldBlocking(), list[bool]()
    sender = copying(transport, drained, [], blocking)
    assert not sender.send_parts([head, Slice(fd, 0, COPIED_BYTES)])
    blocking.run_one()
    assert transport.data == head + content[:COPIED_BYTES]
    assert drained and not blocking.jobs
    sender.close()


@pytest.mark.parametrize("size", [10, SMALL_SLICE_BYTES + 1, 500_000, PROBE_BYTES + 1])
@pytest.mark.parametrize("tail", [b"", b"tail"])
@pytest.mark.parametrize("kind", ["pipe", "narrow"])
async def test_the_parts_of_one_answer(
    kind: str, size: int, tail: bytes, pipe: Pipe, narrow: Pipe, tmp_path: Path
):
    way = pipe if kind == "pipe" else narrow
    content = random.Random(9).randbytes(size + 77)
    (tmp_path / "log").write_bytes(content)
    with (tmp_path / "log").open("rb") as file:
        expected = b"header" + content[77:] + tail
        parts: list[Any] = [b"header", Slice(file.fileno(), 77, size), *([tail] if tail else [])]
        for _ in range(2):  # the second one finds the queue in use, or the socket full
            way.sender.send_parts(parts)
        assert await way.receive(2 * len(expected)) == 2 * expected
        assert way.sender.pending_bytes == 0
        assert way.sender.sent_bytes == 2 * len(expected)
        assert not way.failed


async def test_a_head_that_the_socket_takes_in_part(narrow: Pipe, log: tuple[int, bytes]):
    fd, content = log
    head = random.Random(3).randbytes(300_000)
    assert not narrow.sender.send_parts([head, Slice(fd, 1, 100_000), b"tail"])
    assert 0 < narrow.sender.sent_bytes < len(head)
    assert narrow.sender.pending_bytes == 400_004 - narrow.sender.sent_bytes
    assert await narrow.receive(400_004) == head + content[1:100_001] + b"tail"
    await narrow.drained.wait()


async def test_a_small_slice_that_is_warm_leaves_in_one_call_with_its_header(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    """What a record to a waiting reader, or to a follower, costs: nothing is put in a queue."""
    monkeypatch.setattr(pipe.sender, "_queue", ())
    sent: list[bytes] = []

    class Socket:
        def send(self, data: bytes) -> int:
            sent.append(data)
            return len(data)

    monkeypatch.setattr(pipe.sender, "_socket", Socket())
    fd, content = log
    assert pipe.sender.send_parts([b"header", Slice(fd, 3, 1_000), b"end"])
    assert sent == [b"header" + content[3:1_003] + b"end"]


async def test_parts_that_are_warm_leave_by_two_calls(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    """What a Fetch costs: nothing is put in a queue first."""
    monkeypatch.setattr(pipe.sender, "_queue", ())
    size = SMALL_SLICE_BYTES + 1
    assert pipe.sender.send_parts([b"header", Slice(log[0], 3, size), b"tail"])
    assert await pipe.receive(size + 10) == b"header" + log[1][3 : 3 + size] + b"tail"


async def test_parts_that_are_cold_wait_for_a_job(
    pipe: Pipe, log: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
):
    _cold(monkeypatch)
    assert not pipe.sender.send_parts([b"header", Slice(log[0], 3, SMALL_SLICE_BYTES + 1), b"end"])
    assert await pipe.receive(6) == b"header"
    pipe.blocking.run_one()
    assert (await pipe.receive(SMALL_SLICE_BYTES + 4))[-3:] == b"end"


async def test_parts_of_a_file_that_ends_too_soon(pipe: Pipe, log: tuple[int, bytes]):
    beyond = Slice(log[0], len(log[1]) - 10, SMALL_SLICE_BYTES * 2)
    with pytest.raises(SliceEnded):
        pipe.sender.send_parts([b"header", beyond])


async def test_parts_after_the_connection_is_gone(pipe: Pipe, log: tuple[int, bytes]):
    pipe.sender.close()
    assert pipe.sender.send_parts([b"header", Slice(log[0], 0, SMALL_SLICE_BYTES * 2)])
    assert pipe.sender.sent_bytes == 0


async def test_without_a_descriptor_to_watch_a_full_socket_it_is_tried_again(
    narrow: Pipe, monkeypatch: pytest.MonkeyPatch
):
    def exhausted(_fd: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(file_send.os, "dup", exhausted)
    data = random.Random(1).randbytes(300_000)
    assert not narrow.sender.send(data)
    assert await narrow.receive(len(data)) == data
    await narrow.drained.wait()
    assert not narrow.failed
    narrow.sender.send(data)
    narrow.sender.close()  # with a look still to come
    await asyncio.sleep(2 * file_send.POLL_S)
    assert not narrow.failed
