"""What must hold of topics, tables and sums: each check is a comparison that ends in one sentence.

Pure: numbers in, checks out. Knows no Spark and prints nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.auditing.expected import AggregateKey, Expected, Sums
from pipeline.auditing.records_view import Content, PartitionCounts, RecordsView
from pipeline.tables.progress import Gap
from pipeline.topics import Offsets

_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that holds or does not."""

    name: str
    holds: bool
    detail: str
    note: str = ""
    """What the verdict adds although the check holds."""


def topic_is_whole(topic: str, found: RecordsView, offsets: Mapping[int, Offsets]) -> Check:
    """Every offset between a partition's start and end has its record."""
    wanted = {one: there.end - there.start for one, there in offsets.items()}
    counts = {one.partition: one.records for one in found.partitions}
    wrong = [
        f"partition {one} has {counts.get(one, 0):,} records for {number:,} offsets"
        for one, number in wanted.items()
        if counts.get(one, 0) != number
    ]
    total = sum(wanted.values())
    good = f"{total:,} offsets in {len(wanted)} partitions, a record at each"
    return Check(f"{topic}: a record at every offset", not wrong, _told(wrong) or good)


def compacted_is_sound(topic: str, found: RecordsView, offsets: Mapping[int, Offsets]) -> Check:
    """No offset twice and none outside; which of them compaction has left is its affair."""
    wrong = []
    for one in found.partitions:
        there = offsets.get(one.partition)
        wrong += _repeated(one)
        if there is None or one.first < there.start or one.last >= there.end:
            wrong.append(f"partition {one.partition} has records outside its offsets")
    good = f"{found.records:,} records in {len(offsets)} partitions"
    return Check(f"{topic}: no offset twice", not wrong, _told(wrong) or good)


def table_is_whole(
    found: RecordsView,
    ranges: Mapping[int, tuple[int, int]],
    holes: list[str],
    compacted: bool = False,
    skipped: Sequence[Gap] = (),
) -> Check:
    """Check that every offset of the table's commits is in the table once; of a `compacted` topic
    at most once.

    `ranges`: from where to where each partition was loaded. `holes`: the offsets between two
    commits. `skipped`: the gaps in the ranges that commits name, whose offsets must be missing.
    """
    wrong = list(holes)
    by_partition = {one.partition: one for one in found.partitions}
    for partition, (start, end) in ranges.items():
        one = by_partition.get(partition) or PartitionCounts(partition, 0, 0, start, start)
        wrong += _repeated(one)
        wanted = end - start - _offsets_of(gap for gap in skipped if gap.partition == partition)
        if one.offsets > wanted or (one.offsets < wanted and not compacted):
            wrong.append(f"partition {partition} has {one.offsets:,} of {wanted:,} offsets")
    wrong += [f"partition {one} is in no manifest" for one in by_partition if one not in ranges]
    name = "table: no offset loaded twice" if compacted else "table: every offset loaded once"
    each = "no offset" if compacted else "each offset"
    twice = "twice" if compacted else "once"
    good = f"{found.records:,} rows, {each} of {len(ranges)} partitions {twice}"
    lost = _offsets_of(skipped)
    note = f"{lost:,} offsets were skipped that the topic had deleted (--skip-lost)" if lost else ""
    good += f"; {note}" if note else ""
    return Check(name, not wrong, _told(wrong) or good, note)


def same_topic(topic: str, loaded_id: str, topic_id: str) -> Check:
    """A table was loaded from the topic that is there now, not from an earlier one of its name."""
    same = loaded_id == topic_id
    wrong = f"its id is {topic_id}, the table was loaded from {loaded_id}, which was deleted since"
    return Check(f"table: of the present topic {topic}", same, f"id {topic_id}" if same else wrong)


def same_records(name: str, left: Content, right: Content, parts: Sequence[str]) -> Check:
    """Two places hold the same records, by these parts of them (`records_view.PARTS`)."""
    words = [f"{one}s" if one != "headers" else one for one in parts if one != "partition"]
    listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    detail = f"{left.records:,} and {right.records:,} records, "
    detail += "the same sum" if left.hash_sum == right.hash_sum else "another sum"
    return Check(name, left == right, f"{detail} of {listed}")


def as_generated(topic: str, found: RecordsView, expected: Expected) -> Check:
    """The topic holds what the seed says, each record once."""
    same = (found.records, found.checksum) == (expected.records, expected.checksum)
    detail = f"{found.records:,} of {expected.records:,} records, "
    detail += "the same checksum" if found.checksum == expected.checksum else "another checksum"
    return Check(f"{topic}: the generator's records, each once", same, detail)


def repeated_as_generated(topic: str, found: RecordsView, expected: Expected) -> Check:
    """Only the events that the operator sent twice are there twice."""
    same = found.repeated == expected.repeated
    detail = f"{found.repeated:,} records repeat an event, {expected.repeated:,} were made to"
    return Check(f"{topic}: no event twice that was sent once", same, detail)


def refused_as_generated(topic: str, found: Mapping[str, int], expected: Expected) -> Check:
    """Every malformed record, and no other, is a dead letter with its reason."""
    wrong = [
        f"{found.get(reason, 0):,} instead of {expected.refused.get(reason, 0):,}: {reason}"
        for reason in sorted({*found, *expected.refused})
        if found.get(reason, 0) != expected.refused.get(reason, 0)
    ]
    good = f"{sum(found.values()):,} records, {len(found)} reasons"
    return Check(f"{topic}: the malformed records, by reason", not wrong, _told(wrong) or good)


def sums_as_generated(
    name: str, found: Mapping[AggregateKey, Sums], expected: Mapping[AggregateKey, Sums]
) -> Check:
    """Each sum equals the one that was computed from the seed without Spark."""
    wrong = _differences(found, expected)
    events = sum(sums[0] for key, sums in found.items() if key[0] == "cell")
    good = f"{len(found):,} rows equal, {events:,} events in them"
    return Check(f"{name}: the sums of the seed", not wrong, _told(wrong) or good)


def same_sums(
    name: str, left: Mapping[AggregateKey, Sums], right: Mapping[AggregateKey, Sums]
) -> Check:
    """Two places hold the same sums."""
    wrong = _differences(left, right)
    return Check(name, not wrong, _told(wrong) or f"{len(left):,} rows equal")


def same_rows(name: str, missing: int, extra: int, rows: int) -> Check:
    """Row for row."""
    wrong = [f"{missing:,} rows of the files are missing"] if missing else []
    wrong += [f"{extra:,} rows are in no file"] if extra else []
    return Check(name, not wrong, _told(wrong) or f"{rows:,} rows equal")


def reasons(headers: list[bytes]) -> Counter[str]:
    """How often each reason was given."""
    return Counter(one.decode("utf-8", "replace") for one in headers)


def _offsets_of(gaps: Iterable[Gap]) -> int:
    """Return the number of offsets in the gaps."""
    return sum(gap.end - gap.start for gap in gaps)


def _repeated(one: PartitionCounts) -> list[str]:
    twice = one.records - one.offsets
    return [f"partition {one.partition} has {twice:,} rows twice"] if twice else []


def _differences(
    found: Mapping[AggregateKey, Sums], expected: Mapping[AggregateKey, Sums]
) -> list[str]:
    wrong = []
    for key in dict.fromkeys([*expected, *found]):
        if found.get(key) != expected.get(key):
            wrong.append(f"{key[0]} {key[1]} at {key[2]}: {found.get(key)} not {expected.get(key)}")
    return wrong


def _told(wrong: list[str]) -> str:
    more = len(wrong) - _NAMED_MAX
    return "; ".join(wrong[:_NAMED_MAX]) + (f"; and {more:,} more" if more > 0 else "")
