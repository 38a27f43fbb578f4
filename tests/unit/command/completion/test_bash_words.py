"""Bash itself says whether a name is on the line as it is to be."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command.completion.bash_words import DOUBLE, SINGLE, Word, quoted, words_of

BASH = shutil.which("bash") or "bash is needed"
QUOTES = pytest.mark.parametrize("quote", ["", SINGLE, DOUBLE], ids=["plain", "single", "double"])
NAMES = st.text(
    st.one_of(st.sampled_from("$`\"'\\!*?[]{}()<>|&;#~^ =:,%@-+aé\u0416"), st.characters()),
    min_size=1,
).filter(str.isprintable)


def on_the_line(name: str, quote: str) -> str:
    """A word begun with a quote, as bash leaves it when it has put a name there."""
    inside = quoted(name, quote)
    return quote + inside + ("" if quote and inside.endswith(quote) else quote)


@QUOTES
@given(names=st.lists(NAMES, min_size=1, max_size=50))
def test_bash_takes_a_quoted_name_for_the_name(names: list[str], quote: str) -> None:
    words = " ".join(on_the_line(name, quote) for name in names)
    done = subprocess.run(
        [BASH, "--norc", "-c", f"printf '%s\\0' {words}"],
        capture_output=True,
        check=True,
        timeout=60,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert (done.stderr, done.stdout.decode().split("\0")[:-1]) == (b"", names)


@QUOTES
@given(name=NAMES, more=NAMES)
def test_what_names_have_in_common_can_stand_there_alone(name: str, more: str, quote: str) -> None:
    """Bash puts that on the line, and asks again."""
    common = quoted(name + "x", quote)[:-1]
    assert quoted(name + more, quote).startswith(common)
    *_, word = words_of(f"ottla topic describe {quote}{common}")
    assert (word.text, word.quote, word.is_escaping) == (name, quote, False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", [Word("", "")]),
        ("ottla  gr", [Word("ottla", "ottla"), Word("gr", "gr")]),
        ("a ", [Word("a", "a"), Word("", "")]),
        ("'a b' \"c d", [Word("'a b'", "a b"), Word('"c d', "c d", DOUBLE)]),
        ("au\\ b", [Word("au\\ b", "au b")]),
        ("a'b c'\"d e\"f", [Word("a'b c'\"d e\"f", "ab cd ef")]),
        ("'it'\\''s", [Word("'it'\\''s", "it's", SINGLE)]),
        ('"a\\$b\\c', [Word('"a\\$b\\c', "a$b\\c", DOUBLE)]),
        ("a\\", [Word("a\\", "a", is_escaping=True)]),
        ("a$b", [Word("a$b", "a$b", is_literal=False)]),
        ('"a`b', [Word('"a`b', "a`b", DOUBLE, is_literal=False)]),
        ("'a$b`", [Word("'a$b`", "a$b`", SINGLE)]),
        ("a;b", [Word("a;b", "a;b", is_literal=False)]),
        ('"a;b', [Word('"a;b', "a;b", DOUBLE)]),
        ("$x y", [Word("$x", "$x", is_literal=False), Word("y", "y")]),
    ],
)
def test_words_of_a_line(line: str, words: list[Word]) -> None:
    assert words_of(line) == words
