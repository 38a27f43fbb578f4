"""`ssl.principal.mapping.rules`: the mapping from a certificate's name to a principal's name.

Owns the grammar of the rules: `DEFAULT` or `RULE:<pattern>/<replacement>/`, with an optional `L`
(lower case) or `U` (upper case) at the end, separated by commas. The first rule whose pattern
matches the whole name applies. A pattern may have commas; `\\/` is a slash. Never reads a
certificate.

The rules have Java's regular expressions, which are translated to Python's with the same meaning:
`.` stops at Java's line ends, classes are ASCII. Syntax that Python lacks (`\\p{L}`, `[a&&b]`) is
an error that names it. A replacement is checked at the start; in Kafka a wrong one fails at the
first login. Follows KIP-371.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from ground.config_def import ConfigError

_KEY = "ssl.principal.mapping.rules"
_RULE = "RULE:"
_DEFAULT = "DEFAULT"
_NOT_A_LINE_END = r"[^\n\r\u0085\u2028\u2029]"

_Part = str | int
"""A piece of a replacement: a text, or the number of a group."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    replacement: tuple[_Part, ...]
    case: Callable[[str], str]

    def apply(self, name: str) -> str | None:
        """Return the mapped name, in the case that the rule asks for, or None if the rule does not
        match the whole name."""
        if self.pattern.fullmatch(name) is None:
            return None
        return self.case(self.pattern.sub(self._replaced, name))

    def _replaced(self, match: re.Match[str]) -> str:
        """Return the replacement for a match, with the texts of its groups; a group without a text
        is empty."""
        parts = (part if isinstance(part, str) else match[part] for part in self.replacement)
        return "".join(part or "" for part in parts)


class PrincipalMapping:
    """The rules of one listener."""

    def __init__(self, rules: str, key: str = _KEY) -> None:
        """Parse the rules. Raises ConfigError for `key` if one is malformed."""
        self._rules = _Parser(rules, key).rules()

    def name_of(self, distinguished_name: str) -> str | None:
        """Return the principal's name by the first rule that matches; DEFAULT returns the name
        itself. None: no rule matches."""
        for rule in self._rules:
            if rule is None:
                return distinguished_name
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        return None


class _Parser:
    """A parser that reads the text of the rules once."""

    def __init__(self, text: str, key: str) -> None:
        self._text = text
        self._key = key
        self._at = 0

    def rules(self) -> tuple[_Rule | None, ...]:
        """Return the rules in their order; None is DEFAULT. Raises ConfigError."""
        parsed: list[_Rule | None] = []
        while True:
            self._skip(" \t\r\n,")
            if self._at == len(self._text):
                return tuple(parsed)
            begin = self._at
            parsed.append(self._read_rule())
            self._skip(" \t\r\n")
            if self._at < len(self._text) and self._text[self._at] != ",":
                raise self._error(begin, "it has to end there, with a comma before the next rule")

    def _read_rule(self) -> _Rule | None:
        """Read the next rule and return it; None is DEFAULT. Raises ConfigError if it is
        malformed."""
        begin = self._at
        if self._took_word(_DEFAULT):
            return None
        if not self._took_word(_RULE):
            raise self._error(begin, "a rule is DEFAULT or RULE:pattern/replacement/ with L or U")
        pattern, replacement = self._read_to_slash(begin), self._read_to_slash(begin)
        case = str.lower if self._took_word("L") else str.upper if self._took_word("U") else str
        try:
            compiled = _compiled(pattern)
            return _Rule(compiled, _parts(replacement, compiled), case)
        except (re.error, ValueError, OverflowError, RecursionError, Warning) as error:
            raise self._error(begin, str(error)) from None

    def _read_to_slash(self, begin: int) -> str:
        """Return the text up to the next unescaped slash, and move behind that slash. Raises
        ConfigError for the rule that begins at `begin` if there is none."""
        start = self._at
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter == "/":
                self._at += 1
                return self._text[start : self._at - 1]
            self._at += 2 if letter == "\\" else 1
        raise self._error(begin, "a rule is RULE:pattern/replacement/, and a slash is missing")

    def _took_word(self, word: str) -> bool:
        """Return whether `word` comes next. If so, move behind it."""
        matches = self._text.startswith(word, self._at)
        self._at += len(word) if matches else 0
        return matches

    def _skip(self, letters: str) -> None:
        """Move behind all next characters that are among `letters`."""
        while self._at < len(self._text) and self._text[self._at] in letters:
            self._at += 1

    def _error(self, begin: int, reason: str) -> ConfigError:
        """Return the ConfigError for the rule that begins at `begin`, without raising it."""
        rule = self._text[begin:].strip().replace("\n", "\\n")
        return ConfigError(self._key, f"{self._key}: rule `{rule}` is wrong: {reason}.")


def _compiled(java: str) -> re.Pattern[str]:
    """Return the Python form of a Java pattern.

    Raises re.error, ValueError or a warning if it has none.
    """
    with warnings.catch_warnings():
        # Python warns of a «possible set intersection», which Java would apply.
        warnings.simplefilter("error")
        return re.compile(_as_python(java), re.ASCII)


def _as_python(java: str) -> str:
    """Return a Java pattern in Python's syntax. Syntax that Python lacks stays as it is."""
    out: list[str] = []
    at, in_class = 0, False
    while at < len(java):
        letter = java[at]
        if letter == "\\":
            escape = java[at : at + 2]
            out.append({r"\z": r"\Z", r"\Z": r"(?=[\n\r]?\Z)"}.get(escape, escape))
            at += 2
            continue
        if letter == "[" and not in_class:
            in_class = True
        elif letter == "]" and in_class:
            in_class = False
        if letter == "." and not in_class:
            out.append(_NOT_A_LINE_END)
        elif not in_class and re.match(r"\(\?<[A-Za-z]", java[at:]):
            out.append("(?P<")
            at += 2
        else:
            out.append(letter)
        at += 1
    return "".join(out)


def _parts(java: str, pattern: re.Pattern[str]) -> tuple[_Part, ...]:
    """Return the parts of a replacement: groups (`$1`, `${name}`) as numbers, and texts. A
    backslash escapes the next letter. Raises ValueError for an unknown name, or a `$` without a
    group.

    A number of no group is a text, as in Kafka.
    """
    parts: list[_Part] = []
    at = 0
    while at < len(java):
        letter = java[at]
        if letter == "\\":
            parts.append(java[at + 1])
            at += 2
        elif letter == "$":
            part, at = _group(java, at + 1, pattern)
            parts.append(part)
        else:
            parts.append(letter)
            at += 1
    return tuple(parts)


def _group(java: str, at: int, pattern: re.Pattern[str]) -> tuple[_Part, int]:
    """Return the part that the `$` before `at` begins, and the offset after it. Raises ValueError
    for an unknown name, or if no name or number follows."""
    named = re.match(r"\{([A-Za-z][A-Za-z0-9]*)\}", java[at:])
    if named is not None:
        if named[1] not in pattern.groupindex:
            raise ValueError(f"the pattern has no group {named[1]}")
        return pattern.groupindex[named[1]], at + named.end()
    number = re.match("[0-9]+", java[at:])
    if number is None:
        raise ValueError("a $ in the replacement has no group behind it; \\$ is the letter")
    digits = number[0]
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= pattern.groups:
            return int(digits[:end]), at + end
    return f"${digits}", at + len(digits)
