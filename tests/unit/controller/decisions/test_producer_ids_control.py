"""`producer_ids_control`: no id is given twice, over restarts either (I15, C8)."""

from __future__ import annotations

from controller.decisions.decision import DecisionView
from controller.decisions.producer_ids_control import (
    BLOCK_SIZE,
    ProducerIdsBlock,
    allocate_producer_ids,
)
from ground.memory_filesystem import MemoryFilesystem
from protocol.errors import ApiError, ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from protocol.messages.metadata_records import ProducerIdsRecord
from tests.unit.controller.controller_fixture import OneNode, broker_record, image_of


def test_a_block_and_its_record() -> None:
    image = image_of(broker_record(1), ProducerIdsRecord(1, 10, 5_000))
    decision = allocate_producer_ids(DecisionView(image, 101, 0), 1, 10)
    assert decision.reply == ProducerIdsBlock(5_000, BLOCK_SIZE)
    assert decision.records == [ProducerIdsRecord(1, 10, 6_000)]


def test_refused() -> None:
    image = image_of(broker_record(1), ProducerIdsRecord(1, 10, 2**63 - 1000))
    stale = allocate_producer_ids(DecisionView(image, 101, 0), 1, 9).reply
    assert isinstance(stale, ApiError)
    assert stale.code is ErrorCode.STALE_BROKER_EPOCH
    exhausted = allocate_producer_ids(DecisionView(image, 101, 0), 1, 10)
    assert isinstance(exhausted.reply, ApiError)
    assert list(exhausted.records) == []


def test_over_restarts() -> None:
    filesystem, firsts = MemoryFilesystem(), []
    for life in range(4):
        node = OneNode(filesystem, seed=life).start()
        request = AllocateProducerIdsRequest(1, node.register())
        firsts += [node.call(request, 0).producer_id_start for _ in range(3)]
        node.kill()
    assert firsts == [block * BLOCK_SIZE for block in range(12)]
