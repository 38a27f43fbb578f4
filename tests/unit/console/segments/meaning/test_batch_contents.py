"""Records of a batch as the page shows them, and their bytes; secrets stay hidden."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from broker.groups.group_records import offset_commit_record
from client.records.decoders import decode_by
from console.segments.files.header_walk import Batch
from console.segments.meaning import batch_contents
from console.segments.meaning.batch_contents import (
    OpenBatch,
    header_bytes,
    open_batch,
    preview,
    record_bytes,
    records_page,
)
from controller.metadata.records import encode_record
from protocol.compression import Codec
from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.messages.group_records import OffsetCommitValue
from protocol.messages.metadata_records import UserScramCredentialRecord
from protocol.record_batch import HEADER_SIZE, CorruptBatch, read_header
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.console.one_console import plain
from tests.unit.console.segments.segments_fixture import reader

SALT = b"salt-of-a-password"


def opened(batch: bytes | bytearray, position: int = 0) -> OpenBatch:
    data = bytes(position) + bytes(batch)
    return open_batch(reader(data), Batch(position, read_header(batch)))


def page(one: OpenBatch, first: int = 0, limit: int = 10, decoder: str = "none") -> Any:
    return plain(records_page(one, first, limit, decode_by(decoder)))


@pytest.mark.parametrize("codec", list(Codec))
def test_a_page_of_records(codec: Codec) -> None:
    records = [Record(-1, 1000 + one, b"k", b"v%d" % one, (("h", None),)) for one in range(9)]
    one = opened(build_batch(records, base_offset=40, compression=codec))
    found = page(one, 2, 3)
    assert found["count"] == 9 and found["damage"] is None
    assert [row["offset"] for row in found["records"]] == [42, 43, 44]
    row = found["records"][0]
    assert row["value"] == {"size": 2, "text": "v2"} and row["timestamp"] == 1002
    assert row["headers"] == [[{"size": 1, "text": "h"}, None]]
    assert one.body[row["start"] : row["start"] + row["size"]].endswith(b"h\1")


def test_what_the_clusters_own_records_mean() -> None:
    key, value = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=7))
    found = page(opened(build_batch([Record(-1, 1, key, value)])), decoder="offsets")
    assert found["records"][0]["key"]["json"]["data"]["group"] == "g"
    assert found["records"][0]["value"]["json"]["data"]["offset"] == 7


def test_a_marker_is_told_as_such() -> None:
    marker = build_transaction_marker(
        ControlRecordType.ABORT,
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=4,
        timestamp_ms=5,
    )
    row = page(opened(marker))["records"][0]
    assert row["control"] == {"endTxnMarker": "ABORT", "coordinatorEpoch": 4}


@pytest.mark.parametrize("decoder", ["none", "metadata", "offsets", "transactions"])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_secret_is_shown_neither_as_text_nor_as_bytes(codec: Codec, decoder: str) -> None:
    secret = encode_record(
        UserScramCredentialRecord(
            name="ada", mechanism=1, salt=SALT, stored_key=b"s" * 9, server_key=b"t" * 9
        ),
        0,
    )
    one = opened(build_batch([Record(-1, 1, None, secret)], compression=codec))
    row = page(one, decoder=decoder)["records"][0]
    assert "ada" in row["value"]["words"] and SALT.decode() not in str(row)
    found: Any = plain(record_bytes(one, 0, 0))
    shown = b64decode(found["base64"])
    value = next(field for field in found["fields"] if field["name"] == "value")
    assert value["hidden"] and "hidden" in value["meaning"]
    assert shown[value["start"] : value["end"]] == bytes(len(secret))
    assert len(shown) == found["size"]
    for begin in (1, value["start"], value["start"] + 9, value["end"]):
        part: Any = plain(record_bytes(one, 0, begin))
        assert b64decode(part["base64"]) == shown[begin:], "nor by a later part"


def test_named_bytes_of_header_and_record() -> None:
    batch = build_batch([Record(-1, 1, b"a", b"b"), Record(-1, 2, b"key", b"x" * 9000)])
    one = opened(batch, 500)
    header: Any = plain(header_bytes(one))
    assert b64decode(header["base64"]) == batch[:HEADER_SIZE] and header["at"] == 500
    assert header["crcIsRight"] and header["fields"][0]["note"]
    found: Any = plain(record_bytes(one, 1, 0))
    start = found["at"] - 500
    assert b64decode(found["base64"]) == batch[start : start + 4096]
    rest: Any = plain(record_bytes(one, 1, 8192))
    assert b64decode(rest["base64"]) == batch[start + 8192 :] and rest["from"] == 8192
    with pytest.raises(CorruptBatch, match="no record number 2"):
        plain(record_bytes(one, 2, 0))


def test_a_number_that_a_browser_would_round_is_a_text() -> None:
    batch = build_batch([Record(-1, 1, b"a", b"b")], producer_id=2**60, base_sequence=0)
    header: Any = plain(header_bytes(opened(batch)))
    values = {one["name"]: one["value"] for one in header["fields"]}
    assert values["producerId"] == str(2**60) and values["magic"] == 2


def test_damage_is_told_beside_what_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch([Record(-1, 1, b"a", b"b" * 50)] * 2, compression=Codec.ZSTD)
    batch[HEADER_SIZE + 9] ^= 0xFF
    one = opened(batch)
    assert not one.crc_is_right and one.damage is not None
    assert page(one)["damage"] == one.damage and page(one)["records"] == []
    with pytest.raises(CorruptBatch):
        plain(record_bytes(one, 0, 0))
    monkeypatch.setattr(batch_contents, "BATCH_BYTES_MAX", 80)
    with pytest.raises(CorruptBatch, match="dump-log"):
        opened(build_batch([Record(-1, 1, b"a", b"b" * 50)]))


def test_previews_are_cut() -> None:
    assert plain(preview(None)) is None and plain(preview(b"")) == {"size": 0, "text": ""}
    assert plain(preview(b"\xff\0")) == {"size": 2, "base64": "/wA="}
    long = plain(preview("é".encode() * 4000))
    assert long is not None and long["cut"] and long["text"] == "é" * 2048
    odd = plain(preview(b"x" + "é".encode() * 4000))
    assert odd is not None and odd["text"] == "x" + "é" * 2047
