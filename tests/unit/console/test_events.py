"""Events out of an iterator: each as the browser reads it, and its end whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from console.events import HEARTBEAT, STREAMS_MAX, Streams, event


def all_of(values: Iterator[object]) -> list[bytes]:
    async def read() -> list[bytes]:
        return [one async for one in Streams().sent(values, str)]

    return asyncio.run(read())


def test_values_heartbeats_and_the_end() -> None:
    assert all_of(iter([{"n": 1}, None])) == [
        HEARTBEAT,
        b'data: {"n":1}\n\n',
        HEARTBEAT,
        b"event: done\ndata: {}\n\n",
    ]


def test_a_text_with_line_ends_is_one_line() -> None:
    assert event("a\n\ndata: b") == b'data: "a\\n\\ndata: b"\n\n'


def test_a_reader_that_goes_closes_the_iterator() -> None:
    closed: list[bool] = []

    def values() -> Iterator[object]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    async def read() -> None:
        sent = Streams().sent(values(), str)
        for _ in range(3):
            await anext(sent)
        await sent.aclose()  # type: ignore[attr-defined]

    asyncio.run(read())
    assert closed == [True]


def test_a_cancelled_download_closes_its_file() -> None:
    closed: list[bool] = []

    def pieces() -> Iterator[bytes]:
        try:
            yield b""  # time has passed
            while True:
                yield b"a"
        finally:
            closed.append(True)

    async def read() -> None:
        file = Streams().pieces(pieces())
        assert await anext(file) == b"a"
        await file.aclose()  # type: ignore[attr-defined]

    asyncio.run(read())
    assert closed == [True]


def test_so_many_and_no_more() -> None:
    async def read() -> None:
        streams = Streams()
        opened = [streams.sent(iter([1]), str) for _ in range(STREAMS_MAX)]
        for one in opened:
            await anext(one)
        assert streams.is_full
        await opened[0].aclose()  # type: ignore[attr-defined]
        assert not streams.is_full
        for one in opened:
            await one.aclose()  # type: ignore[attr-defined]

    asyncio.run(read())
