"""A job ends behind the commit with which its dead letters exceed `--max-dead-letters`."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from pipeline.tables.dead_letter_limit import (
    DeadLetterLimit,
    Limit,
    TooManyDeadLetters,
    limit,
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0", Limit(count=0)),
        ("100", Limit(count=100)),
        ("0%", Limit(percent=0)),
        ("0.5%", Limit(percent=0.5)),
    ],
)
def test_a_limit_is_a_number_or_a_share(text: str, read: Limit) -> None:
    assert limit(text) == read and str(read) == text


@pytest.mark.parametrize("text", ["-1", "1.5", "100%", "-1%", "nan%", "%", "", "few"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="a number of records from 0, or a share"):
        limit(text)


def runs_until_the_end(text: str, goes_on: bool, *runs: tuple[int, int]) -> tuple[int, str]:
    """The number of runs behind which the job ends, 0 if it does not, and what it says."""
    counted = DeadLetterLimit(limit(text), goes_on, "/t-dead-letters")
    for number, (rows, dead_letters) in enumerate(runs, 1):
        try:
            counted.check(rows, dead_letters)
        except TooManyDeadLetters as error:
            assert error.exit_code == 3
            return number, str(error)
    return 0, ""


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_number_is_that_of_all_runs(goes_on: bool) -> None:
    assert runs_until_the_end("3", goes_on, (0, 2), (5, 1)) == (0, "")
    number, sentence = runs_until_the_end("3", goes_on, (0, 2), (5, 1), (9, 0), (9, 1), (9, 1))
    assert number == 4
    assert sentence.startswith("4 dead letters since the job began, more than --max-dead-letters 3")
    assert "to /t-dead-letters, and the next start reads on behind them" in sentence
    assert runs_until_the_end("0", goes_on, (5, 1))[1].startswith("1 dead letter since")


def test_a_share_is_that_of_a_run_however_small() -> None:
    assert runs_until_the_end("10%", False, (90, 10)) == (0, "")
    number, sentence = runs_until_the_end("10%", False, (9, 0), (0, 1), (0, 1))
    assert number == 3 and "2 of 11 records are dead letters (18.2%)" in sentence
    assert runs_until_the_end("0%", False, (0, 0), (1, 0)) == (0, "")


def test_a_job_that_goes_on_judges_the_newest_thousand_records() -> None:
    assert runs_until_the_end("1%", True, (0, 999)) == (0, ""), "too few to judge"
    assert runs_until_the_end("1%", True, (0, 1), (99_999, 0), (999, 1)) == (0, "")
    number, sentence = runs_until_the_end("1%", True, (1_000_000, 0), (500, 5), (490, 7))
    assert number == 3 and "12 of 1,002 records are dead letters (1.2%)" in sentence


def test_without_a_limit_nothing_ends() -> None:
    DeadLetterLimit(None, True, "/t").check(0, 1_000_000)
