"""When a table is merged, what is kept with it, and whose topic it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.filling import target as target_module
from pipeline.filling.first_offsets import first_offsets
from pipeline.filling.target import Target, too_many
from pipeline.sources import TopicState
from pipeline.tables.progress import KEY, Gap, Progress, parsed
from pipeline.tables.table import Size

STATE = TopicState("id", "A", {})
GAP = Gap(0, 5, 8, "2026-12-01T00:00:00Z")


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
    target = Target(there, options, "table", said.append)
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
    target = Target(there, options, "table", print)
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
    target = Target(there, options, "table", print)
    target.open("t", STATE)
    target.keep("ottla.columns", "{}")
    assert there.asked == [], "there is no table yet"
    assert target.properties() == {}


def test_a_gap_is_remembered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are forgotten one day; the next scheduled remembering may come after that."""
    monkeypatch.setattr("pipeline.filling.target.arranged", lambda rows: rows)
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    there: Any = Remembered()
    there.committed = Progress("t", "id", 3, {}, {0: 5}, topic_id="A")
    target = Target(there, options, "table", print)
    target.open("t", STATE)
    rows: Any = "rows"
    target.append(rows, {0: 8}, {0: 9}, [GAP], {0: 4})
    target.look_after()
    target.look_after()
    committed, (name, kept) = there.asked
    assert committed[:2] == ("append", "rows") and name == "remember", "once"
    remembered = parsed(kept[KEY])
    assert remembered == target.reached == committed[2]
    assert (target.reached.gaps, target.reached.epochs) == ((GAP,), {0: 4})


def test_from_is_for_a_table_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.filling.target.arranged", lambda rows: rows)
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    there: Any = Remembered()
    there.committed = Progress("t", "id", 0, {}, {}, topic_id="A")
    target = Target(there, options, "table", print)
    target.open("t", STATE)
    target.refuse_beginning(first_offsets("latest"))
    target.begin({0: 7, 1: 0})
    rows: Any = "rows"
    target.append(rows, {0: 7, 1: 0}, {0: 9, 1: 0})
    ((_, _, committed),) = there.asked
    assert (committed.began, committed.ends) == ({0: 7, 1: 0}, {0: 9, 1: 0})
    with pytest.raises(PipelineError, match=r"/t holds the topic up to 0:9,1:0 \(run 1\): leave"):
        target.refuse_beginning(first_offsets("latest"))


def test_what_is_kept_changes_with_a_commit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a table lacks no column that is kept, except after a kill between both."""
    monkeypatch.setattr(target_module, "arranged", lambda rows: rows)
    options = parser_for("table").parse_args(["table", "--topic", "t"])
    there: Any = Remembered()
    there.committed = Progress("t", "id", 3, {}, {0: 9})
    target = Target(there, options, "table", print)
    target.open("t", replace(STATE, topic_id=None))
    target.keep("ottla.columns", "{}")
    target.keep("ottla.columns", "{...}")
    assert there.asked == []
    rows: Any = None
    for start in (9, 10):
        target.append(rows, {0: start}, {0: start + 1})
    assert [name for name, *_ in there.asked] == ["remember", "append", "append"]
    assert there.asked[0] == ("remember", {"ottla.columns": "{...}"})
