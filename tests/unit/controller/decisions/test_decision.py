"""`controller.decisions.decision`."""

from __future__ import annotations

from controller.decisions.decision import MAX_RECORDS_PER_OPERATION, Decision
from protocol.messages.metadata_records import NoOpRecord
from tests.unit.controller.controller_fixture import OneNode


def test_what_is_not_atomic_may_be_larger_than_a_batch() -> None:
    node = OneNode().start()
    count = MAX_RECORDS_PER_OPERATION + 1
    replies: list[object] = []
    records = [NoOpRecord()] * count
    before = node.node.raft.end_offset
    node.node.controller.submit(
        "many", lambda _view: Decision("done", records, atomic=False), replies.append
    )
    node.settle()
    assert replies == ["done"]
    assert node.node.raft.end_offset == before + count
    assert node.node.image.offset == before + count - 1
