"""The replacement of bytes that are not UTF-8, as by Java's decoder, which Kafka uses.

`str(data, "utf-8", REPLACED)` costs no more than usual for valid UTF-8. Python calls the handler at
the first malformed byte, once for the rest of the text.

Owns a name among Python's error handlers. Never rejects a text for its bytes, only for its length
after the replacement: U+FFFD has three bytes, and no message can have a longer string.
"""

from __future__ import annotations

import codecs
import re

from protocol.errors import ProtocolError

REPLACED = "replace-as-java"
"""The name of the error handler, for `str(…, "utf-8", …)`."""

_MOST_BYTES = 0x7FFF
# A surrogate (U+D800 to U+DFFF) in UTF-8, whole or without its last byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Return the rest of a text, from its first malformed byte on, and the position after it.
    Raises ProtocolError if the text becomes too long.

    Python's own replacement differs from Java's only for surrogates: Java replaces a surrogate by
    one U+FFFD, Python each of its bytes.
    """
    assert isinstance(error, UnicodeDecodeError)
    data = error.object
    rest = _SURROGATE.sub(b"\xff", data[error.start :]).decode("utf-8", "replace")
    size = error.start + len(rest.encode())
    if size > _MOST_BYTES:
        raise ProtocolError(f"a string of {size} bytes, once what is not UTF-8 is replaced")
    return rest, len(data)


codecs.register_error(REPLACED, _replace_as_java)
