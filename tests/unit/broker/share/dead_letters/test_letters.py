"""What a dead letter has, and where it goes."""

from __future__ import annotations

import pytest

from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from ground.sim_scheduler import START_WALL_MS
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import crc_is_valid, read_header
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.share.dead_letters.letter_stage import HERE, KEY, THERE, Stage

COPY = {"errors_deadletterqueue_copy_record_enable": "true"}


def put(stage: Stage, first: int, *records: tuple[bytes | None, bytes | None], **how: int) -> None:
    """Write a batch to the original log."""
    batch = build_batch(
        [Record(-1, 5, key, value, (("own", b"header"),)) for key, value in records],
        base_offset=first,
        **how,
    )
    stage.log[first + len(records) - 1] = bytes(batch)


def contents(stage: Stage) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in stage.next_sent().records()]


def test_headers_name_the_original_record_and_the_reason() -> None:
    stage = Stage()
    stage.bury(7, 8)
    stage.writer.bury(KEY, DeadLetter(9, 9, 5, is_rejected=False), lambda: None)
    sent = stage.next_sent()
    origin = [
        ("__dlq.errors.topic", b"source"),
        ("__dlq.errors.partition", b"4"),
        ("__dlq.errors.offset", b"7"),
        ("__dlq.errors.group", b"g"),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    ]
    first, second, third = sent.records()
    assert first == Record(0, START_WALL_MS, None, None, tuple(origin))
    assert dict(second.headers)["__dlq.errors.offset"] == b"8"
    assert dict(third.headers)["__dlq.errors.delivery.count"] == b"5"
    reason = dict(third.headers)["__dlq.errors.message"]
    assert reason == b"Offset delivery count exceeded the threshold."
    assert (sent.request.acks, sent.request.topic_data[0].topic_id) == (-1, b"d" * 16)
    records = sent.request.topic_data[0].partition_data[0].records
    assert records is not None
    header = read_header(records)  # type: ignore[arg-type]
    assert crc_is_valid(records, 0, header)  # type: ignore[arg-type]


def test_a_deleted_topic_is_named_by_its_id() -> None:
    stage = Stage()
    stage.bury(7, key=SharePartitionKey("g", b"\0" * 15 + b"\1", 0))
    (record,) = stage.next_sent().records()
    assert dict(record.headers)["__dlq.errors.topic"] == b"AAAAAAAAAAAAAAAAAAAAAQ"


def test_the_partition_is_the_original_one_modulo_the_count() -> None:
    stage = Stage(leaders=[HERE, THERE, HERE])
    stage.bury(7)
    stage.bury(8, key=KEY._replace(partition=2))
    stage.settle()
    there, here = sorted(stage.sent, key=lambda sent: -sent.broker)
    assert (there.broker, there.offsets(1)) == (THERE, [7])
    assert (here.broker, here.offsets(2)) == (HERE, [8])


@pytest.mark.parametrize("codec", list(Codec))
def test_key_and_value_are_copied_without_headers(codec: Codec) -> None:
    stage = Stage(**COPY)
    put(stage, 5, (b"k5", b"v5"), (b"k6", b"v6"), (b"k7", b"v7"), compression=codec)
    put(stage, 8, (None, b"v8"), (b"k9", None), compression=codec)
    stage.bury(6, 9)
    copied = [(b"k6", b"v6"), (b"k7", b"v7"), (None, b"v8"), (b"k9", None)]
    sent = stage.next_sent()
    assert [(record.key, record.value) for record in sent.records()] == copied
    assert all("own" not in dict(record.headers) for record in sent.records())
    assert sent.offsets() == [6, 7, 8, 9]


def test_nothing_is_read_without_copies() -> None:
    stage = Stage()
    stage.bury(6, 9)
    assert (contents(stage), stage.reads) == ([(None, None)] * 4, 0)


def test_offsets_that_compaction_removed_have_letters_without_content() -> None:
    stage = Stage(**COPY)
    kept = [Record(5, 5, b"k5", b"v5"), Record(8, 5, b"k8", b"v8")]
    stage.log[9] = bytes(build_batch(kept, base_offset=5, last_offset=9))
    put(stage, 12, (b"k12", b"v12"))
    stage.bury(4, 13)
    expected = {5: (b"k5", b"v5"), 8: (b"k8", b"v8"), 12: (b"k12", b"v12")}
    assert contents(stage) == [expected.get(offset, (None, None)) for offset in range(4, 14)]


def test_control_records_are_copied_like_others() -> None:
    stage = Stage(**COPY)
    put(stage, 5, (b"\0\0\0\1", b"\0\0\0\0\0\0"), is_control=True)
    stage.bury(5)
    assert contents(stage) == [(b"\0\0\0\1", b"\0\0\0\0\0\0")]


def test_letters_of_one_batch_read_it_once_in_any_order() -> None:
    stage = Stage(**COPY)
    put(stage, 0, *[(b"k", b"%d" % offset) for offset in range(9)])
    for offset in (2, 4, 3, 8):
        stage.bury(offset)
    assert [value for _, value in contents(stage)] == [b"2", b"4", b"3", b"8"]
    assert stage.reads == 1


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_record_that_no_batch_can_hold_has_a_letter_without_content(codec: Codec) -> None:
    stage = Stage(**COPY)
    stage.limit(1_000)
    put(stage, 5, (b"k", b"v"), (b"k", bytes(2_000)), (b"k", bytes(900)), compression=codec)
    stage.bury(5, 7)
    assert contents(stage) == [(b"k", b"v"), (None, None), (None, None)]


def test_a_damaged_batch_costs_only_its_own_content() -> None:
    stage = Stage(**COPY)
    put(stage, 5, (b"k5", b"v5"), compression=Codec.GZIP)
    stage.log[5] = stage.log[5][:-4] + b"\xff\xff\xff\xff"
    put(stage, 6, (b"k6", b"v6"))
    stage.bury(5, 6)
    assert contents(stage) == [(None, None), (b"k6", b"v6")]


@pytest.mark.parametrize("error", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_log_that_cannot_be_read_gives_letters_without_content(error: ErrorCode) -> None:
    stage = Stage(**COPY)
    stage.read_error = error
    stage.bury(5, 6)
    assert contents(stage) == [(None, None)] * 2


def test_bytes_that_are_no_batch_give_letters_without_content() -> None:
    stage = Stage(**COPY)
    put(stage, 5, (b"k5", b"v5"))
    put(stage, 6, (b"k6", b"v6"))
    stage.log[6] = stage.log[6][:16] + b"\7" + stage.log[6][17:]  # its magic
    stage.bury(5, 6)
    assert contents(stage) == [(b"k5", b"v5"), (None, None)]


def test_the_next_leader_buries_records_that_this_one_cannot_read_any_more() -> None:
    stage = Stage(**COPY)
    stage.read_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    stage.bury(5)
    stage.settle()
    assert (stage.sent, stage.done, stage.writer.pending_count) == ([], [], 0)


def test_a_config_that_cannot_be_read_counts_as_not_set() -> None:
    stage = Stage(errors_deadletterqueue_copy_record_enable="perhaps")
    stage.bury(5)
    assert (contents(stage), stage.reads) == ([(None, None)], 0)
