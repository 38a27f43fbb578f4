"""The parser of `sasl.jaas.config` texts: `<login module class> <flag> name="value" … ;`.

It also parses JAAS files: sections of login modules, each `<section> { … };`.

It knows only the syntax: `broker.config.security.mechanisms` knows which login module belongs to
which mechanism. It never repeats a part of the text in an error, since with a missing quote a part
of a password looks like a name.

Follows what Apache Kafka accepts and rejects, which is the syntax of Java's `StreamTokenizer`.
Values are in double or single quotes, with `\\"` and `\\\\` and Java's other escapes in them.
Comments are `//`, `/` and `/* */`. An unquoted value is a word, never a number. KIP-85.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker.config.security_settings import JaasEntry, Secret

_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(
    r"""(?P<blank>[\x00-\x20]+)
      | (?P<comment>/\*.*?(?:\*/|\Z)|/[^\r\n]*)
      | (?P<number>[0-9.-]+)
      | (?P<word>[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*)
      | "(?P<double>(?:\\.|[^"\\\r\n])*)"?
      | '(?P<single>(?:\\.|[^'\\\r\n])*)'?
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HOW = 'write it as CLASS required name="value" ...;'
_HOW_SECTION = 'write it as KafkaServer { CLASS required name="value" ...; };'


class JaasError(ValueError):
    """A text that Kafka rejects; `str()` says why, without any part of the text."""


def parse_jaas(text: str) -> JaasEntry:
    """Return the only login module of `text`. Raises JaasError."""
    if re.match(r"\s*\w+\s*\{", text):
        raise JaasError(
            "it looks like a section of a JAAS file (KafkaServer { ... }); give what stands "
            'between the braces: CLASS required name="value" ...;'
        )
    tokens = list(_tokens(text))
    entries = []
    while tokens:
        entry, tokens = _first_entry(tokens)
        entries.append(entry)
    if not entries:
        raise JaasError(f"there is no login module in it: {_HOW}")
    if len(entries) > 1:
        raise JaasError(f"it contains {len(entries)} login modules, should be 1 module")
    return entries[0]


def parse_jaas_sections(text: str) -> dict[str, list[JaasEntry]]:
    """Return the login modules of each section of a JAAS file. Raises JaasError."""
    tokens = list(_tokens(text))
    sections: dict[str, list[JaasEntry]] = {}
    while tokens:
        name = tokens[0][0]
        if name is None or tokens[1:2] != [(None, "{")]:
            raise JaasError(f"after {len(sections)} sections there is no section: {_HOW_SECTION}")
        if name in sections:
            raise JaasError("it has two sections of one name: leave one of them out")
        sections[name], tokens = [], tokens[2:]
        while tokens and tokens[0] != (None, "}"):
            entry, tokens = _first_entry(tokens)
            sections[name].append(entry)
        if tokens[:2] != [(None, "}"), (None, ";")]:
            raise JaasError(f"section {len(sections)} does not end with }};: {_HOW_SECTION}")
        tokens = tokens[2:]
    return sections


def jaas_text(entry: JaasEntry) -> str:
    """Return the text of which `parse_jaas` makes an equal entry."""
    options = [f"{_quoted(name)}={_quoted(value.value)}" for name, value in entry.options.items()]
    return " ".join((_quoted(entry.login_module), "required", *options)) + ";"


def _quoted(text: str) -> str:
    """Return a text in quotes, with escapes."""
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(character, escape)
    return f'"{text}"'


# The text of a word or of a quoted token; otherwise a mark: a single character, or "0" for a
# number.
_Token = tuple[str | None, str]


def _tokens(text: str) -> Iterator[_Token]:
    """Yield each word or unescaped string as (text, ""), and anything else as (None, symbol)."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            yield match[0], ""
        elif kind in ("double", "single"):
            yield _ESCAPE.sub(_unescaped_character, match[kind]), ""
        elif kind in ("number", "other"):
            yield None, match[0] if kind == "other" else "0"


def _unescaped_character(match: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    escape = match[1]
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, escape)


def _first_entry(tokens: list[_Token]) -> tuple[JaasEntry, list[_Token]]:
    """Return the first login module, and the tokens after its semicolon. Raises JaasError."""
    login_module = tokens[0][0]
    flag = tokens[1][0] if len(tokens) > 1 else None
    if login_module is None or flag is None:
        raise JaasError(f"a login module or its flag is missing: {_HOW}")
    if flag.lower() not in _FLAGS:
        raise JaasError(f"what follows a login module is not one of {', '.join(_FLAGS)}: {_HOW}")
    options: dict[str, Secret] = {}
    position = 2
    while position < len(tokens) and tokens[position] != (None, ";"):
        name, value = (
            tokens[position][0],
            tokens[position + 2][0] if position + 2 < len(tokens) else None,
        )
        if name is None or value is None or tokens[position + 1] != (None, "="):
            if not any(token == (None, ";") for token in tokens[position:]):
                break
            raise JaasError(
                f'after {len(options)} options something is not name="value": quote the values, '
                'write a quote in a value as \\" and a backslash as \\\\'
            )
        options[name] = Secret(value)
        position += 3
    if position >= len(tokens) or tokens[position] != (None, ";"):
        raise JaasError("it is not terminated by a semicolon: end it with ;")
    return JaasEntry(login_module, options), tokens[position + 1 :]
