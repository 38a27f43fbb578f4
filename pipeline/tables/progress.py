"""The progress of a table: how far it holds its topic, which the job `table` commits with the rows.

Owns its form (JSON, under one key of a commit's metadata and of the table's properties) and the
rules for the next progress. Pure: knows no Spark and no table format.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pipeline.errors import PipelineError

KEY = "ottla.progress"
ROWS, DEAD_LETTERS = "table", "dead-letters"
GAPS_MAX = 1000
"""The number of gaps that a commit keeps. If there are more, it drops the oldest."""


class Gap(NamedTuple):
    """Offsets from `start` to before `end` that the topic deleted before they were loaded."""

    partition: int
    start: int
    end: int
    at: str
    """The time at which the job skipped them, in ISO 8601 (UTC)."""

    def text(self, topic: str) -> str:
        """Return the offsets as users read them, both ends included."""
        return f"offsets {self.start} to {self.end - 1} of {topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Progress:
    """A commit, and the offsets that the table holds after it. Offsets are by partition."""

    topic: str
    cluster_id: str
    run: int
    """The number of the commit, from 1; 0 is a new table without rows."""
    starts: Mapping[int, int]
    """The offsets at which this commit began to read, for the partitions that it read."""
    ends: Mapping[int, int]
    """The offset after the last that the table holds, for all partitions."""
    of: str = ROWS
    """The kind of the commit: ROWS or DEAD_LETTERS, each with an id of its own."""
    writer: str = field(default_factory=lambda: uuid.uuid4().hex)
    """An id that distinguishes this commit from another job's commit of the same number."""
    topic_id: str | None = None
    """The topic's id in 22 characters, as Kafka writes it: a topic that is deleted and made again
    under its name has another id. None if the brokers give none (before Kafka 2.8), and in commits
    of older versions of this job."""
    began: Mapping[int, int] = field(default_factory=dict)
    """The offsets at which `--from` made the table begin; empty without that option."""
    gaps: tuple[Gap, ...] = ()
    """The offsets that `--skip-lost` skipped in all commits so far, oldest first."""
    epochs: Mapping[int, int] = field(default_factory=dict)
    """The epoch of the leader that gave the offset in `ends`, for partitions with a known epoch. A
    log of a later epoch that ended before that offset has lost records (KIP-320)."""

    @property
    def owner(self) -> str:
        """The id of all commits of one topic into one table: Delta's application id."""
        return f"ottla-{self.of}:{self.cluster_id}:{self.topic}"

    def following(
        self,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        gaps: Iterable[Gap] = (),
        epochs: Mapping[int, int] | None = None,
    ) -> Progress:
        """Return the next commit, for the partitions in `starts` and `ends`, which may be a few.

        `gaps` were skipped before this commit. `epochs` has the leader epochs at `ends`, if known.
        """
        kept = {index: epoch for index, epoch in self.epochs.items() if index not in ends}
        given = {index: epoch for index, epoch in (epochs or {}).items() if index in ends}
        return replace(
            self,
            run=self.run + 1,
            starts=starts,
            ends={**self.ends, **ends},
            writer=uuid.uuid4().hex,
            gaps=(*self.gaps, *gaps)[-GAPS_MAX:],
            epochs={**kept, **given},
        )

    def text(self) -> str:
        """Return the text that a commit keeps, JSON."""
        kept: dict[str, Any] = {
            "topic": self.topic,
            "cluster_id": self.cluster_id,
            "topic_id": self.topic_id,
            "run": self.run,
            "starts": _by_text(self.starts),
            "ends": _by_text(self.ends),
            "of": self.of,
            "writer": self.writer,
        }
        if self.began:
            kept["began"] = _by_text(self.began)
        if self.gaps:
            kept["gaps"] = [gap._asdict() for gap in self.gaps]
        if self.epochs:
            kept["epochs"] = _by_text(self.epochs)
        return json.dumps(kept, separators=(",", ":"))

    def check(self, topic: str, cluster_id: str, topic_id: str | None, path: str) -> None:
        """Raise PipelineError if the table at `path` is of another topic, also of the same name."""
        option = "--table" if self.of == ROWS else "--dead-letters"
        if self.topic != topic:
            raise PipelineError(
                f"table {path} holds topic {self.topic}, not {topic}: name another {option}"
            )
        if self.cluster_id != cluster_id:
            raise PipelineError(
                f"table {path} was loaded from another cluster "
                f"({self.cluster_id}; this one is {cluster_id}): name another {option}"
            )
        if is_another(self.topic_id, topic_id):
            raise PipelineError(
                f"topic {topic} was deleted and made again since table {path} was loaded (its id "
                f"was {self.topic_id}, it is {topic_id} now): name another {option} to begin again"
            )


def is_another(topic_id: str | None, other_id: str | None) -> bool:
    """Return whether two ids are of two topics. An unknown id may be of any topic."""
    return None not in (topic_id, other_id) and topic_id != other_id


def parsed(text: str | None) -> Progress | None:
    """Return the progress that `Progress.text` wrote; None for another text."""
    try:
        kept: Any = json.loads(text or "")
        return Progress(
            topic=kept["topic"],
            cluster_id=kept["cluster_id"],
            run=kept["run"],
            starts=_by_number(kept["starts"]),
            ends=_by_number(kept["ends"]),
            of=kept["of"],
            writer=kept["writer"],
            topic_id=kept.get("topic_id"),
            began=_by_number(kept.get("began", {})),
            gaps=tuple(Gap(**gap) for gap in kept.get("gaps", ())),
            epochs=_by_number(kept.get("epochs", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def farthest(older: Progress, last_offsets: Mapping[int, int], run: int) -> Progress:
    """Return the progress of a table whose newest commits are not kept any more, from the progress
    `older` of an older commit, and the greatest offset of each partition in the rows."""
    ends, epochs = dict(older.ends), dict(older.epochs)
    for partition, last in last_offsets.items():
        if last >= ends.get(partition, 0):
            ends[partition] = last + 1
            epochs.pop(partition, None)  # a later leader may have given the later offset
    return replace(older, run=max(run, older.run), ends=ends, epochs=epochs)


def ranges(commits: Iterable[Progress]) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Return the loaded range of each partition, and sentences on the offsets between two commits,
    given in their order, that neither commit has loaded and none names as a gap."""
    loaded: dict[int, tuple[int, int]] = {}
    holes = []
    for commit in commits:
        skipped = {(gap.partition, gap.start): gap.end for gap in commit.gaps}
        for partition, start in commit.starts.items():
            first, reached = loaded.get(partition, (start, start))
            if start not in (reached, skipped.get((partition, reached))):
                holes.append(
                    f"run {commit.run} begins partition {partition} at {start:,}, not {reached:,}"
                )
            loaded[partition] = (first, commit.ends[partition])
    return loaded, holes


def skipped_in(gaps: Iterable[Gap], loaded: Mapping[int, tuple[int, int]]) -> list[Gap]:
    """Return the gaps that lie in the loaded ranges."""
    return [
        gap
        for gap in gaps
        if gap.partition in loaded
        and loaded[gap.partition][0] <= gap.start
        and gap.end <= loaded[gap.partition][1]
    ]


def _by_text(offsets: Mapping[int, int]) -> dict[str, int]:
    """Return a mapping by partition as JSON requires, in the partitions' order."""
    return {str(partition): offset for partition, offset in sorted(offsets.items())}


def _by_number(kept: Mapping[str, int]) -> dict[int, int]:
    """Return a mapping by partition from a mapping of JSON."""
    return {int(partition): offset for partition, offset in kept.items()}
