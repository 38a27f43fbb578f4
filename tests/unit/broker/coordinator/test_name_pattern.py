from __future__ import annotations

import json
from typing import Any

import pytest
import re2

from broker.coordinator.name_pattern import (
    InvalidPattern,
    NamePattern,
    matching_names,
    pace_of_names,
)
from ground.sliced_work import Job
from tests.golden import topic_expression_cases as golden

KAFKA: dict[str, Any] = json.loads(golden.RECORDED.read_text())
NAMES = (*golden.TOPICS, "__consumer_offsets")

DIFFERENT = {
    # RE2 itself and RE2/J differ: the row topic-expressions-re2 of docs/differences.md.
    r"\C": ["A", "a"],
    "(?P<n>a)(?P<n>b)": ["ab"],
    "(a{100}){100}": "invalid repeat count",
    ")": "unexpected )",
    "a)": "unexpected )",
    "(?<=x).*": "invalid or unsupported Perl syntax",
    "(?<!x).*": "invalid or unsupported Perl syntax",
}


def _made_of(expression: str) -> list[str] | str:
    """The names that it gives, or why it is none."""
    try:
        pattern = NamePattern(expression, 50_000)
    except InvalidPattern as error:
        return str(error)
    return sorted(name for name in NAMES if pattern.matches(name))


def test_every_expression_has_kafkas_answer() -> None:
    assert list(KAFKA) == list(golden.EXPRESSIONS)
    assert [one for one in DIFFERENT if one not in KAFKA] == []


@pytest.mark.parametrize("expression", KAFKA)
def test_it_gives_the_names_that_kafka_finds_or_its_refusal(expression: str) -> None:
    kafka = KAFKA[expression]
    if isinstance(kafka, str):
        start = f"SubscribedTopicRegex `{expression}` is not a valid regular expression: "
        assert kafka.startswith(start)
        kafka = kafka.removeprefix(start).removesuffix(".")
    made = _made_of(expression)
    if expression in DIFFERENT:
        assert made == DIFFERENT[expression] != kafka
    else:
        assert made == kafka


def test_all_of_a_name_has_to_match() -> None:
    pattern = NamePattern("copy-[0-9]+", 50_000)
    assert pattern.matches("copy-12")
    assert not pattern.matches("copy-12b")
    assert not pattern.matches("my-copy-12")
    assert NamePattern("é.", 50_000).matches("éß")


@pytest.mark.parametrize(
    "pattern", ["(", "a**", r"(a)\1", "(?=a)", "a{1001}", "(((a{99}){99}){99})"]
)
def test_what_is_no_expression_of_re2_is_refused_in_silence(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidPattern):
        NamePattern(pattern, 50_000)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", [r"\pL" * 10_000, "a{0,1000}" * 30, "()" * 15_000])
def test_re2_never_sees_one_of_too_many_steps(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(re2, "compile", None)
    with pytest.raises(InvalidPattern, match="expression too large"):
        NamePattern(pattern, 50_000)


def test_the_limit_is_what_was_asked_for() -> None:
    assert NamePattern("abc", 3).matches("abc")
    with pytest.raises(InvalidPattern):
        NamePattern("abcd", 3)


def test_one_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(InvalidPattern, match="expression too large"):
        NamePattern(r"(\pL{500})", 10_000_000)


def test_nothing_is_kept_of_a_pattern_that_is_gone() -> None:
    for number in range(3):
        NamePattern(f"a{number}", 50_000)
        with pytest.raises(InvalidPattern):
            NamePattern(f"({number}", 50_000)
    assert re2._Regexp._make.cache_info().currsize == 0


def test_groups_cost_nothing() -> None:
    """A name would be matched against 4,000 groups, whose places nobody asks for."""
    assert NamePattern("()" * 4_000 + "a", 50_000).size < 20


def test_its_size_is_what_a_character_may_cost() -> None:
    assert NamePattern("a", 50_000).size < 20
    assert NamePattern(".{1000}", 50_000).size > 1_000


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(.*a){20}b"])
def test_no_pattern_takes_more_than_a_moment(pattern: str) -> None:
    """Each would keep an expression that goes back busy for ever."""
    assert not NamePattern(pattern, 50_000).matches("a" * 5_000)


def _looked_for(pattern: NamePattern, names: list[str]) -> tuple[list[str], list[int]]:
    """Which of `names` match, and how many of them each step looked at: as a negative number where
    a thread does."""
    looked: list[int] = []
    steps = matching_names(pattern, names, pace_of_names())
    total = 0
    result: Any = None
    while True:
        try:
            job = steps.send(result)
        except StopIteration as end:
            return end.value, looked
        if isinstance(job, Job):
            result = job.call()
            looked.append(-len(job.call.args[0]))  # type: ignore[attr-defined]
        else:
            result = None
            looked.append(0)
        total += 1
        assert total < 10_000


def test_few_names_are_matched_in_one_slice() -> None:
    found, steps = _looked_for(NamePattern("a.*", 50_000), ["a", "b", "ab"])
    assert (found, steps) == (["a", "ab"], [])


def test_a_slice_has_fewer_names_where_these_are_long_or_the_pattern_is_large() -> None:
    short = [f"a{number}" for number in range(10_000)]
    assert len(_looked_for(NamePattern("a.*", 50_000), short)[1]) < 60
    long = ["a" * 249 for _ in range(1_000)]
    few = len(_looked_for(NamePattern("a.*", 50_000), long)[1])
    many = len(_looked_for(NamePattern("a.{100}.*", 50_000), long)[1])
    assert 10 < few < 40
    assert 500 < many <= 1_000


def test_what_may_take_longer_than_a_slice_is_matched_in_a_thread() -> None:
    pattern = NamePattern("(a?){1000}", 50_000)
    found, steps = _looked_for(pattern, ["a" * 249] * 12)
    assert found == ["a" * 249] * 12
    assert steps == [-5, -5, -2]
    name = "b" * 32_000
    found, steps = _looked_for(NamePattern("(b|c|bc|cb|bb|cc)*", 50_000), ["b", name, "c", "d"])
    assert found == ["b", name, "c"]
    assert steps == [-1]
