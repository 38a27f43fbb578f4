"""The rows: complete, on the page, and told when nothing meets them any more."""

from __future__ import annotations

import pytest

from tests.differential import document
from tests.differential.comparison import Difference
from tests.differential.differences import row_of, rows, stale
from tests.differential.matchers import MATCHERS, MatchedDifference
from tests.differential.sequence import Body, Step


def test_the_page_is_what_the_rows_say() -> None:
    assert document.PAGE.read_text() == document.page(), "python -m tests.differential.document"


def test_a_stale_page_is_told(monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    monkeypatch.setattr("sys.argv", ["document", "--check"])
    assert document.main() == 0
    monkeypatch.setattr(document, "INTRODUCTION", "another text")
    assert document.main() == 1


def test_a_row_that_nothing_meets_is_stale() -> None:
    met = dict.fromkeys(MATCHERS, 1)
    assert stale(met) == []
    assert stale({**met, "null-records": 0}) == ["null-records"]
    assert set(stale({})) == set(MATCHERS)


def test_every_matcher_has_its_row() -> None:
    assert set(MATCHERS) <= {row.id for row in rows()}


def test_a_row_explains_its_difference_and_no_other() -> None:
    step = Step("FIND_COORDINATOR", 4)
    more = MatchedDifference(
        step, Difference("error_message", None, "<text>"), {"a": 1}, {"a": 2}, []
    )
    assert row_of(more).id == "text-where-kafka-has-none"  # type: ignore[union-attr]
    less = MatchedDifference(
        step, Difference("error_message", "<text>", None), {"a": 1}, {"a": 2}, []
    )
    assert row_of(less) is None


def test_a_topic_named_twice_may_be_grouped_but_not_answered_otherwise() -> None:
    def answer(*codes: list[int]) -> Body:
        return {
            "topics": [
                {
                    "name": "~t0",
                    "partitions": [
                        {"partition_index": n, "error_code": c} for n, c in enumerate(code)
                    ],
                }
                for code in codes
            ]
        }

    step, where = Step("LIST_OFFSETS", 4), Difference("topics", 1, 2)
    once, twice, wrong = answer([0, 3]), answer([], [0, 3]), answer([], [0, 0])
    assert row_of(MatchedDifference(step, where, once, twice, [])).id == "topic-named-twice"  # type: ignore[union-attr]
    assert row_of(MatchedDifference(step, where, once, wrong, [])) is None


def test_a_session_id_beyond_all_is_not_a_matter_of_zero_ids() -> None:
    """Only its own row says that the two part ways: Kafka's answer names that id."""

    def row(session_id: int) -> str:
        step = Step("FETCH", 13, {"session_id": session_id, "topics": [{}]})
        met = MatchedDifference(
            step, Difference("error_code", -1, 0), {"error_code": -1}, {"error_code": 0}, []
        )
        found = row_of(met)
        assert found is not None
        return found.id

    assert row(0) == "zero-id-in-fetch"
    assert row(2**31 - 1) == "fetch-session-id-beyond"
