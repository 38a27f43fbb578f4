"""The metadata log on a disk: its end decoded, what is added, who led when."""

from __future__ import annotations

from pathlib import Path

from console.quorum.metadata_folder import (
    Epoch,
    MetadataTail,
    epochs,
    folders,
    position_before,
)
from protocol.messages.metadata_records import NoOpRecord, TopicRecord, UserScramCredentialRecord
from storage.log.indexes import OFFSET_ENTRY
from tests.unit.console.quorum.quorum_samples import NOW, batch, leader_batch, log_in


def test_folders_of_a_node_and_of_a_cluster(tmp_path: Path) -> None:
    first = log_in(tmp_path / "broker-1" / "data", leader_batch(0, 1, 1))
    log_in(tmp_path / "other", leader_batch(0, 1, 1), cluster="D")
    assert folders([tmp_path], "C") == [first]
    assert folders([first.parent], "C") == [first]
    assert folders([tmp_path], "E") == []
    assert folders([tmp_path / "missing"], "C") == []


def test_the_records_in_words_and_those_that_come_later(tmp_path: Path) -> None:
    start = leader_batch(0, 1, 3) + batch(1, TopicRecord("orders", b"t" * 16), NoOpRecord())
    folder = log_in(tmp_path, start, b"\0" * 100)
    tail = MetadataTail(folder)
    first, topic, noop = tail.read()
    assert (first.offset, first.type, first.epoch, first.time_ms) == (0, "LEADER_CHANGE", 1, NOW)
    assert isinstance(first.data, dict)
    assert first.data["leaderId"] == 3
    assert (topic.offset, topic.type, topic.version) == (1, "TOPIC_RECORD", 0)
    assert isinstance(topic.data, dict)
    assert topic.data["name"] == "orders"
    assert noop.type == "NO_OP_RECORD"
    assert tail.read() == []
    added = batch(3, TopicRecord("payments", b"p" * 16))
    (folder / f"{0:020d}.log").write_bytes(start + added[:40])  # half written
    assert tail.read() == []
    (folder / f"{0:020d}.log").write_bytes(start + added)
    assert [one.offset for one in tail.read()] == [3]
    log_in(tmp_path, batch(4, NoOpRecord()), base=4)
    assert [one.offset for one in tail.read()] == [4]


def test_a_batch_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    start, added = batch(0, TopicRecord("orders", b"t" * 16)), batch(1, TopicRecord("p", b"p" * 16))
    half = added[:70] + bytes(len(added) - 70)
    folder = log_in(tmp_path, start, half, bytes(100))
    tail = MetadataTail(folder)
    assert [one.offset for one in tail.read()] == [0]
    assert tail.read() == []
    (folder / f"{0:020d}.log").write_bytes(start + added + bytes(100))
    assert [one.offset for one in tail.read()] == [1]


def test_secrets_stay_hidden(tmp_path: Path) -> None:
    secret = UserScramCredentialRecord("alice", 2, b"saltsalt", b"storedkey", b"serverkey", 4096)
    (shown,) = MetadataTail(log_in(tmp_path, batch(0, secret))).read()
    assert "alice" in str(shown.data)
    assert "salts" not in str(shown)
    assert shown.type == "USER_SCRAM_CREDENTIAL_RECORD"


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    pieces = [batch(one, TopicRecord(f"topic-{one}", bytes(16))) for one in range(50)]
    folder = log_in(tmp_path, *pieces)
    segment = folder / f"{0:020d}.log"
    at = len(b"".join(pieces[:40]))
    index = b"".join([OFFSET_ENTRY.pack(20, 1000), OFFSET_ENTRY.pack(40, at)])
    segment.with_suffix(".index").write_bytes(index + bytes(64))
    assert position_before(segment, at + 1) == at
    assert position_before(segment, 1) == 0
    assert position_before(segment, -5) == 0


def test_who_led_when(tmp_path: Path) -> None:
    folder = log_in(tmp_path, leader_batch(10, 2, 3), batch(11, NoOpRecord()), base=10)
    with (folder / f"{10:020d}.log").open("ab") as opened:
        opened.write(leader_batch(12, 3, 1))
    (folder / "leader-epoch-checkpoint").write_text("0\n3\n1 0\n2 10\n3 12\n")
    assert epochs(folder) == [Epoch(3, 12, 1, NOW), Epoch(2, 10, 3, NOW), Epoch(1, 0, None, None)]


def test_without_a_checkpoint_no_epochs_are_known(tmp_path: Path) -> None:
    assert epochs(log_in(tmp_path, leader_batch(0, 1, 1))) == []
