"""A topic of a test, which writes, reads and checks records without a client library.

    orders = ottla.topic("orders", partitions=3)
    orders.seed([("k1", {"id": 1}), b"raw", Message(value="x", headers={"h": "1"})])
    first = orders.consume(count=1)[0].json()

Its real name (`orders.name`) is unique, so records of other tests cannot come into it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ottla.testing.errors import SHOW_THE_CALLER, OttlaError
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record, from_channel, to_channel

__tracebackhide__ = SHOW_THE_CALLER

TIMEOUT_S = 30.0
SEED_TIMEOUT_S = 60.0
CALL_MARGIN_S = 10.0
"""The seconds that a call may take beyond its time-out for waiting."""
_SEED_BYTES = 8 * 1024 * 1024
_SHOWN_RECORDS = 10
_SHOWN_NAMES = 20


class Call(Protocol):
    """A function that calls an operation of a broker's control channel, or of a cluster's."""

    def __call__(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        """Return the answer of an operation. Raises OttlaError; DeadlinePassed after `timeout_s`
        seconds."""


class NotAsExpected(OttlaError, AssertionError):
    """An expectation of a test was not met; the text says what there is instead."""

    kind = "unexpected"


class Topic:
    """A topic of a test. Clients use `name`, which is its real name."""

    def __init__(self, call: Call, name: str, label: str | None = None) -> None:
        """Describe a topic, whether it exists or not. `call` reaches the brokers; `label` is the
        name that the test gave the topic, None: the same as `name`."""
        self.name = name
        self.label = label or name
        """The name that the test gave the topic."""
        self.is_deleted = False
        """Whether `delete` was called."""
        self._call = call
        self._positions: dict[str, int] = {}

    def seed(self, messages: Iterable[Content], *, compression: str = "none") -> list[Record]:
        """Write records, acknowledged by all in-sync replicas, and return them with partition and
        offset. See `ottla.testing.records` for the forms of a message.

        `compression`: none, gzip, snappy, lz4 or zstd. Raises Misuse if the topic does not exist,
        OttlaError if a record is not written.
        """
        written: list[Record] = []
        for portion in _portions(to_channel(messages)):
            args = {
                "topic": self.name,
                "records": portion,
                "compression": compression,
                "timeout_s": SEED_TIMEOUT_S,
            }
            places = self._call("records.seed", args, timeout_s=SEED_TIMEOUT_S + CALL_MARGIN_S)
            placed = [
                {**message, "partition": partition, "offset": offset, "timestamp": timestamp}
                for message, (partition, offset, timestamp) in zip(portion, places, strict=True)
            ]
            written += from_channel(self.name, placed)
        return written

    def consume(
        self, count: int | None = None, *, timeout: float = TIMEOUT_S, committed: bool = True
    ) -> list[Record]:
        """Read on from the end of the last `consume`; the first call reads from the start.

        With `count`, return exactly that many records as soon as they are there. Raises
        NotAsExpected, with the records that came instead, if they are not there within `timeout`
        seconds. Without `count`, return all records that are there now; raises DeadlinePassed if
        reading takes longer. The records of a partition are in order; the order of partitions is
        undefined. `committed`: leave out records of transactions that are open or aborted, and
        records behind an open one.
        """
        __tracebackhide__ = True
        start = dict(self._positions)
        records, exists = self._read(self._positions, count, timeout, committed)
        if count is not None and len(records) < count:
            raise NotAsExpected(
                f"{counted(count)} of {self.label} expected within {timeout:g} s: "
                + (self.described(records, start) if exists else self.absent())
            )
        return records

    def records(self, *, committed: bool = True) -> list[Record]:
        """Return all records that are there now, from the start; none if the topic does not exist.
        This does not move the position of `consume`. `committed` is as in `consume`."""
        records, _ = self._read({}, None, TIMEOUT_S, committed)
        return records

    def rewind(self) -> None:
        """Let the next `consume` read from the start."""
        self._positions.clear()

    def grow(self, partitions: int) -> None:
        """Add partitions up to a total of `partitions`, and return once all have leaders. Raises
        OttlaError if the brokers reject that."""
        self._call("topic.grow", {"name": self.name, "partitions": partitions})

    def delete(self) -> None:
        """Delete the topic, and return when no broker knows it any more. A topic that does not
        exist is ignored."""
        self._call("topic.delete", {"names": [self.name]})
        self._positions.clear()
        self.is_deleted = True

    def ends(self) -> dict[int, int]:
        """Return the offset behind the last record, by partition; None if the partition's leader
        does not answer. Empty if the topic does not exist."""
        described = self._call("topic.describe", {"names": [self.name]})
        partitions = described.get(self.name, {})
        return {int(index): partition["end"] for index, partition in partitions.items()}

    def leader(self, partition: int = 0) -> int:
        """Return the id of the node that leads a partition; -1 if none does. Raises NotAsExpected
        if there is no such topic or partition."""
        described = self._call("topic.describe", {"names": [self.name]})
        if self.name not in described:
            raise NotAsExpected(self.absent())
        partitions = described[self.name]
        if str(partition) not in partitions:
            raise NotAsExpected(
                f"{self.label} has no partition {partition}: it has {len(partitions)}"
            )
        node: int = partitions[str(partition)]["leader"]
        return node

    def read_on(
        self, positions: dict[str, int], timeout: float, count: int | None
    ) -> tuple[list[Record], bool]:
        """Return the committed records behind `positions`, and whether the topic exists. Moves
        `positions`, offsets by partition number, behind these records. Waits up to `timeout`
        seconds for `count` records; None: reads to the present end."""
        return self._read(positions, count, timeout, True)

    def described(self, records: Sequence[Record], start: Mapping[str, int] | None = None) -> str:
        """Return a text about the records that came, and about records that a reader with
        `committed` does not see. Without records, it names other topics that have some. `start`:
        the positions from which they were read."""
        hidden = self._hidden(records, start or {})
        if not records:
            return "none came" + (hidden or self._elsewhere())
        lines = [f"{len(records)} came" + hidden]
        lines += [f"  {record}" for record in records[:_SHOWN_RECORDS]]
        if len(records) > _SHOWN_RECORDS:
            lines.append(f"  … and {len(records) - _SHOWN_RECORDS} more")
        return "\n".join(lines)

    def absent(self) -> str:
        """Return a text that says that the topic does not exist, and which topics do."""
        return f"there is no topic {self.name} (there are: {some(self._call('topic.describe'))})"

    def _hidden(self, records: Sequence[Record], start: Mapping[str, int]) -> str:
        """Return a text about further records, of transactions that are open or were aborted; empty
        if none, or if reading fails."""
        try:
            all_records, _ = self._read(dict(start), None, TIMEOUT_S, False)
        except OttlaError:  # the message to build is about missing records, not about this error
            return ""
        places = {(record.partition, record.offset) for record in records}
        count = sum((record.partition, record.offset) not in places for record in all_records)
        if not count:
            return ""
        return (
            f", and {counted(count)} of transactions that are open or were aborted "
            "(committed=False reads them)"
        )

    def _elsewhere(self) -> str:
        """Return a text about records in other topics, because the application may have written
        there, and about earlier records of this topic; empty if none."""
        topics = self._call("topic.describe")
        full = [
            f"{name} ({count})"
            for name, partitions in topics.items()
            if name != self.name
            and (count := sum((p["end"] or 0) - (p["start"] or 0) for p in partitions.values()))
        ]
        own_partitions = topics.get(self.name, {})
        before = sum(p["end"] or 0 for p in own_partitions.values())
        words = f"; {before} were there before" if before else ""
        return words + (f"; topics with records: {some(full)}" if full else "")

    def _read(
        self, positions: dict[str, int], count: int | None, timeout: float, committed: bool
    ) -> tuple[list[Record], bool]:
        """Return `count` records, or all up to the present end if it is None, and whether the topic
        exists.

        Moves `positions` behind them. Returns fewer records after `timeout` seconds; if `count` is
        None, raises DeadlinePassed.
        """
        deadline = time.monotonic() + timeout
        records: list[Record] = []
        ends: Json = None
        while True:
            time_left = timeout if count is None else max(deadline - time.monotonic(), 0.0)
            args = {
                "topic": self.name,
                "positions": positions,
                "count": None if count is None else count - len(records),
                "timeout_s": time_left,
                "committed": committed,
                "ends": ends,
            }
            answer = self._call("records.consume", args, timeout_s=timeout + CALL_MARGIN_S)
            positions.update(answer["positions"])
            records += from_channel(self.name, answer["records"])
            ends = answer["ends"]
            if not answer["cut_off"]:
                return records, answer["exists"]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Topic({self.name!r})"


def some(names: Iterable[str]) -> str:
    """Return the first 20 names as a text, and how many more there are; "none" if there is no
    name."""
    all_names = list(names)
    more = len(all_names) - _SHOWN_NAMES
    return (
        ", ".join(all_names[:_SHOWN_NAMES]) + (f" … and {more} more" if more > 0 else "") or "none"
    )


def _portions(messages: list[dict[str, Json]]) -> list[list[dict[str, Json]]]:
    """Split messages, in their order, into portions of at most 8 MiB, or of a single larger
    message. Without messages, return an empty portion."""
    portions: list[list[dict[str, Json]]] = [[]]
    size = 0
    for message in messages:
        added = 64 + len(message["key"] or b"") + len(message["value"] or b"")
        added += sum(len(name) + len(value or b"") for name, value in message["headers"])
        if portions[-1] and size + added > _SEED_BYTES:
            portions.append([])
            size = 0
        size += added
        portions[-1].append(message)
    return portions


def counted(count: int) -> str:
    """Return the number of records with the noun: "1 record", "2 records"."""
    return "1 record" if count == 1 else f"{count} records"
