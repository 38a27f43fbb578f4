"""The search for a text or a regular expression in keys, values and headers.

In most searches few records have a match. So the unpacked body of a batch is searched as a whole,
and only the records in which a match begins are decoded. For the scan of a body, a regular
expression loses its anchors (`^`, `$` and the like), which would mean other places there. A record
then has to match the unchanged expression. The expressions are RE2's, whose time is bounded by the
length of the searched bytes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import re2

from broker.coordinator.name_pattern import re2_options
from broker.coordinator.pattern_steps import count_steps
from console.answers import ABSENT
from console.messages.decoding.decoded_parts import DecodedParts, text_of
from console.messages.json_escapes import has_escapes, unescaped
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from protocol.record_scan import read_varint
from protocol.records import Record, records_in

KEY, VALUE, HEADERS = "key", "value", "headers"
PARTS = (KEY, VALUE, HEADERS)
PATTERN_CHARACTERS_MAX = 1000
STEPS_MAX = 50_000
"""The limit of steps that RE2 compiles; more would hold all threads for longer than some 10 ms."""
_MEMORY_BYTES_MAX = 8 * 1024 * 1024
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[\^$]", re.DOTALL)
"""A part of an expression that is looked at as a whole: a quotation, an escape, a class, an
anchor."""
_ANCHORS = frozenset((r"\A", r"\z", r"\b", r"\B", "^", "$"))
_ANYWHERE = "(?:)"
_ENCODINGS = re2.Options.Encoding
_BYTE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\x[89a-fA-F][0-9a-fA-F]")


class BadPattern(ValueError):
    """A search text or regular expression that cannot be used; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled search text or regular expression."""

    strict: re2._Regexp
    loose: re2._Regexp
    """The expression without anchors. It has a match wherever `strict` has one."""
    escaped: re2._Regexp
    """Matches as `loose`, and at each escape of JSON, behind which `strict` may have a match."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """The search of a request, in some of the parts of records."""

    pattern: Pattern
    parts: tuple[str, ...]

    def candidates(self, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Yield the records of an unpacked body that may have a match without being decoded.

        Raises CorruptBatch.
        """
        scan = self.pattern.escaped if has_escapes(body) else self.pattern.loose
        return records_with(scan, header, body)

    def finds(self, record: Record, decoded: DecodedParts | None = None) -> bool:
        """Return whether a part of the record has a match, as bytes, as JSON without escapes, or
        decoded."""
        if VALUE in self.parts and self.is_in(record.value, decoded and decoded.value):
            return True
        if KEY in self.parts and self.is_in(record.key, decoded and decoded.key):
            return True
        return HEADERS in self.parts and any(
            self._matches(name.encode("utf-8", "surrogateescape"))
            or (value is not None and self._matches(value))
            for name, value in record.headers
        )

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each match in bytes."""
        for match in self.pattern.strict.finditer(data):
            yield match.span()

    def is_in(self, data: bytes | None, decoded: object) -> bool:
        """Return whether a key or value has a match; `decoded` is None or ABSENT if it is bytes."""
        if data is None:
            return False
        if self._matches(data):
            return True
        if decoded is not None and decoded is not ABSENT:
            return self._matches(text_of(decoded).encode("utf-8", "surrogatepass"))
        return has_escapes(data) and self._matches(unescaped(data))

    def _matches(self, data: bytes) -> bool:
        return self.pattern.strict.search(data) is not None


def records_with(pattern: re2._Regexp, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
    """Yield the records of an unpacked body in whose bytes a match begins. Raises CorruptBatch."""
    match = pattern.search(body)
    pos = 0
    alone = header._replace(record_count=1)
    try:
        while match is not None:
            begins = match.start()
            while True:  # to the record in which it begins
                length, start = read_varint(body, pos)
                end = start + length
                if length <= 0 or begins < end:
                    break
                pos = end
            yield from records_in(alone, body[pos:end])
            pos = end
            match = pattern.search(body, pos) if pos < len(body) else None
    except IndexError:
        raise CorruptBatch("the batch ends inside a record") from None


def matcher_of(
    text: str, *, is_regex: bool = False, with_case: bool = False, parts: tuple[str, ...] = PARTS
) -> Matcher:
    """Return the matcher of a search text. Raises BadPattern."""
    if not text:
        raise BadPattern("enter a text to search for")
    return Matcher(compiled(text, is_regex=is_regex, with_case=with_case), parts)


def compiled(text: str, *, is_regex: bool, with_case: bool) -> Pattern:
    r"""Return a search text compiled. Raises BadPattern.

    With an escape from `\x80` to `\xff`, a regular expression matches bytes instead of characters.
    """
    if len(text) > PATTERN_CHARACTERS_MAX:
        raise BadPattern(f"the search text must have at most {PATTERN_CHARACTERS_MAX} characters")
    if is_regex and count_steps(text, STEPS_MAX) > STEPS_MAX:
        raise BadPattern("this expression is too large: use fewer repetitions or character classes")
    in_bytes = is_regex and _BYTE_ESCAPE.search(text) is not None
    options = re2_options(
        {
            "log_errors": False,
            # Case as in Latin-1 would let the byte 0xE9 match 0xC9.
            "case_sensitive": with_case or in_bytes,
            "never_capture": True,
            "max_mem": _MEMORY_BYTES_MAX,
            "encoding": _ENCODINGS.LATIN1 if in_bytes else _ENCODINGS.UTF8,
        }
    )
    exact = text if is_regex else re2.escape(text)
    loose = _TOKEN.sub(_without_anchor, text) if is_regex else exact
    try:
        return Pattern(
            *(
                re2.compile(form.encode("utf-8", "surrogatepass"), options)
                for form in (exact, loose, rf"(?:{loose})|\\[u/]")
            )
        )
    except re2.error as error:
        (reason,) = error.args
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise BadPattern(f"this is not a regular expression: {said}") from None
    finally:
        re2.purge()  # it would keep the last 128, each with all its memory


def _without_anchor(token: re.Match[str]) -> str:
    """Return a token, or an expression that matches everywhere instead of an anchor."""
    return _ANYWHERE if token[0] in _ANCHORS else token[0]
