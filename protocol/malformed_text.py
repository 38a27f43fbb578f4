"""Text that is not UTF-8: what takes the place of its bytes, as in Java, whose decoder Kafka has.

`str(data, "utf-8", REPLACED)` costs nothing more where the bytes are right: Python asks for the
replacement at the first malformed byte, once for the rest of the text.

Owns a name among Python's error handlers. Never: refuses a text for what it holds, but for what it
becomes: U+FFFD takes three bytes, and what is longer than any string could be told to nobody.
"""

from __future__ import annotations

import codecs
import re

from protocol.errors import ProtocolError

REPLACED = "replace-as-java"
"""What `str(…, "utf-8", …)` is told to do with bytes that are not UTF-8."""

_MOST_BYTES = 0x7FFF
# A surrogate (U+D800 to U+DFFF) in UTF-8, whole or without its last byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """The rest of a text from its first malformed byte on. Raises ProtocolError.

    Python's own replacement, which is Java's but for surrogates: Java puts one U+FFFD for one of
    them, Python one for each of its bytes.
    """
    assert isinstance(error, UnicodeDecodeError)
    data = error.object
    rest = _SURROGATE.sub(b"\xff", data[error.start :]).decode("utf-8", "replace")
    size = error.start + len(rest.encode())
    if size > _MOST_BYTES:
        raise ProtocolError(f"a string of {size} bytes, once what is not UTF-8 is replaced")
    return rest, len(data)


codecs.register_error(REPLACED, _replace_as_java)
