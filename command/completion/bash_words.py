"""Bash's words: parsing of a line that is being typed, and quoting of a name for it.

Bash puts a completion on the line unchanged, and runs the line at the next ENTER. Any client may
have chosen the name, so each character with a meaning for bash is quoted, in the style in which the
user began the word. Pure functions of text. Never expands anything: a word with an unquoted `$` is
not completed.
"""

from __future__ import annotations

from typing import NamedTuple

SINGLE, DOUBLE = "'", '"'

_BLANKS = " \t\n"
_MEANT_IN_DOUBLE = '$`"\\'
_EXPANDED = "$`"
_OPERATORS = "<>|&;()"
_PLAIN = "_-./:=@%+,"
"""The characters besides letters and digits that have no meaning to bash within a word."""


class Word(NamedTuple):
    """A word of the line, or the part of it that was typed so far."""

    raw: str
    text: str
    """The word without its quotes."""
    quote: str = ""
    """The quote that is open at the end: SINGLE, DOUBLE or ""."""
    is_literal: bool = True
    """Whether bash would read the word as `text`: it has no expansion and no operator."""
    is_escaping: bool = False
    """Whether the word ends with a backslash that quotes the next character."""


def words_of(line: str) -> list[Word]:
    """Return the words of a line up to the cursor; the last is the one that is being typed."""
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
    """Return printable text quoted for a word in which `quote` is open.

    Bash closes the quote itself, unless the text ends with one. Each character is quoted on its
    own, so that quoted names have a common beginning if the names have one: bash may put only that
    on the line.
    """
    if quote == SINGLE:
        inside = text.replace("'", r"'\''")
    elif quote == DOUBLE:
        inside = "".join(map(_in_double, text))
    else:
        return "".join(char if _is_plain(char) else f"\\{char}" for char in text)
    return inside + quote if inside.endswith(quote) else inside


def _in_double(char: str) -> str:
    """Return a character as it is written within double quotes."""
    if char == "!":  # history expansion: a backslash prevents it, but stays in the text
        return "\"'!'\""
    return f"\\{char}" if char in _MEANT_IN_DOUBLE else char


def _is_plain(char: str) -> bool:
    """Return whether the character has no meaning to bash and needs no backslash."""
    return char.isalnum() or char in _PLAIN or not char.isascii()


def needs_no_quotes(text: str) -> bool:
    """Return whether bash reads the text unchanged without quotes."""
    return quoted(text) == text
