"""The parser of separators in options, with the escapes that a shell leaves to a command.

    \\t \\n \\r \\0 \\xNN \\\\      and a single backslash, which is the separator itself

Pure. `$'\\t'` of a shell arrives as a tab, which is the separator itself.
"""

from __future__ import annotations

import re

from broker.config.start_error import StartError

_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|.?)", re.DOTALL)
_NAMED = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def separator_of(option: str, text: str) -> bytes:
    """Return the bytes of the separator `text`. Raises StartError for an unknown escape."""
    typed = text.encode("utf-8", "surrogateescape")
    if typed == b"\\":
        return typed

    def escaped_bytes(escape: re.Match[bytes]) -> bytes:
        """Return the bytes of an escape. Raises StartError if it is unknown."""
        word: bytes = escape[1]
        if len(word) == 3:
            return bytes([int(word[1:], 16)])
        if word not in _NAMED:
            raise StartError(
                f"{option} {text}: write a backslash as \\\\; \\t, \\n, \\r, \\0 and \\xNN are read"
            )
        return _NAMED[word]

    return _ESCAPE.sub(escaped_bytes, typed)
