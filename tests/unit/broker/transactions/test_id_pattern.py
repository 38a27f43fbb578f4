from __future__ import annotations

import pytest

from broker.transactions.id_pattern import InvalidPattern, whole_match


def test_all_of_an_id_has_to_match() -> None:
    matches = whole_match("copy-[0-9]+")
    assert matches("copy-12")
    assert not matches("copy-12b")
    assert not matches("my-copy-12")
    assert whole_match("é.")("éß")


@pytest.mark.parametrize(
    "pattern", ["(", "a**", r"(a)\1", "(?=a)", "a{1001}", "(((a{99}){99}){99})"]
)
def test_what_is_no_expression_of_re2_is_refused_in_silence(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidPattern):
        whole_match(pattern)
    assert capfd.readouterr() == ("", "")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(.*a){20}b"])
def test_no_pattern_takes_more_than_a_moment(pattern: str) -> None:
    """Each would keep an expression that goes back busy for ever."""
    assert not whole_match(pattern)("a" * 5_000)
