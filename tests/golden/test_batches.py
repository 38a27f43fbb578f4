"""Record batches as real clients sent them, with every codec, and as Kafka handed them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.api_keys import ApiKey
from protocol.compression import Codec
from protocol.frames.message_codec import decode_response
from protocol.record_batch import crc_is_valid, iterate_batches, produced_batch_fault, read_header
from protocol.records import iterate_records
from tests.batches import build_batch
from tests.golden.record import HEADERS, VALUES

HERE = Path(__file__).resolve().parent
BATCHES = sorted(HERE.glob("*/batch_*.bin"))
FETCHES = sorted(HERE.glob("*/fetch_v*_response.bin"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("client", ["librdkafka", "aiokafka", "java"])
def test_there_is_a_batch_of_every_codec(client: str) -> None:
    assert {path.stem for path in BATCHES if path.parent.name == client} == {
        f"batch_{codec.name.lower()}" for codec in Codec
    }


@pytest.mark.parametrize("path", BATCHES, ids=name_of)
def test_produced_batches(path: Path) -> None:
    batch = path.read_bytes()
    header = read_header(batch)
    assert header.size_in_bytes == len(batch)
    assert Codec(header.compression).name.lower() == path.stem.removeprefix("batch_")
    assert crc_is_valid(batch, 0, header)
    assert produced_batch_fault(header) is None
    records = list(iterate_records(batch))
    assert len(records) == header.record_count
    assert max(record.timestamp for record in records) == header.max_timestamp
    for record in records:
        if record.value is not None:
            assert record.key == b"key" and record.value in VALUES
            # The console producer sends none.
            assert record.headers == (tuple(HEADERS) if path.parent.name != "java" else ())


@pytest.mark.parametrize("path", [p for p in BATCHES if p.stem == "batch_none"], ids=name_of)
def test_uncompressed_batches_are_built_the_same(path: Path) -> None:
    batch = path.read_bytes()
    header = read_header(batch)
    built = build_batch(
        iterate_records(batch),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        leader_epoch=header.partition_leader_epoch,
    )
    assert built == batch


@pytest.mark.parametrize("path", FETCHES, ids=name_of)
def test_fetched_batches(path: Path) -> None:
    version = int(path.stem.split("_")[1].removeprefix("v"))
    _, response = decode_response(ApiKey.FETCH, memoryview(path.read_bytes()), version)
    count = 0
    for topic in response.responses:
        for partition in topic.partitions:
            for pos, header in iterate_batches(partition.records, allow_partial_tail=True):
                assert crc_is_valid(partition.records, pos, header)
                found = list(iterate_records(partition.records, pos))
                assert len(found) == header.record_count
                count += len(found)
    assert count > 0
