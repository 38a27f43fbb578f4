"""Bash's words: what a line that is being typed says, and how a name is put on it.

Bash puts what it is given on the line as it is, and runs the line at the next ENTER. A name may
come from any client: each character of it that means something to bash is quoted, as the word that
it goes on was begun. A pure function of text. Never: expands anything; a word with a `$` of its
own has no meaning here.
"""

from __future__ import annotations

from typing import NamedTuple

SINGLE, DOUBLE = "'", '"'

_BLANKS = " \t\n"
_MEANT_IN_DOUBLE = '$`"\\'
_EXPANDED = "$`"
_OPERATORS = "<>|&;()"
_PLAIN = "_-./:=@%+,"
"""Beside letters and digits, what means nothing to bash within a word."""


class Word(NamedTuple):
    """A word, or as much of it as was typed."""

    raw: str
    text: str
    """Without its quotes."""
    quote: str = ""
    """The quote that is open at its end: SINGLE, DOUBLE or none."""
    is_literal: bool = True
    """Whether bash would take it for `text`: it has no expansion and no operator."""
    is_escaping: bool = False
    """Whether a backslash at its end waits for what it quotes."""


def words_of(line: str) -> list[Word]:
    """The words of a command up to the cursor; the last is the one that is being typed."""
    words: list[Word] = []
    text: list[str] = []
    begin, quote, is_literal, is_escaping = 0, "", True, False
    for at, char in enumerate(line):
        if is_escaping:
            is_escaping = False
            text.append(f"\\{char}" if quote and char not in _MEANT_IN_DOUBLE else char)
        elif char == quote:
            quote = ""
        elif quote == SINGLE:
            text.append(char)
        elif char == "\\":
            is_escaping = True
        elif not quote and char in (SINGLE, DOUBLE):
            quote = char
        elif not quote and char in _BLANKS:
            if at > begin:
                words.append(Word(line[begin:at], "".join(text), "", is_literal))
            begin, text, is_literal = at + 1, [], True
        else:
            text.append(char)
            is_literal = is_literal and char not in (_EXPANDED if quote else _EXPANDED + _OPERATORS)
    return [*words, Word(line[begin:], "".join(text), quote, is_literal, is_escaping)]


def quoted(text: str, quote: str = "") -> str:
    """Printable text to go on a word in which this quote is open: bash closes it itself, but where
    there is one before the cursor.

    Each character is quoted for itself: what several names have in common at their beginnings,
    their quoted forms have in common, and bash may put just that on the line.
    """
    if quote == SINGLE:
        inside = text.replace("'", r"'\''")
    elif quote == DOUBLE:
        inside = "".join(map(_in_double, text))
    else:
        return "".join(char if _is_plain(char) else f"\\{char}" for char in text)
    return inside + quote if inside.endswith(quote) else inside


def _in_double(char: str) -> str:
    if char == "!":  # an earlier command's: a backslash keeps it from that, and stays itself
        return "\"'!'\""
    return f"\\{char}" if char in _MEANT_IN_DOUBLE else char


def _is_plain(char: str) -> bool:
    return char.isalnum() or char in _PLAIN or not char.isascii()


def needs_no_quotes(text: str) -> bool:
    """Whether bash takes it for itself where it stands without quotes."""
    return quoted(text) == text
