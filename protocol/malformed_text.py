"""Text that is not UTF-8: what takes the place of its bytes, as in Java, whose decoder Kafka has.

`str(data, "utf-8", REPLACED)` costs nothing more where the bytes are right: Python asks for the
replacement at the first malformed byte, once for the rest of the text.

Owns a name among Python's error handlers. Never: refuses a text.
"""

from __future__ import annotations

import codecs
import re

REPLACED = "replace-as-java"
"""What `str(…, "utf-8", …)` is told to do with bytes that are not UTF-8."""

# A surrogate (U+D800 to U+DFFF) in UTF-8, whole or without its last byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """The rest of a text from its first malformed byte on.

    Python's own replacement, which is Java's but for surrogates: Java puts one U+FFFD for one of
    them, Python one for each of its bytes.
    """
    assert isinstance(error, UnicodeDecodeError)
    data = error.object
    return _SURROGATE.sub(b"\xff", data[error.start :]).decode("utf-8", "replace"), len(data)


codecs.register_error(REPLACED, _replace_as_java)
