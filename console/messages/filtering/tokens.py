"""The tokens of a filter expression. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from console.messages.filtering.expressions import BadFilter

NUMBER, TEXT, NAME, SIGN, END = "number", "text", "name", "sign", "end"
_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|r\"(?P<raw>[^\"]*)\"|r'(?P<raw_single>[^']*)'"
    r"|\"(?P<text>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|[<>!()\[\],.])"
    r")",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_QUOTED_MAX = 12


class Token(NamedTuple):
    """A token; `at` is the position of its first character, from 1."""

    kind: str
    text: str
    at: int


def error(at: int, reason: str) -> BadFilter:
    """Return the error at a character of the expression."""
    return BadFilter(f"filter, character {at}: {reason}")


def tokens_of(expression: str) -> list[Token]:
    """Return the tokens, with END as the last. Raises BadFilter."""
    tokens, pos = [], 0
    end = len(expression.rstrip())
    while pos < end:
        match = _TOKEN.match(expression, pos)
        if match is None:
            raise _unknown(expression, pos)
        tokens.append(_token(match))
        pos = match.end()
    return [*tokens, Token(END, "", end + 1)]


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup
    assert kind is not None
    text = match[kind]
    at = match.start() + len(match[0]) - len(match[0].lstrip()) + 1
    if kind in ("raw", "raw_single"):
        return Token(TEXT, text, at)
    if kind in ("text", "single"):
        return Token(TEXT, _unescaped(text, at), at)
    return Token(kind, text, at)


def _unescaped(text: str, at: int) -> str:
    """Return the text of a literal without its escapes. Raises BadFilter."""

    def character(escape: re.Match[str]) -> str:
        code, sign = escape.groups()
        if code is not None:
            return chr(int(code, 16))
        if sign not in _ESCAPED:
            raise error(
                at + escape.start() + 1,
                f'\\{sign} is no escape: write \\\\ for a backslash, or r"…" for a text without '
                "escapes",
            )
        return _ESCAPED[sign]

    plain = _ESCAPE.sub(character, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unknown(expression: str, pos: int) -> BadFilter:
    """Return the error for characters that begin no token."""
    rest = expression[pos:].lstrip()
    at = pos + len(expression[pos:]) - len(rest) + 1
    if rest[0] in "\"'":
        return error(at, "the text has no closing quotation mark")
    if rest.startswith("="):
        return error(at, "write == to compare")
    if rest[0] in "&|":
        return error(at, "write && for and, || for or")
    word = re.split(r"[\s()\[\],]", rest, maxsplit=1)[0] or rest[0]
    return error(at, f"{word[:_QUOTED_MAX]} is not understood")
