"""Rounds: in turns, what counts, what fails, and what a candidate has not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from bench.testing import clients, rounds
from bench.testing.candidates import FIRST_OF_ALL, RESET, SHARED, TOPICS
from bench.testing.results import Results
from bench.testing.rounds import (
    FIRST_GROUP,
    FIRST_RECORD,
    FIRST_RECORD_THERE,
    FIRST_START,
    LEFT_BEHIND,
    START,
    Rounds,
    in_turn,
    own_broker,
    shared_broker,
)

ALL = {RESET: "none", FIRST_OF_ALL: "none", SHARED: "none", TOPICS: "none"}


class Candidate:
    def __init__(self, name: str, told: list[str], lacks: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.told = told
        self.lacks = lacks or {}
        self.runs = False
        self.found = LEFT_BEHIND
        self.seconds: list[Candidate] = []

    def what(self) -> str:
        return ""

    def prepare(self) -> None: ...

    def first_of_all(self) -> str:
        self.told.append(f"first {self.name}")
        return "first"

    def end_first_of_all(self) -> None:
        self.told.append(f"end first {self.name}")

    def start(self) -> str:
        assert not self.runs
        self.runs = True
        self.told.append(f"start {self.name}")
        return f"address of {self.name}"

    def topic(self, name: str) -> str:
        return f"made {name}"

    def reset(self) -> Mapping[str, int]:
        self.told.append(f"reset {self.name}")
        return self.found

    def stop(self) -> None:
        self.runs = False

    def second(self) -> Candidate:
        self.seconds.append(Candidate(f"second {self.name}", self.told))
        return self.seconds[-1]

    def close(self) -> None:
        self.told.append(f"close {self.name}")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of candidates and of clients."""
    found: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *words: found.append(" ".join((name, *words)))

    for name in ("first_record", "first_group", "leave_behind"):
        monkeypatch.setattr(clients, name, note(name))
    monkeypatch.setattr(clients, "answers", lambda address: None)
    monkeypatch.setattr(rounds, "CLIENTS", {"one": note("one")})
    return found


def run(results: Results, count: int, *candidates: Candidate) -> list[str]:
    said: list[str] = []
    Rounds(candidates, results).run(count, said.append)
    return said


def empty() -> Results:
    return Results({}, {}, 1)


def test_each_round_begins_with_another_one(told: list[str]) -> None:
    assert [in_turn("abc", number) for number in range(4)] == [  # type: ignore[arg-type]
        list("abc"),
        list("bca"),
        list("cab"),
        list("abc"),
    ]
    results = empty()
    said = run(results, 2, Candidate("a", told, ALL), Candidate("b", told, ALL))
    starts = [line for line in told if line.startswith("start")]
    assert starts == [f"start {name}" for name in "aabbbbaaaabb"]
    assert said == ["round 0 of 2", "round 2 of 2"]
    assert len(results.of("a", START)) == len(results.of("b", own_broker("one"))) == 2


def test_what_a_candidate_has_not_is_noted_and_not_asked(told: list[str]) -> None:
    results = empty()
    run(results, 1, Candidate("a", told, {**ALL, SHARED: "no reset"}))
    assert set(results.values["a"]) == {START, FIRST_RECORD, FIRST_GROUP, own_broker("one")}
    assert results.lacking["a"][RESET] == "none" and FIRST_START in results.lacking["a"]
    assert results.lacking["a"][shared_broker("confluent-kafka")] == "no reset"
    assert FIRST_RECORD_THERE in results.lacking["a"]
    assert not any("reset" in line or "first a" in line for line in told)


def test_what_fails_is_noted_and_given_up(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: str) -> None:
        told.append("tried")
        raise ValueError("not today")

    monkeypatch.setattr(rounds, "CLIENTS", {"one": refuse})
    results = empty()
    run(results, 4, Candidate("a", told, ALL))
    assert results.failures["a"][own_broker("one")] == ["ValueError: not today"] * 2
    assert told.count("tried") == 2 and len(results.of("a", START)) == 4


def test_a_reset_must_find_what_was_left(told: list[str]) -> None:
    results, one = empty(), Candidate("a", told)
    rounds_ = Rounds([one], results)
    second = one.second()
    second.found = {"topics": 2}
    one.second = lambda: second  # type: ignore[method-assign]
    rounds_.run(1, lambda text: None)
    assert results.of("a", RESET) == []
    assert "{'topics': 2}" in results.failures["a"][RESET][0]


def test_a_start_that_fails_is_noted_too(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def late(address: str) -> None:
        raise TimeoutError("late")

    monkeypatch.setattr(clients, "answers", late)
    results, one = empty(), Candidate("a", told, ALL)
    run(results, 1, one)
    assert results.failures["a"][START] == ["TimeoutError: late"] * 2 and not one.runs
    assert not any("first_record" in line for line in told)
    assert len(results.of("a", own_broker("one"))) == 1
