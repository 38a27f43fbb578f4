"""Who may see a trace, and which copies belong to it."""

from __future__ import annotations

import pytest

from console.flow.traces import CopiesWanted, seen_traces, topics_of
from tests.unit.console.flow.trace_samples import appended, copy, trace


def test_a_trace_is_shown_if_all_its_topics_may_be_described() -> None:
    told = [
        trace(1, appended("mine", 0), appended("mine", 1)),
        trace(2, appended("mine", 0), appended("theirs", 0)),
        trace(3),
        trace(4, appended("theirs", 1)),
    ]
    (seen,) = seen_traces(7, told, lambda topic: topic == "mine")
    assert (seen["id"], seen["node"], seen["topics"]) == ("7-1", 7, ["mine"])
    assert topics_of(told[1]) == ["mine", "theirs"]


def test_a_copy_belongs_to_the_appends_that_it_has() -> None:
    wanted = CopiesWanted()
    wanted.add([trace(1, appended("t", 5)), trace(2, appended("t", 6)), trace(3, appended("u", 5))])
    found = wanted.matching([(2, copy("t", 5, 7)), (3, copy("t", 7, 9)), (3, copy("t", 5, 6, 1))])
    assert [(one["node"], one["offsets"]) for one in found] == [(2, [5, 6])]


def test_a_copy_may_be_told_before_its_append() -> None:
    wanted = CopiesWanted()
    assert wanted.matching([(2, copy("t", 5, 6))]) == []
    wanted.add([trace(1, appended("t", 5))])
    assert [one["offsets"] for one in wanted.matching([])] == [[5]]
    assert wanted.matching([]) == []


def test_neither_is_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CopiesWanted, "APPENDS_MAX", 3)
    wanted = CopiesWanted()
    for offset in range(5):
        wanted.add([trace(offset, appended("t", offset))])
    assert [one["offsets"] for one in wanted.matching([(2, copy("t", 0, 9))])] == [[2, 3, 4]]
    wanted.matching([(2, copy("u", n, n + 1)) for n in range(wanted.COPIES_MAX + 5)])
    wanted.add([trace(9, appended("u", 4)), trace(10, appended("u", 5))])
    assert [one["offsets"] for one in wanted.matching([])] == [[5]]
