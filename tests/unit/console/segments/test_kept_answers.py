"""Answers are kept for a while, so many of them, and failures never."""

from __future__ import annotations

import pytest

from console.segments.kept_answers import KeptAnswers


def test_it_asks_once_in_a_while_and_again_after_a_failure() -> None:
    asked: list[str] = []
    now_s = 0.0

    def ask(key: str) -> int:
        asked.append(key)
        if key == "bad":
            raise ValueError
        return len(asked)

    answers = KeptAnswers(ask, 2.0, 2, lambda: now_s)
    assert (answers.of("a"), answers.of("a")) == (1, 1)
    now_s = 2.0
    assert answers.of("a") == 2
    for _ in range(2):
        with pytest.raises(ValueError):
            answers.of("bad")
    assert answers.of("b") == 5
    assert answers.of("c") == 6, "two were kept, and were forgotten"
    assert answers.of("a") == 7
    assert asked == ["a", "a", "bad", "bad", "b", "c", "a"]
