"""An executor reads a range of a partition to its end, also where its last offsets hold nothing."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from confluent_kafka import KafkaError

from log_format.records import record_times
from pipeline.errors import PipelineError
from pipeline.record_times import bounded, reading
from pipeline.record_times.reading import PartitionRange, ReadRecords


class Message:
    """A record, or an error in its place."""

    def __init__(self, offset: int, error: int | None = None, at: int = 1) -> None:
        self._offset, self._error, self._at = offset, error, at

    def error(self) -> KafkaError | None:
        return None if self._error is None else KafkaError(self._error)

    def offset(self) -> int:
        return self._offset

    def partition(self) -> int:
        return 2

    def timestamp(self) -> tuple[int, int]:
        return 1, self._at

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"v"

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return [("h", None)] if self._offset % 2 else None

    def __len__(self) -> int:
        return 1


class Consumer:
    """Gives what it is to give, a list at a time; then nothing."""

    given: list[list[Message]] = []
    made: Any

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.assigned, self.is_closed = settings, [], False
        Consumer.made = self

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(one.topic, one.partition, one.offset) for one in partitions]

    def consume(self, number: int, timeout: float) -> list[Message]:
        return self.given.pop(0) if self.given else []

    def close(self) -> None:
        self.is_closed = True


def read(monkeypatch: pytest.MonkeyPatch, end: int, *given: list[Message]) -> list[Any]:
    monkeypatch.setattr(reading.client, "Consumer", Consumer)
    monkeypatch.setattr(reading, "_PATIENCE_S", -1)
    monkeypatch.setattr(Consumer, "given", list(given))
    settings = {"bootstrap.servers": "k:1", "isolation.level": "read_committed"}
    executor = ReadRecords(settings, "t", (PartitionRange(2, 5, end),))
    numbers = pa.RecordBatch.from_pydict({"id": pa.array([0], pa.int64())})
    try:
        return [row for batch in executor([numbers]) for row in batch.to_pylist()]
    finally:
        assert Consumer.made.is_closed


def test_the_range_and_nothing_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, 8, [Message(5), Message(7, at=-(1 << 63)), Message(8)])
    assert [(row["offset"], row["time_ms"]) for row in found] == [(5, 1), (7, -(1 << 63))]
    assert found[0] == {
        **{"key": None, "value": b"v", "topic": "t", "partition": 2, "offset": 5, "time_ms": 1},
        **{"timestampType": 0, "headers": [{"key": "h", "value": None}]},
    }
    assert Consumer.made.assigned == [("t", 2, 5)]
    assert Consumer.made.settings["isolation.level"] == "read_committed"


def test_the_end_of_the_partition_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    eof = KafkaError._PARTITION_EOF
    found = read(monkeypatch, 9, [Message(5), Message(6, eof)], [Message(6), Message(9, eof)])
    assert [row["offset"] for row in found] == [5, 6]
    assert found[1]["headers"] is None


def test_what_cannot_be_read_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PipelineError, match=r"t-2 cannot be read from offset 6 on \(.*\): see"):
        read(monkeypatch, 9, [Message(5), Message(-1001, KafkaError._AUTO_OFFSET_RESET)])
    with pytest.raises(PipelineError, match=r"t-2 cannot be read from offset 5 on \(no broker"):
        read(monkeypatch, 9)


def test_jobs_and_folders_bound_times_alike() -> None:
    for name in ("TIME_HEADER", "FIRST_MS", "LAST_MS"):
        assert getattr(bounded, name) == getattr(record_times, name)
