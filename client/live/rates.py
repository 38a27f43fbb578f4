"""What goes on between two looks at a cluster: topics by what is written, groups by their lag.

Owns the sums. Pure: a look is a `Sample`, times are seconds of any clock. A topic or a group that
only one of the two looks has seen has no rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.groups.total_lag import total_lag
from client.tables import ByteCount, aligned, size_text
from ground.printable import printable

Partition = tuple[str, int]

_TOPIC_HEADINGS = ("TOPIC", "RECORDS/S", "BYTES/S", "PARTITIONS", "RECORDS", "BYTES")
_GROUP_HEADINGS = ("GROUP", "LAG", "CHANGE/S", "READ/S")
_OTHER_LINES = 4
"""The line of sums, the two headings, a line between."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look, at `at`: ends and leaders' bytes by partition, offsets that groups committed."""

    at: float
    starts: Mapping[Partition, int] = field(default_factory=dict)
    ends: Mapping[Partition, int] = field(default_factory=dict)
    sizes: Mapping[Partition, int] = field(default_factory=dict)
    committed: Mapping[str, Mapping[Partition, int]] = field(default_factory=dict)


class TopicRate(NamedTuple):
    """A topic: what came a second, and what is there.

    `bytes` is None for a login that may not see the sizes of logs.
    """

    topic: str
    records_per_s: float | None
    bytes_per_s: float | None
    partitions: int
    records: int
    bytes: ByteCount | None


class GroupRate(NamedTuple):
    """A group: how far it is behind, how that changes a second, and how much it reads.

    `lag` is None where it is known of no partition; else it is the sum of those whose lag is known.
    """

    group: str
    lag: int | None
    change_per_s: float | None
    read_per_s: float | None
    partitions_without_lag: int = 0


def topic_rates(before: Sample, now: Sample) -> list[TopicRate]:
    """Of all topics, those with most bytes a second first."""
    passed = max(now.at - before.at, 1e-9)
    rows = []
    by_topic: dict[str, list[Partition]] = {}
    for at in now.ends:
        by_topic.setdefault(at[0], []).append(at)
    for topic, own in by_topic.items():
        seen = [at for at in own if at in before.ends]
        records = sum(now.ends[at] - now.starts.get(at, 0) for at in own)
        came = [max(now.ends[at] - before.ends[at], 0) for at in seen]
        sizes = {at: now.sizes[at] for at in own if at in now.sizes}
        grown = [
            max(size - before.sizes[at], 0) for at, size in sizes.items() if at in before.sizes
        ]
        held = ByteCount(sum(sizes.values())) if sizes else None
        of_records = sum(came) / passed if came else None
        of_bytes = sum(grown) / passed if grown else None
        rows.append(TopicRate(topic, of_records, of_bytes, len(own), records, held))
    return sorted(rows, key=_busiest)


def group_rates(before: Sample, now: Sample) -> list[GroupRate]:
    """Of all groups that have committed something, those furthest behind first."""
    passed = max(now.at - before.at, 1e-9)
    rows = []
    for group, committed in now.committed.items():
        if not committed:
            continue
        lags = {at: _lag(offset, now.ends.get(at)) for at, offset in committed.items()}
        lag = total_lag(lags.values())
        then = before.committed.get(group, {})
        changes = [
            behind - was_behind
            for at, offset in then.items()
            if (behind := lags.get(at)) is not None
            and (was_behind := _lag(offset, before.ends.get(at))) is not None
        ]
        read = [max(committed[at] - offset, 0) for at, offset in then.items() if at in committed]
        change_per_s = sum(changes) / passed if changes else None
        read_per_s = sum(read) / passed if read else None
        rows.append(GroupRate(group, lag.records, change_per_s, read_per_s, lag.unknown))
    return sorted(rows, key=_furthest)


def screen(topics: Sequence[TopicRate], groups: Sequence[GroupRate], height: int) -> list[str]:
    """Lines of one screen, at most `height`: the topics have half of it, and what groups leave."""
    room = max(height - _OTHER_LINES, 2)
    of_groups = min(len(groups), max(room // 2, room - len(topics)))
    of_topics = min(len(topics), room - of_groups)
    records = sum(one.records_per_s or 0 for one in topics)
    sizes = [one.bytes_per_s for one in topics if one.bytes_per_s is not None]
    size = f", {size_text(sum(sizes))}/s" if sizes or not topics else ""
    counts = f"{_count(len(topics), 'topic')}, {_count(len(groups), 'group')}"
    lines = [f"{records:,.0f} records/s{size} written to {counts}"]
    rows = [
        [
            printable(one.topic),
            _rate(one.records_per_s),
            "-" if one.bytes_per_s is None else size_text(one.bytes_per_s),
            str(one.partitions),
            f"{one.records:,}",
            "-" if one.bytes is None else size_text(one.bytes),
        ]
        for one in topics[:of_topics]
    ]
    lines += aligned([_TOPIC_HEADINGS, *rows])
    if groups:
        behind = [
            [
                printable(one.group),
                _lag_text(one),
                _rate(one.change_per_s, signed=True),
                _rate(one.read_per_s),
            ]
            for one in groups[:of_groups]
        ]
        lines += ["", *aligned([_GROUP_HEADINGS, *behind])]
    return lines[:height]


def _lag(committed: int, end: int | None) -> int | None:
    return None if end is None else max(end - committed, 0)


def _lag_text(one: GroupRate) -> str:
    if one.lag is None:
        return "-"
    return f"at least {one.lag:,}" if one.partitions_without_lag else f"{one.lag:,}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rate(rate: float | None, *, signed: bool = False) -> str:
    if rate is None:
        return "-"
    return f"{rate:+,.0f}" if signed and round(rate) else f"{rate:,.0f}"


def _busiest(one: TopicRate) -> tuple[float, float, str]:
    return -(one.bytes_per_s or 0), -(one.records_per_s or 0), one.topic


def _furthest(one: GroupRate) -> tuple[int, str]:
    return -(one.lag or 0), one.group
