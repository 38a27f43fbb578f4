"""What is looked for in records: a text or a regular expression, in keys, values and headers.

Most records hold nothing of it. So a batch's whole body is searched, in which the records' bytes
lie one after the other, and only those records are taken apart in which something begins. For that
a regular expression is loosened: `^`, `$` and the like would mean another place in a body. They are
RE2's, whose time is bounded by the length of what they read, whoever wrote them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import re2

from broker.coordinator.name_pattern import re2_options
from broker.coordinator.pattern_steps import count_steps
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from protocol.record_scan import read_varint
from protocol.records import Record, records_in

KEY, VALUE, HEADERS = "key", "value", "headers"
PARTS = (KEY, VALUE, HEADERS)
PATTERN_CHARACTERS_MAX = 1000
STEPS_MAX = 50_000
"""More would hold all threads of the console for longer than some 10 ms."""
_MEMORY_BYTES_MAX = 8 * 1024 * 1024
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[\^$]", re.DOTALL)
"""What is looked at as one: a quotation, an escape, a class, an anchor."""
_PLACES = frozenset((r"\A", r"\z", r"\b", r"\B", "^", "$"))
_ANYWHERE = "(?:)"


class BadPattern(ValueError):
    """No regular expression; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """`matcher.found_in(header, body)` gives the records of a batch that are wanted."""

    strict: re2._Regexp
    loose: re2._Regexp
    """Finds at least what `strict` does, wherever it stands."""
    parts: tuple[str, ...]

    def found_in(self, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Of an unpacked body. Raises CorruptBatch."""
        match = self.loose.search(body)
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
                for record in records_in(alone, body[pos:end]):
                    if self.finds(record):
                        yield record
                pos = end
                match = self.loose.search(body, pos) if pos < len(body) else None
        except IndexError:
            raise CorruptBatch("the batch ends inside a record") from None

    def finds(self, record: Record) -> bool:
        """Whether one of the parts holds it."""
        if VALUE in self.parts and record.value is not None and self._in(record.value):
            return True
        if KEY in self.parts and record.key is not None and self._in(record.key):
            return True
        return HEADERS in self.parts and any(
            self._in(name.encode("utf-8", "surrogateescape"))
            or (value is not None and self._in(value))
            for name, value in record.headers
        )

    def _in(self, data: bytes) -> bool:
        return self.strict.search(data) is not None


def matcher_of(
    text: str, *, is_regex: bool = False, with_case: bool = False, parts: tuple[str, ...] = PARTS
) -> Matcher:
    """Raises BadPattern."""
    if not text:
        raise BadPattern("enter a text to search for")
    if len(text) > PATTERN_CHARACTERS_MAX:
        raise BadPattern(f"the search text must have at most {PATTERN_CHARACTERS_MAX} characters")
    if is_regex and count_steps(text, STEPS_MAX) > STEPS_MAX:
        raise BadPattern("this expression is too large: use fewer repetitions or character classes")
    options = re2_options(
        {
            "log_errors": False,
            "case_sensitive": with_case,
            "literal": not is_regex,
            "never_capture": True,
            "max_mem": _MEMORY_BYTES_MAX,
        }
    )
    loosened = _TOKEN.sub(_anywhere, text) if is_regex else text
    try:
        strict = re2.compile(text.encode("utf-8", "surrogatepass"), options)
        loose = re2.compile(loosened.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        (reason,) = error.args
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise BadPattern(f"this is not a regular expression: {said}") from None
    finally:
        re2.purge()  # it would keep the last 128, each with all its memory
    return Matcher(strict, loose, parts)


def _anywhere(token: re.Match[str]) -> str:
    """A token without what it says about its place."""
    return _ANYWHERE if token[0] in _PLACES else token[0]
