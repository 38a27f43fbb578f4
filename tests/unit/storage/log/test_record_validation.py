"""The checks that decode: keys, times, codecs, and Kafka's words for their refusals."""

from __future__ import annotations

import pytest

from ground.sliced_work import in_one_go
from protocol import compression, record_scan
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import HEADER_SIZE, TimestampType, crc_is_valid, read_header
from protocol.records import UNPACKED_LIMIT_BYTES, Record, iterate_records
from storage.log import batch_body, record_validation
from storage.log.batch_body import SLICE_BYTES
from storage.log.record_validation import (
    PACKED_AT_ONCE_BYTES,
    RECORD_ERRORS_MAX,
    check_records,
    must_decode,
    target_codec,
)
from storage.log.refusal import AppendRefusal
from storage.log_config import LogConfig
from tests.batches import build_batch
from tests.unit.storage.harness import NOW_MS, batch, keyed_batch

COMPACTED = LogConfig(cleanup_policy=("compact",))


def check_result(records: memoryview, config: LogConfig) -> memoryview | AppendRefusal:
    return in_one_go(check_records(records, read_header(records), config, NOW_MS, "topic-0"))


def refused(records: memoryview, config: LogConfig) -> AppendRefusal:
    found = check_result(records, config)
    assert isinstance(found, AppendRefusal)
    return found


def test_keys_are_wanted_in_a_compacted_topic() -> None:
    good = keyed_batch((b"k", b"v"), (b"", None))
    assert check_result(good, COMPACTED) is good
    found = refused(keyed_batch((b"k", b"v"), (None, b"v")), COMPACTED)
    words = "Compacted topic cannot accept message without key in topic partition topic-0"
    assert (found.error, found.record_errors) == (ErrorCode.INVALID_RECORD, [(1, words)])
    assert found.message == (
        "One or more records have been rejected due to 1 record errors in total, and only showing "
        f"the first three errors at most: [RecordError(batchIndex=1, message='{words}')]"
    )


def test_three_errors_are_shown_and_all_are_told() -> None:
    found = refused(keyed_batch(*[(None, b"v")] * 5), COMPACTED)
    assert len(found.record_errors) == 5
    assert "5 record errors" in found.message
    assert found.message.count("RecordError(") == 3


def test_times_out_of_range() -> None:
    config = LogConfig(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)
    stamps = [NOW_MS - 10, NOW_MS - 11, NOW_MS + 20, NOW_MS + 21, -1]
    sent = memoryview(build_batch([Record(-1, stamp, b"k", b"v") for stamp in stamps]))
    found = refused(sent, config)
    assert found.error is ErrorCode.INVALID_TIMESTAMP
    assert found.message == "One or more records have been rejected due to invalid timestamp"
    assert found.record_errors == [
        (
            1,
            f"Timestamp {NOW_MS - 11} of message with offset 1 is out of range. "
            f"The timestamp should be within [{NOW_MS - 10}, {NOW_MS + 20}]",
        ),
        (
            3,
            f"Timestamp {NOW_MS + 21} of message with offset 3 is out of range. "
            f"The timestamp should be within [{NOW_MS - 10}, {NOW_MS + 20}]",
        ),
    ]


def test_minus_one_is_no_time_and_below_it_is_one() -> None:
    """The expected result is that of Apache Kafka."""
    config = LogConfig(message_timestamp_before_max_ms=10)
    sent = memoryview(build_batch([Record(-1, stamp, b"k", b"v") for stamp in (-1, -2)]))
    assert [index for index, _ in refused(sent, config).record_errors] == [1]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD])
def test_a_body_that_cannot_be_decoded_is_refused(codec: Codec) -> None:
    sent = keyed_batch((b"k", b"v" * 50), compression=codec)
    for at in range(HEADER_SIZE, len(sent), 3):
        damaged = memoryview(bytearray(sent))
        damaged[at] ^= 0xFF
        found = check_result(damaged, COMPACTED)
        assert isinstance(found, memoryview) or found.error is ErrorCode.INVALID_RECORD


def test_when_records_are_looked_at() -> None:
    plain, gzipped = read_header(batch()), read_header(batch(b"v" * 99, compression=Codec.GZIP))
    assert not must_decode(LogConfig(), gzipped)
    assert must_decode(COMPACTED, plain)
    assert must_decode(LogConfig(compression_type="gzip"), plain)
    assert not must_decode(LogConfig(compression_type="gzip"), gzipped)
    assert must_decode(LogConfig(compression_type="uncompressed"), gzipped)
    past = LogConfig(message_timestamp_before_max_ms=5)
    assert must_decode(past, plain)
    own = LogConfig(message_timestamp_before_max_ms=5, message_timestamp_type="LogAppendTime")
    assert not must_decode(own, plain)


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("producer", Codec.LZ4),
        ("uncompressed", Codec.NONE),
        ("gzip", Codec.GZIP),
        ("snappy", Codec.SNAPPY),
        ("lz4", Codec.LZ4),
        ("zstd", Codec.ZSTD),
    ],
)
def test_a_batch_is_built_anew_under_the_topics_codec(name: str, codec: Codec) -> None:
    config = LogConfig(compression_type=name)
    sent = keyed_batch(
        (b"a", b"v" * 300),
        (b"b", None),
        compression=Codec.LZ4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        is_transactional=True,
    )
    header = read_header(sent)
    assert target_codec(config, header) == codec
    records = list(iterate_records(sent))
    built = check_result(sent, config)
    assert isinstance(built, memoryview)
    new = read_header(built)
    assert crc_is_valid(built, 0, new)
    assert (new.compression, new.timestamp_type) == (codec, TimestampType.CREATE_TIME)
    kept = ("base_offset", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id")
    kept += ("producer_epoch", "base_sequence", "record_count", "is_transactional")
    assert [getattr(new, field) for field in kept] == [getattr(header, field) for field in kept]
    assert list(iterate_records(built)) == records
    assert not built.readonly


def test_the_greatest_time_of_a_batch_packed_anew_is_that_of_its_records() -> None:
    sent = memoryview(build_batch([Record(-1, 5, b"k", b"v"), Record(-1, 3, b"k", b"v")]))
    lie = memoryview(build_batch([Record(-1, 5, b"k", b"v")] * 2, max_timestamp=9))
    for batch_sent in (sent, lie):
        built = check_result(batch_sent, LogConfig(compression_type="gzip"))
        assert isinstance(built, memoryview)
        assert read_header(built).max_timestamp == 5


# --- in slices -----------------------------------------------------------------------------------

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
BOMB_BYTES = 40_000_000


def bomb(codec: Codec) -> memoryview:
    """A batch of one record, which is nothing but zeros."""
    return keyed_batch((b"k", bytes(BOMB_BYTES)), compression=codec)


class Slices:
    """Takes the steps one by one, and notes what each unpacks and how many records it sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on_loop = True
        self.most_on_loop = 0
        self.records = 0
        self.most_records = 0
        self.jobs: list[int | None] = []
        unpack, scan = compression.unpack_into, record_scan.scan_records

        def noted_unpack(codec: int, data: memoryview, out: memoryview) -> int | None:
            if self.on_loop:
                self.most_on_loop = max(self.most_on_loop, len(out))
            return unpack(codec, data, out)

        def noted_scan(*args: object):
            for found in scan(*args):
                self.records += found is not None
                yield found

        monkeypatch.setattr(batch_body, "unpack_into", noted_unpack)
        monkeypatch.setattr(record_validation, "scan_records", noted_scan)

    def run(self, sent: memoryview, config: LogConfig) -> memoryview | AppendRefusal:
        steps = check_records(sent, read_header(sent), config, NOW_MS, "topic-0")
        result = None
        while True:
            before = self.records
            try:
                job = steps.send(result)
            except StopIteration as end:
                return end.value
            finally:
                self.most_records = max(self.most_records, self.records - before)
            result = None
            if job is not None:
                self.jobs.append(job.holds_bytes)
                self.on_loop = False
                result = job.call()
                self.on_loop = True


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "config",
    [
        COMPACTED,
        LogConfig(message_timestamp_before_max_ms=10),
        LogConfig(compression_type="uncompressed"),
    ],
    ids=["compact", "before-max", "uncompressed"],
)
def test_what_unpacks_to_much_is_unpacked_by_threads(
    codec: Codec, config: LogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = Slices(monkeypatch)
    sent = bomb(codec)
    found = slices.run(sent, config)
    if config.compression_type == "uncompressed":
        assert isinstance(found, AppendRefusal) and found.error is ErrorCode.MESSAGE_TOO_LARGE
    else:
        assert found == sent
    assert slices.most_on_loop <= SLICE_BYTES
    *_, room, given_back = slices.jobs
    assert room is not None and BOMB_BYTES < room <= UNPACKED_LIMIT_BYTES
    assert given_back is None


def test_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_body, "UNPACKED_LIMIT_BYTES", 10_000_000)
    found = Slices(monkeypatch).run(bomb(Codec.ZSTD), COMPACTED)
    assert isinstance(found, AppendRefusal) and found.error is ErrorCode.INVALID_RECORD
    assert "over 10000000 bytes" in found.message


@pytest.mark.parametrize("codec", [Codec.NONE, *CODECS])
def test_many_records_are_looked_at_some_at_a_time(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = Slices(monkeypatch)
    count = 20 * record_scan.RECORDS_PER_STOP + 1
    sent = keyed_batch(*[(None, b"")] * count, compression=codec)
    found = slices.run(sent, COMPACTED)
    assert isinstance(found, AppendRefusal)
    assert len(found.record_errors) == RECORD_ERRORS_MAX
    assert f"{count} record errors" in found.message
    assert slices.records == count
    assert slices.most_records == record_scan.RECORDS_PER_STOP
    assert slices.most_on_loop <= SLICE_BYTES


def test_what_is_long_to_pack_is_packed_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    config = LogConfig(compression_type="zstd", compression_zstd_level=19)
    slices = Slices(monkeypatch)
    assert isinstance(
        slices.run(keyed_batch((b"k", bytes(PACKED_AT_ONCE_BYTES - 100))), config), memoryview
    )
    assert slices.jobs == []
    assert isinstance(
        slices.run(keyed_batch((b"k", bytes(PACKED_AT_ONCE_BYTES))), config), memoryview
    )
    assert len(slices.jobs) == 1
