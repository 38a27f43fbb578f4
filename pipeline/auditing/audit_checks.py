"""The checks of topics, tables and sums: each is a comparison that ends in one sentence.

Pure: makes checks from numbers. Never uses Spark and never prints.
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
    """A comparison that holds or does not."""

    name: str
    holds: bool
    detail: str
    note: str = ""
    """A sentence that the verdict adds although the check holds."""


def topic_is_whole(topic: str, seen: RecordsView, offsets: Mapping[int, Offsets]) -> Check:
    """Check that every offset between a partition's start and end has its record."""
    wanted = {partition: there.end - there.start for partition, there in offsets.items()}
    records = {counts.partition: counts.records for counts in seen.partitions}
    wrong = [
        f"partition {partition} has {records.get(partition, 0):,} records for {number:,} offsets"
        for partition, number in wanted.items()
        if records.get(partition, 0) != number
    ]
    total = sum(wanted.values())
    good = f"{total:,} offsets in {len(wanted)} partitions, a record at each"
    return Check(f"{topic}: a record at every offset", not wrong, _listed(wrong) or good)


def compacted_is_sound(topic: str, seen: RecordsView, offsets: Mapping[int, Offsets]) -> Check:
    """Check that a compacted topic has no offset twice, and none outside of `offsets`."""
    wrong = []
    for counts in seen.partitions:
        there = offsets.get(counts.partition)
        wrong += _repeated(counts)
        if there is None or counts.first < there.start or counts.last >= there.end:
            wrong.append(f"partition {counts.partition} has records outside its offsets")
    good = f"{seen.records:,} records in {len(offsets)} partitions"
    return Check(f"{topic}: no offset twice", not wrong, _listed(wrong) or good)


def table_is_whole(
    seen: RecordsView,
    ranges: Mapping[int, tuple[int, int]],
    holes: list[str],
    compacted: bool = False,
    skipped: Sequence[Gap] = (),
) -> Check:
    """Check that every offset of the table's commits is in the table once; of a `compacted` topic
    at most once.

    `ranges`: the first loaded offset of each partition, and the offset after the last. `holes`: a
    sentence for offsets between two commits. `skipped`: the gaps
    in the ranges that commits name, whose offsets must be missing.
    """
    wrong = list(holes)
    by_partition = {counts.partition: counts for counts in seen.partitions}
    for partition, (start, end) in ranges.items():
        counts = by_partition.get(partition) or PartitionCounts(partition, 0, 0, start, start)
        wrong += _repeated(counts)
        wanted = end - start - _offsets_of(gap for gap in skipped if gap.partition == partition)
        if counts.offsets > wanted or (counts.offsets < wanted and not compacted):
            wrong.append(f"partition {partition} has {counts.offsets:,} of {wanted:,} offsets")
    wrong += [
        f"partition {index} is in no manifest" for index in by_partition if index not in ranges
    ]
    name = "table: no offset loaded twice" if compacted else "table: every offset loaded once"
    each = "no offset" if compacted else "each offset"
    twice = "twice" if compacted else "once"
    good = f"{seen.records:,} rows, {each} of {len(ranges)} partitions {twice}"
    lost = _offsets_of(skipped)
    note = f"{lost:,} offsets were skipped that the topic had deleted (--skip-lost)" if lost else ""
    good += f"; {note}" if note else ""
    return Check(name, not wrong, _listed(wrong) or good, note)


def same_topic(topic: str, loaded_id: str, topic_id: str) -> Check:
    """Check that a table was loaded from the present topic, not from an earlier one of its name."""
    same = loaded_id == topic_id
    wrong = f"its id is {topic_id}, the table was loaded from {loaded_id}, which was deleted since"
    return Check(f"table: of the present topic {topic}", same, f"id {topic_id}" if same else wrong)


def same_records(name: str, left: Content, right: Content, parts: Sequence[str]) -> Check:
    """Check that two places hold the same records, compared by these `records_view.PARTS`."""
    words = [f"{part}s" if part != "headers" else part for part in parts if part != "partition"]
    listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    detail = f"{left.records:,} and {right.records:,} records, "
    detail += "the same sum" if left.hash_sum == right.hash_sum else "another sum"
    return Check(name, left == right, f"{detail} of {listed}")


def as_generated(topic: str, seen: RecordsView, expected: Expected) -> Check:
    """Check that the topic holds the records of the seed, each once."""
    same = (seen.records, seen.checksum) == (expected.records, expected.checksum)
    detail = f"{seen.records:,} of {expected.records:,} records, "
    detail += "the same checksum" if seen.checksum == expected.checksum else "another checksum"
    return Check(f"{topic}: the generator's records, each once", same, detail)


def repeated_as_generated(topic: str, seen: RecordsView, expected: Expected) -> Check:
    """Check that as many records repeat an event as the generator made."""
    same = seen.repeated == expected.repeated
    detail = f"{seen.repeated:,} records repeat an event, {expected.repeated:,} were made to"
    return Check(f"{topic}: no event twice that was sent once", same, detail)


def refused_as_generated(topic: str, counts: Mapping[str, int], expected: Expected) -> Check:
    """Check that each reason has as many dead letters as the generator made such records."""
    wrong = [
        f"{counts.get(reason, 0):,} instead of {expected.refused.get(reason, 0):,}: {reason}"
        for reason in sorted({*counts, *expected.refused})
        if counts.get(reason, 0) != expected.refused.get(reason, 0)
    ]
    good = f"{sum(counts.values()):,} records, {len(counts)} reasons"
    return Check(f"{topic}: the malformed records, by reason", not wrong, _listed(wrong) or good)


def sums_as_generated(
    name: str, actual: Mapping[AggregateKey, Sums], expected: Mapping[AggregateKey, Sums]
) -> Check:
    """Check that each sum equals the sum that was computed from the seed without Spark."""
    wrong = _differences(actual, expected)
    events = sum(sums[0] for key, sums in actual.items() if key[0] == "cell")
    good = f"{len(actual):,} rows equal, {events:,} events in them"
    return Check(f"{name}: the sums of the seed", not wrong, _listed(wrong) or good)


def same_sums(
    name: str, left: Mapping[AggregateKey, Sums], right: Mapping[AggregateKey, Sums]
) -> Check:
    """Check that two places hold the same sums."""
    wrong = _differences(left, right)
    return Check(name, not wrong, _listed(wrong) or f"{len(left):,} rows equal")


def same_rows(name: str, missing: int, extra: int, rows: int) -> Check:
    """Check that a place has each row of the files, and no other row."""
    wrong = [f"{missing:,} rows of the files are missing"] if missing else []
    wrong += [f"{extra:,} rows are in no file"] if extra else []
    return Check(name, not wrong, _listed(wrong) or f"{rows:,} rows equal")


def reasons(headers: list[bytes]) -> Counter[str]:
    """Return how often each reason is among these values of the header `reason`."""
    return Counter(header.decode("utf-8", "replace") for header in headers)


def _offsets_of(gaps: Iterable[Gap]) -> int:
    """Return the number of offsets in the gaps."""
    return sum(gap.end - gap.start for gap in gaps)


def _repeated(counts: PartitionCounts) -> list[str]:
    twice = counts.records - counts.offsets
    return [f"partition {counts.partition} has {twice:,} rows twice"] if twice else []


def _differences(
    actual: Mapping[AggregateKey, Sums], expected: Mapping[AggregateKey, Sums]
) -> list[str]:
    wrong = []
    for key in dict.fromkeys([*expected, *actual]):
        if actual.get(key) != expected.get(key):
            wrong.append(
                f"{key[0]} {key[1]} at {key[2]}: {actual.get(key)} not {expected.get(key)}"
            )
    return wrong


def _listed(wrong: list[str]) -> str:
    more = len(wrong) - _NAMED_MAX
    return "; ".join(wrong[:_NAMED_MAX]) + (f"; and {more:,} more" if more > 0 else "")
