"""`protocol.malformed_text`: as many replacements as Kafka makes."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError
from protocol.malformed_text import REPLACED

# What a running Kafka answers for a group id of these bytes; "?" stands for U+FFFD.
MALFORMED = {
    b"caf\xe9": "caf?",
    b"\x80\xbf": "??",
    b"\xc0\xaf": "??",
    b"\xe0\x80\xaf": "???",
    b"\xe2\x82": "?",
    b"\xe2\x82A": "?A",
    b"\xed\xa0\x80": "?",
    b"\xed\xa0\x80\xed\xb0\x80": "??",
    b"\xed\xbf": "?",
    b"\xed\xa0A": "?A",
    b"\xed\xa0\x80\x80": "??",
    b"\xf0\x9f\x98": "?",
    b"\xf0\x9f\x98A": "?A",
    b"\xf0\x80\x80\x80": "????",
    b"\xf4\x90\x80\x80": "????",
    b"\xf5\x80\x80\x80": "????",
    b"\xf8\x88\x80\x80\x80": "?????",
    b"\xff\xfe\xfd": "???",
    b"\xed\x9f\xbf\xff": "\ud7ff?",
    b"A\xffB\xc3\xa9": "A?B\xe9",
}


@pytest.mark.parametrize("data", MALFORMED, ids=bytes.hex)
def test_bytes_that_are_not_utf_8_are_replaced(data: bytes) -> None:
    replaced = MALFORMED[data].replace("?", "\ufffd")
    assert str(data, "utf-8", REPLACED) == replaced
    assert str(memoryview(b"x" + data * 2)[1 + len(data) :], "utf-8", REPLACED) == replaced


def test_what_becomes_longer_than_any_string_is_refused() -> None:
    longest = b"x" + b"\xff" * 10_922
    assert len(str(longest, "utf-8", REPLACED).encode()) == 32_767
    with pytest.raises(ProtocolError, match="32768 bytes, once what is not UTF-8 is replaced"):
        str(b"x" + longest, "utf-8", REPLACED)
