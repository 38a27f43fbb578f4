"""A part of an answer's bytes."""

from __future__ import annotations

import pytest

from testbed.faults.cut_answer import cut


class Slice:
    def read(self) -> bytes:
        return b"abcd"


@pytest.mark.parametrize(
    ("parts", "share", "expected"),
    [
        (b"0123456789", 0.5, b"01234"),
        (b"0123456789", 0.0, b"0123"),
        (b"0123456789", 1.0, b"012345678"),
        (memoryview(b"0123"), 0.5, b"012"),
        ([memoryview(b"0123"), Slice(), bytearray(b"89")], 0.75, b"0123abc"),
    ],
)
def test_the_first_bytes_are_left(parts: object, share: float, expected: bytes) -> None:
    assert cut(parts, share) == expected
