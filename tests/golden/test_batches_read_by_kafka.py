"""Batches that we build, read by Kafka's own `kafka-dump-log`: every codec, control records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.compression import Codec
from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.record_batch import TimestampType, patch_log_append_time
from protocol.records import Record
from tests.batches import build_batch
from tests.tools.java_tools import run_tool

pytestmark = pytest.mark.java

NOW_MS = 1_700_000_000_000
LARGE = b"".join(b"line %d of a large value\n" % n for n in range(8_000))  # several blocks


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What kafka-dump-log prints for a segment with one batch of each kind."""
    path: Path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    segment = b""
    offset = 0
    for codec in Codec:
        records = [
            Record(-1, NOW_MS + 1, b"key", codec.name.encode(), (("h", b"1"), ("n", None))),
            Record(-1, NOW_MS, None, None),
            Record(-1, NOW_MS + 2, b"", LARGE),
        ]
        segment += build_batch(
            records,
            base_offset=offset,
            compression=codec,
            producer_id=9,
            producer_epoch=1,
            base_sequence=offset,
            is_transactional=True,
            leader_epoch=4,
        )
        offset += len(records)
    timed = build_batch(
        [Record(-1, NOW_MS, b"k", b"v")],
        base_offset=offset,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        leader_epoch=4,
    )
    patch_log_append_time(timed, 0, NOW_MS + 77)
    segment += timed
    gaps = [Record(offset + 3, NOW_MS, b"k", b"v")]
    segment += build_batch(gaps, base_offset=offset + 1, last_offset=offset + 5, leader_epoch=4)
    marker = build_transaction_marker(
        ControlRecordType.COMMIT,
        producer_id=9,
        producer_epoch=1,
        coordinator_epoch=3,
        timestamp_ms=NOW_MS,
        leader_epoch=4,
    )
    marker[0:8] = (offset + 6).to_bytes(8)
    path.write_bytes(segment + marker)
    done = run_tool("kafka-dump-log", "--files", str(path), "--deep-iteration", "--print-data-log")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_wrong_with_them(dumped: str) -> None:
    assert "isvalid: false" not in dumped
    assert "Mismatches" not in dumped and "Non-consecutive" not in dumped
    assert len(re.findall("isvalid: true", dumped)) == len(Codec) + 3


@pytest.mark.parametrize("codec", list(Codec))
def test_each_codec_is_unpacked(dumped: str, codec: Codec) -> None:
    assert f"compresscodec: {codec.name.lower()} " in dumped
    assert f"key: key payload: {codec.name}" in dumped
    assert "headerKeys: [h,n]" in dumped


def test_log_append_time_gaps_and_marker(dumped: str) -> None:
    assert f"LogAppendTime: {NOW_MS + 77}" in dumped
    assert "baseOffset: 16 lastOffset: 20 count: 1 " in dumped
    assert re.search(r"offset: 21 .*endTxnMarker: COMMIT coordinatorEpoch: 3", dumped)
