"""How far a table holds its topic: what the job `table` commits together with the rows.

Owns the form of it (JSON, under one key of a commit's metadata and of the table's properties) and
what may follow what. Pure: knows no Spark and no table format.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.errors import PipelineError

KEY = "ottla.progress"
ROWS, DEAD_LETTERS = "table", "dead-letters"


@dataclass(frozen=True, slots=True)
class Progress:
    """One commit, and all that the table holds after it. Offsets by partition."""

    topic: str
    cluster_id: str
    run: int
    """Counts the commits, from 1; 0 is a table that is made and holds nothing."""
    starts: Mapping[int, int]
    """Where this commit began to read; the partitions that it read."""
    ends: Mapping[int, int]
    """One past the last offset that the table holds, of all partitions."""
    of: str = ROWS
    """What is committed: rows or dead letters, each under an id of its own."""
    writer: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Tells this commit from another job's of the same number."""
    topic_id: str | None = None
    """22 letters, as Kafka writes it: a topic that is deleted and made again under its name has
    another one. None where the brokers give none (before Kafka 2.8), and in commits of older
    versions of this job."""

    @property
    def owner(self) -> str:
        """Of the commits of one topic into one table: Delta's application id."""
        return f"ottla-{self.of}:{self.cluster_id}:{self.topic}"

    def following(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> Progress:
        """The next commit: the same partitions in both, which may be a few of them."""
        reached = {**self.ends, **ends}
        writer = uuid.uuid4().hex
        return replace(self, run=self.run + 1, starts=starts, ends=reached, writer=writer)

    def text(self) -> str:
        """As it is kept."""
        kept = {
            "topic": self.topic,
            "cluster_id": self.cluster_id,
            "topic_id": self.topic_id,
            "run": self.run,
            "starts": {str(one): offset for one, offset in sorted(self.starts.items())},
            "ends": {str(one): offset for one, offset in sorted(self.ends.items())},
            "of": self.of,
            "writer": self.writer,
        }
        return json.dumps(kept, separators=(",", ":"))

    def check(self, topic: str, cluster_id: str, topic_id: str | None, path: str) -> None:
        """PipelineError where the table at `path` is another topic's, of this name or another."""
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
    """Whether two ids are of two topics. An unknown one may be any topic's."""
    return None not in (topic_id, other_id) and topic_id != other_id


def parsed(text: str | None) -> Progress | None:
    """What `Progress.text` wrote; None for anything else."""
    try:
        kept: Any = json.loads(text or "")
        return Progress(
            topic=kept["topic"],
            cluster_id=kept["cluster_id"],
            run=kept["run"],
            starts={int(one): offset for one, offset in kept["starts"].items()},
            ends={int(one): offset for one, offset in kept["ends"].items()},
            of=kept["of"],
            writer=kept["writer"],
            topic_id=kept.get("topic_id"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def farthest(known: Progress, last_offsets: Mapping[int, int], run: int) -> Progress:
    """What a table holds whose newest commits are forgotten: what is `known` of an older one, and
    the greatest offset of each partition among its rows, which no commit leaves a gap below."""
    ends = dict(known.ends)
    for partition, last in last_offsets.items():
        ends[partition] = max(ends.get(partition, 0), last + 1)
    return replace(known, run=max(run, known.run), ends=ends)


def ranges(commits: Iterable[Progress]) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """From where to where each partition was loaded, and what lies open between two commits, which
    come in their order."""
    found: dict[int, tuple[int, int]] = {}
    holes = []
    for one in commits:
        for partition, start in one.starts.items():
            first, reached = found.get(partition, (start, start))
            if reached != start:
                holes.append(
                    f"run {one.run} begins partition {partition} at {start:,}, not {reached:,}"
                )
            found[partition] = (first, one.ends[partition])
    return found, holes
