"""The rates between two samples of a cluster: what is written to topics, and the lag of groups.

Owns the calculation and the screen of `ottla top`. Pure: times are seconds of any clock. A topic or
a group that is in only one of the two samples has no rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.groups.total_lag import total_lag
from client.groups.uncommitted import Uncommitted, held, without_commit
from client.tables import ByteCount, aligned, counted, size_text
from ground.printable import printable

Partition = tuple[str, int]

_TOPIC_HEADINGS = ("TOPIC", "RECORDS/S", "BYTES/S", "PARTITIONS", "RECORDS", "BYTES")
_GROUP_HEADINGS = ("GROUP", "LAG", "CHANGE/S", "READ/S")
_OTHER_LINES = 4
"""The lines of a screen besides rows: the sums, the two headings, an empty line."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a cluster at the time `at` (seconds).

    `starts` and `ends` are offsets, `sizes` the bytes of the leaders' logs, by partition;
    `committed` are the committed offsets of each group.
    """

    at: float
    starts: Mapping[Partition, int] = field(default_factory=dict)
    ends: Mapping[Partition, int] = field(default_factory=dict)
    sizes: Mapping[Partition, int] = field(default_factory=dict)
    committed: Mapping[str, Mapping[Partition, int]] = field(default_factory=dict)


class TopicRate(NamedTuple):
    """A topic: the records and bytes written to it per second, and those that it holds.

    A rate is None if there was no earlier sample. `bytes` is None for a login that may not see the
    sizes of logs.
    """

    topic: str
    records_per_s: float | None
    bytes_per_s: float | None
    partitions: int
    records: int
    bytes: ByteCount | None


class GroupRate(NamedTuple):
    """A group: its lag, how that changes per second, and the records that it reads per second.

    `lag` is the sum of the known lags of partitions, None if no partition has a known lag.
    """

    group: str
    lag: int | None
    change_per_s: float | None
    read_per_s: float | None
    partitions_without_lag: int = 0
    uncommitted: Uncommitted = Uncommitted()
    """The partitions of the group's topics without a committed offset."""


def topic_rates(before: Sample, now: Sample) -> list[TopicRate]:
    """Return a rate for each topic of the sample `now`, most bytes per second first. The rates are
    None for a topic that is not in `before`."""
    elapsed_s = max(now.at - before.at, 1e-9)
    rows = []
    by_topic: dict[str, list[Partition]] = {}
    for at in now.ends:
        by_topic.setdefault(at[0], []).append(at)
    for topic, own_partitions in by_topic.items():
        in_both = [at for at in own_partitions if at in before.ends]
        records = sum(now.ends[at] - now.starts.get(at, 0) for at in own_partitions)
        new_records = [max(now.ends[at] - before.ends[at], 0) for at in in_both]
        sizes = {at: now.sizes[at] for at in own_partitions if at in now.sizes}
        new_bytes = [
            max(size - before.sizes[at], 0) for at, size in sizes.items() if at in before.sizes
        ]
        byte_count = ByteCount(sum(sizes.values())) if sizes else None
        of_records = sum(new_records) / elapsed_s if new_records else None
        of_bytes = sum(new_bytes) / elapsed_s if new_bytes else None
        rows.append(
            TopicRate(topic, of_records, of_bytes, len(own_partitions), records, byte_count)
        )
    return sorted(rows, key=_by_bytes)


def group_rates(before: Sample, now: Sample) -> list[GroupRate]:
    """Return a rate for each group of the sample `now` that has committed offsets, the largest lag
    first. The rates are None for a group that is not in `before`."""
    elapsed_s = max(now.at - before.at, 1e-9)
    rows = []
    indexes: dict[str, list[int]] = {}
    for topic, index in now.ends:
        indexes.setdefault(topic, []).append(index)
    for group, committed in now.committed.items():
        if not committed:
            continue
        uncommitted = held(without_commit(committed, indexes), now.starts, now.ends)
        lags = {at: _lag(offset, now.ends.get(at)) for at, offset in committed.items()}
        lag = total_lag(lags.values())
        earlier_offsets = before.committed.get(group, {})
        changes = [
            behind - was_behind
            for at, offset in earlier_offsets.items()
            if (behind := lags.get(at)) is not None
            and (was_behind := _lag(offset, before.ends.get(at))) is not None
        ]
        read = [
            max(committed[at] - offset, 0)
            for at, offset in earlier_offsets.items()
            if at in committed
        ]
        change_per_s = sum(changes) / elapsed_s if changes else None
        read_per_s = sum(read) / elapsed_s if read else None
        rows.append(
            GroupRate(group, lag.records, change_per_s, read_per_s, lag.unknown, uncommitted)
        )
    return sorted(rows, key=_by_lag)


def screen(topics: Sequence[TopicRate], groups: Sequence[GroupRate], height: int) -> list[str]:
    """Return the lines of one screen, at most `height`: the sums, then the first rows of topics and
    groups.

    Topics get half of the rows, and those that groups do not need; groups likewise.
    """
    room = max(height - _OTHER_LINES, 2)
    of_groups = min(len(groups), max(room // 2, room - len(topics)))
    of_topics = min(len(topics), room - of_groups)
    records = sum(topic.records_per_s or 0 for topic in topics)
    sizes = [topic.bytes_per_s for topic in topics if topic.bytes_per_s is not None]
    size = f", {size_text(sum(sizes))}/s" if sizes or not topics else ""
    counts = f"{counted(len(topics), 'topic')}, {counted(len(groups), 'group')}"
    lines = [f"{records:.0f} records/s{size} written to {counts}"]
    rows = [
        [
            printable(topic.topic),
            _rate_text(topic.records_per_s),
            "-" if topic.bytes_per_s is None else size_text(topic.bytes_per_s),
            str(topic.partitions),
            str(topic.records),
            "-" if topic.bytes is None else size_text(topic.bytes),
        ]
        for topic in topics[:of_topics]
    ]
    lines += aligned([_TOPIC_HEADINGS, *rows])
    if groups:
        behind = [
            [
                printable(group.group),
                _lag_text(group),
                _rate_text(group.change_per_s, signed=True),
                _rate_text(group.read_per_s),
            ]
            for group in groups[:of_groups]
        ]
        lines += ["", *aligned([_GROUP_HEADINGS, *behind])]
    return lines[:height]


def _lag(committed: int, end: int | None) -> int | None:
    """Return the records between a committed offset and the end, at least 0; None if the end is not
    known."""
    return None if end is None else max(end - committed, 0)


def _lag_text(rate: GroupRate) -> str:
    """Return text such as `1200`, `at least 1200` if some partitions have no known lag, or `-` if
    none has."""
    if rate.lag is None:
        return "-"
    return f"at least {rate.lag}" if rate.partitions_without_lag else str(rate.lag)


def _rate_text(rate: float | None, *, signed: bool = False) -> str:
    """Return a rate as text, rounded, `-` for None; `signed`: with its sign unless it is 0."""
    if rate is None:
        return "-"
    return f"{rate:+.0f}" if signed and round(rate) else f"{rate:.0f}"


def _by_bytes(rate: TopicRate) -> tuple[float, float, str]:
    """Return the key that sorts the busiest topics first."""
    return -(rate.bytes_per_s or 0), -(rate.records_per_s or 0), rate.topic


def _by_lag(rate: GroupRate) -> tuple[int, str]:
    """Return the key that sorts the groups with the largest lag first."""
    return -(rate.lag or 0), rate.group
