"""The operations of a full disk."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from broker.testing.control import answer
from broker.testing.faults.full_disk import Room
from broker.testing.operations import disk  # noqa: F401  it registers
from broker.testing.served import Served

CONFIG = SimpleNamespace(log_dirs=["/a", "/b"], metadata_log_dir="/a")


def call(room: Room, op: str, **args: Any) -> Any:
    broker = SimpleNamespace(room=room, config=CONFIG)
    told = asyncio.run(answer(cast(Served, broker), {"id": 1, "op": op, "args": args}))
    return told["result"] if "result" in told else told["error"]


def test_all_directories_or_one_of_them() -> None:
    room = Room()
    assert call(room, "disk.fill", log_dir="/b") == ["/b"]
    assert room.is_full("/b/t-0") and not room.is_full("/bb/t-0")
    assert call(room, "disk.fill") == ["/a", "/b"]
    assert room.is_full("/a/t-0")
    call(room, "disk.free")
    assert not room.is_full("/a/t-0")


def test_a_directory_that_is_none_of_the_brokers() -> None:
    assert call(Room(), "disk.fill", log_dir="/c") == {
        "kind": "misuse",
        "text": "/c is none of the broker's log directories: /a, /b",
    }
