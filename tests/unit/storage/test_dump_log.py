"""Files of a data folder, as entries, as lines and as objects."""

from __future__ import annotations

import pytest

from log_format.transaction_index import AbortedTxn, encode_transactions
from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.records import Record
from storage.dump_log import (
    DAMAGE,
    Decode,
    Decoded,
    UnknownFile,
    entries_of,
    line_of,
    object_of,
    segment_entries,
    undecoded,
    whole_bytes,
)
from storage.log.checkpoints import encode_leader_epochs, encode_offsets
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from storage.log.producer_snapshot import encode_snapshot
from storage.log.producer_state import ProducerStateEntry
from tests.batches import build_batch

RECORDS = [Record(-1, 1000, b"k", b"v"), Record(-1, 1001, None, b"\xff\x00")]


def segment() -> bytes:
    return bytes(build_batch(RECORDS, base_offset=40, leader_epoch=3))


def shown(
    name: str, data: bytes, *, with_records: bool = False, decode: Decode = undecoded
) -> list[str]:
    return [
        line_of(one) for one in entries_of(name, data, with_records=with_records, decode=decode)
    ]


def test_a_segment_line_has_kafkas_words() -> None:
    (line,) = shown("00000000000000000040.log", segment())
    assert line.startswith("baseOffset: 40 lastOffset: 41 count: 2 baseSequence: -1 ")
    assert "partitionLeaderEpoch: 3 isTransactional: false" in line
    assert "deleteHorizonMs: none position: 0 CreateTime: 1001" in line
    assert line.endswith("isvalid: true")


def test_records_are_shown_when_wanted() -> None:
    _, first, second = shown("00000000000000000040.log", segment(), with_records=True)
    assert first.startswith("| offset: 40 CreateTime: 1000 keySize: 1 valueSize: 1")
    assert first.endswith("key: k payload: v")
    assert second.endswith("key: null payload: 0xff00")


def test_times_are_written_as_wanted_and_no_time_stays_a_number() -> None:
    (entry,) = entries_of("1.log", segment())
    assert "CreateTime: at 1001" in line_of(entry, lambda ms: f"at {ms}")
    no_time = bytes(build_batch([Record(-1, -1, b"k", b"v")]))
    (entry,) = entries_of("1.log", no_time)
    assert "CreateTime: -1 " in line_of(entry, lambda ms: f"at {ms}")


def test_the_caller_says_what_a_record_means() -> None:
    def decode(record: Record) -> Decoded | None:
        return Decoded({"of": "k"}, "a text") if record.key == b"k" else None

    _, first, second = shown("1.log", segment(), with_records=True, decode=decode)
    assert first.endswith('key: {"of": "k"} payload: a text')
    assert second.endswith("key: null payload: 0xff00")


def test_entries_as_objects() -> None:
    batch, first, second = entries_of("1.log", segment(), with_records=True)
    assert object_of(batch)["kind"] == "batch" and object_of(batch)["isvalid"] is True
    found = object_of(first)
    assert (found["kind"], found["CreateTime"], found["key"]) == ("record", 1000, "k")
    assert found["headerKeys"] == [] and found["payload"] == "v"
    assert object_of(second)["payload_base64"] == "/wA=" and object_of(second)["key"] is None
    (line,) = entries_of("meta.properties", b"version=1\n")
    assert object_of(line) == {"kind": "line", "text": "version=1"}


def test_damage_is_said_with_its_position() -> None:
    whole = segment()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    (line,) = shown("00000000000000000040.log", bytes(flipped))
    assert line.endswith("isvalid: false")
    torn = shown("00000000000000000040.log", whole + whole[:30])
    assert torn[1].startswith(f"damaged: position {len(whole)}, 30 bytes to the end")
    padded = shown("00000000000000000040.log", whole + bytes(64))
    assert padded[1] == f"position {len(whole)}: 64 zero bytes to the end of the file"


def test_a_segment_from_its_middle_on() -> None:
    whole = segment()
    for tail in (b"", whole[:30], bytes(64)):
        assert whole_bytes(whole + whole + tail) == 2 * len(whole)
    (batch,) = segment_entries(whole, None, 700)
    assert batch.facts["position"] == 700
    *_, damage = segment_entries(whole + whole[:30], None, 700)
    assert damage.kind == DAMAGE
    assert str(damage.facts["text"]).startswith(f"position {700 + len(whole)}, 30 bytes")


def test_indexes() -> None:
    data = OFFSET_ENTRY.pack(0, 0) + OFFSET_ENTRY.pack(7, 4100) + bytes(16)
    assert shown("00000000000000000040.index", data) == [
        "offset: 40 position: 0",
        "offset: 47 position: 4100",
        "2 empty entries to the end of the file",
    ]
    times = TIME_ENTRY.pack(1000, 0) + TIME_ENTRY.pack(900, 7) + b"x"
    assert shown("00000000000000000040.timeindex", times) == [
        "timestamp: 1000 offset: 40",
        "timestamp: 900 offset: 47",
        "damaged: entry 1 lies before the one above it",
        "damaged: 1 bytes are less than one entry",
    ]


def test_checkpoints_and_snapshots() -> None:
    offsets = encode_offsets({("t", 1): 5})
    assert shown("replication-offset-checkpoint", offsets) == ["t-1 offset: 5"]
    (entry,) = entries_of("replication-offset-checkpoint", offsets)
    assert object_of(entry) == {"kind": "entry", "topic": "t", "partition": 1, "offset": 5}
    assert shown("replication-offset-checkpoint", b"?")[0].startswith("damaged:")
    epochs = encode_leader_epochs([(0, 0), (2, 9)])
    assert shown("leader-epoch-checkpoint", epochs)[1] == "leaderEpoch: 2 startOffset: 9"
    assert shown("leader-epoch-checkpoint", b"?")[0].startswith("damaged:")
    producer = ProducerStateEntry(7)
    (line,) = shown("00000000000000000005.snapshot", encode_snapshot([producer]))
    assert line.startswith("producerId: 7 producerEpoch: -1") and "FirstOffset: none" in line
    assert shown("00000000000000000005.snapshot", b"?")[0].startswith("damaged:")


def test_markers_and_transaction_indexes() -> None:
    marker = build_transaction_marker(
        ControlRecordType.ABORT,
        producer_id=7,
        producer_epoch=1,
        coordinator_epoch=3,
        timestamp_ms=1000,
    )
    name = "00000000000000000000.log"
    head, record = shown(name, bytes(marker), with_records=True)
    assert "isTransactional: true isControl: true" in head
    assert record == (
        "| offset: 0 CreateTime: 1000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
        "endTxnMarker: ABORT coordinatorEpoch: 3"
    )
    odd = build_batch([Record(-1, 1, b"?", None)], is_control=True)
    assert "damaged: a control record's key" in shown(name, bytes(odd), with_records=True)[1]
    leader = build_batch([Record(-1, 1, b"\0\0\0\2", b"")], is_control=True)
    assert shown(name, bytes(leader), with_records=True)[1].endswith("controlType: LEADER_CHANGE")
    index = encode_transactions([AbortedTxn(7, 0, 5, 6)])
    assert shown("00000000000000000000.txnindex", index) == [
        "version: 0 producerId: 7 firstOffset: 0 lastOffset: 5 lastStableOffset: 6"
    ]
    assert shown("00000000000000000000.txnindex", b"?")[0].startswith("damaged:")


def test_texts_and_strangers() -> None:
    assert shown("meta.properties", b"version=1\nnode.id=1\n") == ["version=1", "node.id=1"]
    with pytest.raises(UnknownFile, match="dump-log cannot read 'notes.txt'"):
        shown("notes.txt", b"")
