"""What is committed with the rows, and what may follow what."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipeline.errors import PipelineError
from pipeline.tables.progress import (
    DEAD_LETTERS,
    GAPS_MAX,
    Gap,
    Progress,
    farthest,
    parsed,
    ranges,
    skipped_in,
)

NOTHING = Progress("t", "id", 0, {}, {}, topic_id="A")


def test_it_is_read_as_it_was_written() -> None:
    one = NOTHING.following({0: 5, 1: 0}, {0: 9, 1: 4})
    assert parsed(one.text()) == one
    assert (one.run, one.starts, one.ends) == (1, {0: 5, 1: 0}, {0: 9, 1: 4})
    for other in (None, "", "{}", "[1]", "noon", '{"run": 1}'):
        assert parsed(other) is None


def test_a_commit_of_an_older_version_has_no_topic_id() -> None:
    kept = json.loads(NOTHING.text())
    assert kept.pop("topic_id") == "A"
    assert parsed(json.dumps(kept)) == replace(NOTHING, topic_id=None)


def test_a_commit_of_few_partitions_keeps_the_ends_of_all() -> None:
    first = NOTHING.following({0: 0, 1: 0}, {0: 9, 1: 4})
    second = first.following({1: 4}, {1: 6})
    assert (second.run, second.starts, second.ends) == (2, {1: 4}, {0: 9, 1: 6})
    assert second.writer != first.writer


def test_rows_and_dead_letters_have_ids_of_their_own() -> None:
    letters = replace(NOTHING, of=DEAD_LETTERS)
    assert NOTHING.owner == "ottla-table:id:t"
    assert letters.following({0: 0}, {0: 1}).owner == "ottla-dead-letters:id:t"


def test_another_topics_table_is_refused() -> None:
    with pytest.raises(PipelineError, match="table /t holds topic t, not u: name another --table"):
        NOTHING.check("u", "id", "A", "/t")
    letters = replace(NOTHING, of=DEAD_LETTERS)
    with pytest.raises(PipelineError, match="from another cluster .* another --dead-letters"):
        letters.check("t", "other", "A", "/t")


def test_a_topic_of_another_id_is_refused_and_an_unknown_id_may_be_any_topics() -> None:
    NOTHING.check("t", "id", "A", "/t")
    NOTHING.check("t", "id", None, "/t")
    replace(NOTHING, topic_id=None).check("t", "id", "B", "/t")
    again = (
        r"topic t was deleted and made again since table /t was loaded \(its id was A, it is B "
        r"now\): name another --{} to begin again"
    )
    with pytest.raises(PipelineError, match=again.format("table")):
        NOTHING.check("t", "id", "B", "/t")
    with pytest.raises(PipelineError, match=again.format("dead-letters")):
        replace(NOTHING, of=DEAD_LETTERS).check("t", "id", "B", "/t")


def test_what_is_forgotten_is_found_in_the_rows() -> None:
    known = NOTHING.following({0: 0, 1: 0, 2: 7}, {0: 9, 1: 4, 2: 7})
    found = farthest(known, {0: 19, 1: 2, 3: 5}, 12)
    assert found.ends == {0: 20, 1: 4, 2: 7, 3: 6}, "rows may have been deleted since"
    assert found.run == 12 and farthest(known, {}, 0).run == 1


def test_what_lies_open_between_two_commits_is_told() -> None:
    first = NOTHING.following({0: 5}, {0: 9})
    second = first.following({0: 9, 1: 0}, {0: 12, 1: 3})
    assert ranges([first, second]) == ({0: (5, 12), 1: (0, 3)}, [])
    third = second.following({0: 13}, {0: 14})
    assert ranges([first, second, third])[1] == ["run 3 begins partition 0 at 13, not 12"]


GAP = Gap(0, 9, 12, "2026-12-01T12:00:00Z")


def test_gaps_beginnings_and_epochs_are_kept() -> None:
    first = replace(NOTHING, began={0: 5, 1: 0}, ends={0: 5, 1: 0})
    second = first.following({0: 5, 1: 0}, {0: 9, 1: 4}, epochs={0: 7, 1: 2, 3: 1})
    third = second.following({0: 12}, {0: 15}, [GAP])
    for commit in (first, second, third):
        assert parsed(commit.text()) == commit
    assert second.epochs == {0: 7, 1: 2}, "of partitions that the commit reads"
    assert third.epochs == {1: 2}, "the leader that gave the new end is not known"
    assert (third.began, third.gaps) == ({0: 5, 1: 0}, (GAP,))
    assert third.following({0: 15}, {0: 16}).gaps == (GAP,)
    assert json.loads(third.text())["gaps"] == [
        {"partition": 0, "start": 9, "end": 12, "at": "2026-12-01T12:00:00Z"}
    ]
    assert GAP.text("t") == "offsets 9 to 11 of t-0"


def test_a_commit_without_them_is_as_it_was_in_older_versions() -> None:
    assert not {"began", "gaps", "epochs"} & json.loads(NOTHING.text()).keys()


def test_only_so_many_gaps_are_kept() -> None:
    many = [Gap(0, one, one + 1, "") for one in range(GAPS_MAX)]
    full = NOTHING.following({}, {}, many)
    assert full.following({}, {}, [GAP]).gaps == (*many[1:], GAP)


def test_an_epoch_is_not_that_of_an_end_that_only_the_rows_show() -> None:
    known = NOTHING.following({0: 0, 1: 0}, {0: 9, 1: 4}, epochs={0: 7, 1: 2})
    assert farthest(known, {0: 19, 1: 3}, 5).epochs == {1: 2}


def test_a_gap_that_a_commit_names_is_no_hole() -> None:
    first = NOTHING.following({0: 5}, {0: 9})
    second = first.following({0: 12}, {0: 14}, [GAP])
    third = second.following({0: 14}, {0: 15})
    assert ranges([first, second, third]) == ({0: (5, 15)}, [])
    assert ranges([first, second.following({0: 20}, {0: 21})])[1], "another is one"
    assert skipped_in(third.gaps, {0: (5, 15)}) == [GAP]
    assert skipped_in(third.gaps, {0: (10, 15)}) == skipped_in(third.gaps, {1: (0, 9)}) == []
