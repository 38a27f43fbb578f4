"""The server's half of the channel."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from typing import cast

import pytest

from broker.testing import child
from broker.testing.child import ControlProtocol
from broker.testing.served import Served
from ottla.testing.frames import HELLO, FrameReader, Message, encode


class Pair:
    def __init__(self) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        self.reader, self.writer = await asyncio.open_unix_connection(sock=ours)
        await loop.create_unix_connection(
            lambda: ControlProtocol(loop, cast(Served, object())), sock=theirs
        )

    async def messages(self, count: int) -> list[Message]:
        reader, found = FrameReader(), list[Message]()
        while len(found) < count:
            found += reader.feed(await self.reader.read(1000))
        return found


@pytest.fixture
async def pair(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    one = Pair()

    def end(code: int) -> None:
        if not one.ended.done():
            one.ended.set_result(code)

    async def answer(broker: Served, message: Message) -> Message:
        await asyncio.sleep(0 if message["op"] == "slow" else -1)
        return {"id": message["id"], "result": message["op"]}

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(child, "answer", answer)
    await one.open()
    yield one
    one.writer.close()
    await one.ended


async def test_calls_run_side_by_side(pair: Pair) -> None:
    pair.writer.write(encode(HELLO))
    for number in (1, 2):
        pair.writer.write(encode({"id": number, "op": "op", "args": {}}))
    hello, *answers = await pair.messages(3)
    assert hello == HELLO
    assert answers == [{"id": 1, "result": "op"}, {"id": 2, "result": "op"}]


async def test_without_anybody_at_the_other_end_it_ends(pair: Pair) -> None:
    pair.writer.close()
    assert await pair.ended == 0


@pytest.mark.parametrize("data", [encode({"version": 2}), b"\xff\xff\xff\xff"])
async def test_whoever_speaks_otherwise_ends_it(pair: Pair, data: bytes) -> None:
    pair.writer.write(data)
    assert await pair.ended == 1
