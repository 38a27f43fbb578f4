"""The offsets that a run of the job `table` reads, and those that it can no longer read.

Pure: decides by the topic's offsets and the table's progress. Calls no broker and no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.errors import PipelineError
from pipeline.sources import TopicState
from pipeline.tables.progress import Gap
from pipeline.topics import Position

SKIP_LOST = "--skip-lost"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The offsets that a run reads, by partition: `starts` and `ends` have the same partitions."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]
    gaps: Sequence[Gap] = ()
    """The ranges before `starts` whose records were deleted before they were loaded."""

    @property
    def offsets(self) -> int:
        """The number of offsets to read."""
        return sum(self.ends.values()) - sum(self.starts.values())


def plan_run(
    topic: str, state: TopicState, reached: Mapping[int, int], *, skips_lost: bool, now_s: float
) -> RunPlan:
    """Return the offsets that a run reads of a topic, from the offsets `reached` of the table on.

    A new partition is read from its start. With `skips_lost`, deleted offsets become gaps of the
    time `now_s` (seconds since the epoch). Raises PipelineError if records are lost without
    `skips_lost`, or if partitions or newest records are missing: without topic ids, only that shows
    that the topic was made again.
    """
    gone = ", ".join(str(index) for index in sorted(reached) if index not in state.offsets)
    if gone and state.has_all_partitions:
        raise PipelineError(
            f"the table holds partitions of {topic} that the topic has not ({gone}): it was "
            "deleted and made again; name another --table to begin again"
        )
    starts, ends, gaps = {}, {}, []
    for partition, there in state.offsets.items():
        start = reached.get(partition, there.start)
        if start > there.end:
            raise PipelineError(
                f"the table holds {topic}-{partition} up to offset {start}, the topic ends at "
                f"{there.end}: it was deleted and made again, or has lost its newest records; name "
                "another --table to begin again"
            )
        if start < there.start:
            at = datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            gap = Gap(partition, start, there.start, at)
            if not skips_lost:
                raise PipelineError(
                    f"{gap.text(topic)} were deleted before they were loaded: go on behind them "
                    f"with {SKIP_LOST}, or load into another --table"
                )
            gaps.append(gap)
        starts[partition], ends[partition] = max(start, there.start), there.end
    return RunPlan(starts, ends, gaps)


def next_batch(
    starts: Mapping[int, int], ends: Mapping[int, int], batch_max: int
) -> dict[int, int]:
    """Return the ends of the next batch of about `batch_max` offsets. Each partition with records
    has a share, so that all partitions reach their end together."""
    left = {index: end - starts[index] for index, end in ends.items() if end > starts[index]}
    total = sum(left.values())
    if total <= batch_max:
        return {index: ends[index] for index in left}
    return {
        index: starts[index] + max(1, count * batch_max // total) for index, count in left.items()
    }


def led_by_others(
    state: TopicState, reached: Mapping[int, int], epochs: Mapping[int, int]
) -> dict[int, Position]:
    """Return the table's end in each partition that has had another leader since then.

    `epochs` has the leader epochs at `reached`, as far as they are known. The result lacks
    partitions whose log begins after that offset: its record is deleted, so no leader can say
    whether it changed.
    """
    return {
        partition: Position(offset, epochs[partition])
        for partition, offset in reached.items()
        if partition in epochs
        and (there := state.offsets.get(partition)) is not None
        and there.leader_epoch not in (None, epochs[partition])
        and there.start <= offset <= there.end
    }


def refuse_cut_off(topic: str, reached: Mapping[int, int], partitions: Sequence[int]) -> None:
    """Raise PipelineError if there are `partitions`, whose logs were cut off before `reached`."""
    if partitions:
        places = ", ".join(f"{topic}-{at} (loaded to offset {reached[at]})" for at in partitions)
        raise PipelineError(
            f"the topic has lost its newest records since they were loaded, as after an unclean "
            f"election, and others may have their offsets now: {places}; name another --table to "
            "begin again"
        )
