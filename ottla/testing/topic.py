"""A topic of a test: seeded, consumed, asserted about, without a client library.

    orders = ottla.topic("orders", partitions=3)
    orders.seed([("k1", {"id": 1}), b"raw", Message(value="x", headers={"h": "1"})])
    first = orders.consume(count=1)[0].json()

Its real name is its own (`orders.name`), so that nothing of another test can come into it.
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
"""What a call may take beyond the time for what it waits for."""
_SEED_BYTES = 8 * 1024 * 1024
_SHOWN_RECORDS = 10
_SHOWN_NAMES = 20


class Call(Protocol):
    """The control channel of a broker, or of whoever asks a cluster."""

    def __call__(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json: ...


class NotAsExpected(OttlaError, AssertionError):
    """What a test expects is not so; the text says what is."""

    kind = "unexpected"


class Topic:
    """See the module. `name` is what clients are to be told."""

    def __init__(self, call: Call, name: str, label: str | None = None) -> None:
        self.name = name
        self.label = label or name
        """What the test calls it."""
        self.is_deleted = False
        """Whether `delete` was called."""
        self._call = call
        self._positions: dict[str, int] = {}

    def seed(self, messages: Iterable[Content], *, compression: str = "none") -> list[Record]:
        """Write records, acknowledged by all replicas in sync; they come back with partition and
        offset. See `ottla.testing.records` for what a message may be.

        `compression`: none, gzip, snappy, lz4 or zstd.
        """
        written: list[Record] = []
        for some in _portions(to_channel(messages)):
            args = {
                "topic": self.name,
                "records": some,
                "compression": compression,
                "timeout_s": SEED_TIMEOUT_S,
            }
            places = self._call("records.seed", args, timeout_s=SEED_TIMEOUT_S + CALL_MARGIN_S)
            placed = [
                {**one, "partition": partition, "offset": offset, "timestamp": timestamp}
                for one, (partition, offset, timestamp) in zip(some, places, strict=True)
            ]
            written += from_channel(self.name, placed)
        return written

    def consume(
        self, count: int | None = None, *, timeout: float = TIMEOUT_S, committed: bool = True
    ) -> list[Record]:
        """Read on from where the last `consume` ended; at first from the start.

        With a `count`, exactly so many, as soon as they are there; NotAsExpected, with what came
        instead, where they are not within `timeout` seconds. Without, all that is there now. Within
        a partition records are in order; in what order partitions come is not told. `committed`:
        nothing of transactions that are open or were aborted, and nothing behind an open one.
        """
        __tracebackhide__ = True
        start = dict(self._positions)
        found, exists = self._read(self._positions, count, timeout, committed)
        if count is not None and len(found) < count:
            raise NotAsExpected(
                f"{_count(count)} of {self.label} expected within {timeout:g} s: "
                + (self.described(found, start) if exists else self.absent())
            )
        return found

    def records(self, *, committed: bool = True) -> list[Record]:
        """All that is there now, from the start; `consume` goes on where it was."""
        found, _ = self._read({}, None, TIMEOUT_S, committed)
        return found

    def rewind(self) -> None:
        """The next `consume` begins at the start."""
        self._positions.clear()

    def grow(self, partitions: int) -> None:
        """More partitions: so many in all, led on return."""
        self._call("topic.grow", {"name": self.name, "partitions": partitions})

    def delete(self) -> None:
        """Delete it; no broker knows it on return."""
        self._call("topic.delete", {"names": [self.name]})
        self._positions.clear()
        self.is_deleted = True

    def ends(self) -> dict[int, int]:
        """The offset behind the last record of each partition."""
        found = self._call("topic.describe", {"names": [self.name]})
        partitions = found.get(self.name, {})
        return {int(index): one["end"] for index, one in partitions.items()}

    def leader(self, partition: int = 0) -> int:
        """The node that leads a partition; -1 where none does."""
        found = self._call("topic.describe", {"names": [self.name]})
        if self.name not in found:
            raise NotAsExpected(self.absent())
        partitions = found[self.name]
        if str(partition) not in partitions:
            raise NotAsExpected(
                f"{self.label} has no partition {partition}: it has {len(partitions)}"
            )
        node: int = partitions[str(partition)]["leader"]
        return node

    def read_on(
        self, positions: dict[str, int], timeout: float, count: int | None
    ) -> tuple[list[Record], bool]:
        """For assertions: what comes behind `positions`, which move on; whether the topic is
        there."""
        return self._read(positions, count, timeout, True)

    def described(self, found: Sequence[Record], start: Mapping[str, int] | None = None) -> str:
        """What came, or is there, for a message. `start`: from where on it was looked for."""
        hidden = self._hidden(found, start or {})
        if not found:
            return "none came" + (hidden or self._elsewhere())
        lines = [f"{len(found)} came" + hidden]
        lines += [f"  {one}" for one in found[:_SHOWN_RECORDS]]
        if len(found) > _SHOWN_RECORDS:
            lines.append(f"  … and {len(found) - _SHOWN_RECORDS} more")
        return "\n".join(lines)

    def absent(self) -> str:
        """That it is not there, and what is."""
        return f"there is no topic {self.name} (there are: {some(self._call('topic.describe'))})"

    def _hidden(self, found: Sequence[Record], start: Mapping[str, int]) -> str:
        """How many there are beside those, of transactions that are open or were aborted."""
        try:
            every, _ = self._read(dict(start), None, TIMEOUT_S, False)
        except OttlaError:  # what is to be told is that records lack
            return ""
        came = {(one.partition, one.offset) for one in found}
        count = sum((one.partition, one.offset) not in came for one in every)
        if not count:
            return ""
        return (
            f", and {_count(count)} of transactions that are open or were aborted "
            "(committed=False reads them)"
        )

    def _elsewhere(self) -> str:
        """Which other topics have records: the application may have written there."""
        topics = self._call("topic.describe")
        full = [
            f"{name} ({count})"
            for name, partitions in topics.items()
            if name != self.name
            and (count := sum((p["end"] or 0) - (p["start"] or 0) for p in partitions.values()))
        ]
        own = topics.get(self.name, {})
        before = sum(p["end"] or 0 for p in own.values())
        words = f"; {before} were there before" if before else ""
        return words + (f"; topics with records: {some(full)}" if full else "")

    def _read(
        self, positions: dict[str, int], count: int | None, timeout: float, committed: bool
    ) -> tuple[list[Record], bool]:
        deadline = time.monotonic() + timeout
        records: list[Record] = []
        ends: Json = None
        while True:
            left = timeout if count is None else max(deadline - time.monotonic(), 0.0)
            args = {
                "topic": self.name,
                "positions": positions,
                "count": None if count is None else count - len(records),
                "timeout_s": left,
                "committed": committed,
                "ends": ends,
            }
            found = self._call("records.consume", args, timeout_s=timeout + CALL_MARGIN_S)
            positions.update(found["positions"])
            records += from_channel(self.name, found["records"])
            ends = found["ends"]
            if not found["cut_off"]:
                return records, found["exists"]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Topic({self.name!r})"


def some(names: Iterable[str]) -> str:
    """For a message: the first ones of them, however many there are."""
    every = list(names)
    more = len(every) - _SHOWN_NAMES
    return ", ".join(every[:_SHOWN_NAMES]) + (f" … and {more} more" if more > 0 else "") or "none"


def _portions(messages: list[dict[str, Json]]) -> list[list[dict[str, Json]]]:
    """In pieces that a call may have."""
    found: list[list[dict[str, Json]]] = [[]]
    size = 0
    for one in messages:
        added = 64 + len(one["key"] or b"") + len(one["value"] or b"")
        added += sum(len(name) + len(value or b"") for name, value in one["headers"])
        if found[-1] and size + added > _SEED_BYTES:
            found.append([])
            size = 0
        size += added
        found[-1].append(one)
    return found


def _count(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
