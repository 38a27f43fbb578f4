"""Dead letters through the APIs of share groups, from a consumer's rejection to the topic.

A node must register the APIs of share groups, and support level 2 of `share.version`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from tests.golden.dead_letter_cases import BETTER, CASES, RECORDED, Case, Scene, ShareConsumer
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

KAFKA: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
UPGRADE = 1


class Client:
    """A client with a connection of its own, as share sessions need it."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._connection = Connection()
        self._connection.authenticated("User:ANONYMOUS")

    def call(self, request: Any, version: int) -> Any:
        reply = Reply()
        frame = memoryview(bytearray(encode_request(request, version, 5, "member")))[4:]
        self._running.node.handle(self._connection, frame, reply)
        self._running.scheduler.run_until(lambda: bool(reply) or reply.closed)
        (parts,) = reply
        parts = parts if isinstance(parts, list) else [parts]
        data = b"".join(part if not hasattr(part, "read") else part.read() for part in parts)
        return decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_rejection_becomes_the_dead_letter_of_kafka(tmp_path: Path, case: Case) -> None:
    running = Running(tmp_path, **{"share.coordinator.state.topic.num.partitions": "1"})
    scheduler = running.scheduler
    scene = Scene(
        running.ask, lambda seconds: scheduler.run_for(seconds * 1_000), scheduler.wall_ms
    )
    scene.prepare(case)
    ShareConsumer(scene, case, Client(running).call).give_up_all()
    result = scene.result(case)
    assert (result == KAFKA[case.name]) is (case.name not in BETTER)
