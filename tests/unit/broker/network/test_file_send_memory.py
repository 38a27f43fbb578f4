"""What answers on their way out keep in memory."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.unit.broker.network.sending import Pipe, Slice, look_and_find_all


async def test_what_is_in_memory_is_counted_and_slices_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    look_and_find_all(monkeypatch)
    content = os.urandom(300_000)
    path = tmp_path / "log"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    pipe = Pipe(small_buffers=True)
    sender = pipe.sender
    answer = os.urandom(3_000_000)
    assert not sender.send(answer)
    sender.push(Slice(fd, 0, len(content)))
    sender.push(b"behind")
    assert sender.held_bytes == len(answer) - sender.sent_bytes + len(b"behind")
    assert sender.pending_bytes == sender.held_bytes + len(content)
    kept = []
    received = bytearray()
    while sender.held_bytes > len(b"behind"):
        received += await pipe.receive(1)
        head = sender._queue[0]
        if isinstance(head, memoryview):
            kept.append((memoryview(head.obj).nbytes, len(head)))
        await asyncio.sleep(0)
    assert all(whole <= 2 * rest for whole, rest in kept if rest >= 64 * 1024), "what left is kept"
    assert max(rest for _, rest in kept) > 2_000_000
    while len(received) < len(answer) + len(content) + len(b"behind"):
        received += await pipe.receive(1)
    assert received == answer + content + b"behind"
    assert sender.held_bytes == sender.pending_bytes == 0
    assert sender.send(b"one") and not sender.send(answer)
    sender.close()
    assert sender.held_bytes == 0
    pipe.close()
    os.close(fd)
