from __future__ import annotations

import json
from typing import Any

import pytest

from broker.coordinator.name_pattern import InvalidPattern, NamePattern
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
        pattern = NamePattern(expression)
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
    pattern = NamePattern("copy-[0-9]+")
    assert pattern.matches("copy-12")
    assert not pattern.matches("copy-12b")
    assert not pattern.matches("my-copy-12")
    assert NamePattern("é.").matches("éß")


@pytest.mark.parametrize(
    "pattern", ["(", "a**", r"(a)\1", "(?=a)", "a{1001}", "(((a{99}){99}){99})"]
)
def test_what_is_no_expression_of_re2_is_refused_in_silence(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidPattern):
        NamePattern(pattern)
    assert capfd.readouterr() == ("", "")


def test_one_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(InvalidPattern, match="expression too large"):
        NamePattern(r"(\pL{500})")


def test_its_size_is_what_a_character_may_cost() -> None:
    assert NamePattern("a").size < 20
    assert NamePattern(".{1000}").size > 1_000


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(.*a){20}b"])
def test_no_pattern_takes_more_than_a_moment(pattern: str) -> None:
    """Each would keep an expression that goes back busy for ever."""
    assert not NamePattern(pattern).matches("a" * 5_000)
