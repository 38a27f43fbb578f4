"""Damaged record batches in Produce, to a broker that serves.

The known cases have to be answered as `tests/golden/` has it from Apache Kafka; random ones
may be answered with any refusal of a record. What was refused is not in the log, and what is in the
log has headers and checksums that are right.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from ottla.testing.broker_process import BrokerProcess
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import crc_is_valid, crc_of, iterate_batches
from tests.batches import build_batch
from tests.golden.damaged_batches import (
    CASES,
    RECORDS,
    Asker,
    answers_of,
    create_topic,
    end_offset,
    produce,
)
from tests.golden.damaged_batches_answers import KAFKA, KAFKAS_START, expected

ROUNDS = 150
REFUSALS = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
}


def test_known_cases_are_answered_as_kafka_does(unharmed: BrokerProcess) -> None:
    ours = answers_of(unharmed.port)
    for name in CASES:
        if name == "null records":
            # Kafka loses the request in an exception and never answers.
            assert ours[name]["error"] == "INVALID_RECORD"
            continue
        assert ours[name]["error"] == expected(name), (name, ours[name], KAFKA[name])
        assert ours[name]["start"] == KAFKAS_START[name], (name, ours[name])
        assert ours[name]["appended"] == (3 if ours[name]["error"] == "NONE" else 0), name


def damaged(rng: random.Random, codec: Codec) -> bytes:
    """A batch with some bytes changed, cut or repeated; mostly with a right CRC."""
    batch = build_batch(RECORDS, compression=codec)
    for _ in range(rng.choice([1, 1, 2, 6])):
        position = rng.choice([*range(8, 12), *range(21, 61), *range(61, len(batch))])
        batch[position] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    if rng.random() < 0.1:
        del batch[rng.randrange(12, len(batch)) :]
    if rng.random() < 0.9 and len(batch) > 61:
        struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))
    return bytes(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_random_damage_is_refused_or_harmless(unharmed: BrokerProcess, codec: Codec) -> None:
    rng = random.Random(int(codec))
    topic = f"fuzz-{codec.name.lower()}"
    with Asker(unharmed.port) as asker:
        create_topic(asker, topic)
        end = 0
        for _ in range(ROUNDS):
            batch = damaged(rng, codec)
            answer = produce(asker, 9, batch, topic)
            if answer.error_code:
                assert answer.error_code in REFUSALS, (answer, batch.hex())
                assert end_offset(asker, topic) == end, batch.hex()
            else:
                assert answer.base_offset == end or _is_duplicate(batch), batch.hex()
                end = end_offset(asker, topic)
        assert read_through(asker, topic) == end


def _is_duplicate(batch: bytes) -> bool:
    """A batch that damage gave a producer id may be taken for one that was sent before."""
    (producer_id,) = struct.unpack_from(">q", batch, 43)
    return bool(producer_id >= 0)


def read_through(asker: Asker, topic: str) -> int:
    """Fetch the whole log, hold each header and checksum right; the offset after the last batch."""
    from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    position = 0
    while True:
        wanted: Any = FetchPartition(partition=0, fetch_offset=position, partition_max_bytes=2**20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=2**20,
            topics=[FetchTopic(topic=topic, partitions=[wanted])],
        )
        answer = asker.ask(request, 11).responses[0].partitions[0]
        assert answer.error_code == 0, answer
        if not answer.records:
            return position
        for at, header in iterate_batches(answer.records, allow_partial_tail=True):
            assert crc_is_valid(answer.records, at, header)
            assert header.base_offset >= position
            position = header.next_offset
