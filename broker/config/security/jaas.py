"""JAAS texts as `sasl.jaas.config` has them: `<login module class> <flag> name="value" … ;`.

Text in, one `JaasEntry` out. It knows the syntax only: which login module belongs to which
mechanism is `broker.config.security.mechanisms`. It never repeats a piece of the text in an error,
since a quote that is missing makes a piece of a password look like a name.

Follows what Apache Kafka 4.3 takes and refuses, which is the syntax of Java's `StreamTokenizer`:
values in double or single quotes, `\\"` and `\\\\` and Java's other escapes in them, comments `//`,
`/` and `/* */`. An unquoted value is a word, never a number. KIP-85.
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


class JaasError(ValueError):
    """A text that Kafka refuses; `str()` says why, without any piece of it."""


def parse_jaas(text: str) -> JaasEntry:
    """The one login module of `text`. Raises JaasError."""
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


# A token is its text where it is a word or quoted, else a mark: one character, or a number's "0".
_Token = tuple[str | None, str]


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            yield match[0], ""
        elif kind in ("double", "single"):
            yield _ESCAPE.sub(_character, match[kind]), ""
        elif kind in ("number", "other"):
            yield None, match[0] if kind == "other" else "0"


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, escape)


def _first_entry(tokens: list[_Token]) -> tuple[JaasEntry, list[_Token]]:
    """The first login module and the tokens after its semicolon."""
    login_module = tokens[0][0]
    flag = tokens[1][0] if len(tokens) > 1 else None
    if login_module is None or flag is None:
        raise JaasError(f"a login module or its flag is missing: {_HOW}")
    if flag.lower() not in _FLAGS:
        raise JaasError(f"what follows a login module is not one of {', '.join(_FLAGS)}: {_HOW}")
    options: dict[str, Secret] = {}
    at = 2
    while at < len(tokens) and tokens[at] != (None, ";"):
        name, value = tokens[at][0], tokens[at + 2][0] if at + 2 < len(tokens) else None
        if name is None or value is None or tokens[at + 1] != (None, "="):
            if not any(one == (None, ";") for one in tokens[at:]):
                break
            raise JaasError(
                f'after {len(options)} options something is not name="value": quote the values, '
                'write a quote in a value as \\" and a backslash as \\\\'
            )
        options[name] = Secret(value)
        at += 3
    if at >= len(tokens) or tokens[at] != (None, ";"):
        raise JaasError("it is not terminated by a semicolon: end it with ;")
    return JaasEntry(login_module, options), tokens[at + 1 :]
