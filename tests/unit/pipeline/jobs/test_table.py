"""From where to where a table reads its topic, in which batches, and when files are merged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline import sources
from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.jobs import table
from pipeline.jobs.table import bounded, to_read, too_many
from pipeline.sources import TopicState
from pipeline.tables.progress import KEY, Progress, parsed
from pipeline.tables.table import Size
from pipeline.topics import Offsets

STATE = TopicState("id", "A", {})


def state(offsets: dict[int, Offsets], has_all: bool = True) -> TopicState:
    return replace(STATE, offsets=offsets, has_all_partitions=has_all)


def test_it_goes_on_where_the_table_ends_and_begins_new_partitions() -> None:
    there = state({0: Offsets(0, 10), 1: Offsets(5, 8)})
    assert to_read("t", there, {}) == ({0: 0, 1: 5}, {0: 10, 1: 8})
    assert to_read("t", there, {0: 7}) == ({0: 7, 1: 5}, {0: 10, 1: 8})


def test_records_that_are_gone_are_named() -> None:
    with pytest.raises(PipelineError, match="offsets 3 to 4 of t-0 were deleted before"):
        to_read("t", state({0: Offsets(5, 9)}), {0: 3})


def test_a_topic_that_was_made_again_is_noticed_without_an_id() -> None:
    with pytest.raises(PipelineError, match="up to offset 12, the topic ends at 9: it was deleted"):
        to_read("t", state({0: Offsets(0, 9)}), {0: 12})
    fewer = {0: Offsets(0, 40)}
    with pytest.raises(
        PipelineError, match=r"of t that the topic has not \(1, 2\): it was deleted"
    ):
        to_read("t", state(fewer), {0: 30, 2: 30, 1: 30})
    of_a_folder = to_read("t", state(fewer, has_all=False), {0: 30, 1: 30})
    assert of_a_folder == ({0: 30}, {0: 40}), "which may hold one partition alone"


def test_a_batch_takes_its_share_of_each_partition() -> None:
    starts, ends = {0: 0, 1: 50, 2: 7}, {0: 300, 1: 150, 2: 7}
    assert bounded(starts, ends, 400) == {0: 300, 1: 150}, "nothing is new in partition 2"
    assert bounded(starts, ends, 40) == {0: 30, 1: 60}
    batches = 0
    while starts != ends:
        starts |= bounded(starts, ends, 1)
        batches += 1
        assert batches <= 300
    assert batches == 300, "one offset of each at least"


def test_files_are_too_many_beside_those_of_the_wanted_size() -> None:
    assert too_many(files=60, size_bytes=1_000, target_bytes=500) == 58
    assert too_many(files=2, size_bytes=1_001, target_bytes=500) == -1


class Remembered:
    """A table that keeps what it was asked; each append adds a file of ten bytes."""

    path = "/t"

    def __init__(self, files: int = 0) -> None:
        self.files = files
        self.asked: list[Any] = []
        self.committed: Progress | None = None

    def properties(self) -> dict[str, str]:
        return {}

    def progress(self) -> Progress | None:
        return self.committed

    def size(self) -> Size:
        return Size(self.files, self.files * 10)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> None:
            self.asked.append((name, *given))

        return call


def test_a_table_is_looked_after_at_some_runs_alone() -> None:
    options = parser_for("table").parse_args(
        ["table", "--topic", "t", "--merge-above", "50", "--keep-days", "3", "--file-size", "1"]
    )
    there: Any = Remembered(files=52)
    said: list[str] = []
    target = table.Target(there, options, "table", said.append)
    target.open("t", STATE)
    for run in range(1, 10):
        target.reached = replace(target.reached, run=run)
        target.look_after()
    assert there.asked == [] and said == []
    target.reached = replace(target.reached, run=10)
    target.look_after()
    assert [one[0] for one in there.asked] == ["merge", "remember", "forget"]
    assert there.asked[0] == ("merge", 1024 * 1024, False) and there.asked[2] == ("forget", 3)
    assert said == ["merged small files: 52 before, 52 now"]
    there.files, there.asked = 50, []
    target.reached = replace(target.reached, run=20)
    target.look_after()
    assert [one[0] for one in there.asked] == ["remember"], "49 too many are not yet too many"


def test_a_table_of_an_older_version_takes_the_id_at_its_next_commit() -> None:
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    there: Any = Remembered()
    there.committed = Progress("t", "id", 3, {}, {0: 9})
    target = table.Target(there, options, "table", print)
    target.open("t", replace(STATE, topic_id=None))
    assert target.reached.topic_id is None, "the brokers give none"
    target.open("t", STATE)
    assert target.reached.following({0: 9}, {0: 10}).topic_id == "A"
    target.look_after()
    target.look_after()
    ((name, kept),) = there.asked
    assert name == "remember", "once, for when the commits are forgotten"
    remembered = parsed(kept[KEY])
    assert remembered is not None and remembered.topic_id == "A"
    with pytest.raises(PipelineError, match="its id was A, it is B now"):
        target.check("t", replace(STATE, topic_id="B"))
    there.committed = target.reached
    target.open("t", replace(STATE, topic_id=None))
    assert target.reached.topic_id == "A", "a folder without partition.metadata takes it from none"


def test_what_is_kept_is_written_once_and_before_the_first_commit() -> None:
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    there: Any = Remembered()
    target = table.Target(there, options, "table", print)
    target.open("t", STATE)
    target.keep("ottla.columns", "{}")
    assert there.asked == [], "there is no table yet"
    assert target.properties() == {}


def test_it_reads_what_transactions_committed() -> None:
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    assert sources.reading(options).options["kafka.isolation.level"] == "read_committed"
