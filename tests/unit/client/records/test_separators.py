"""Escapes in a separator that was typed."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from client.records.separators import separator_of


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (r"\t", b"\t"),
        ("\t", b"\t"),
        (r"\n\r\0", b"\n\r\0"),
        (r"\x1F\xff", b"\x1f\xff"),
        (r"\\t", b"\\t"),
        ("\\", b"\\"),
        ("::é", "::é".encode()),
        ("\udcff", b"\xff"),
    ],
)
def test_what_is_meant(typed: str, meant: bytes) -> None:
    assert separator_of("-K", typed) == meant


@pytest.mark.parametrize("typed", [r"\q", r"\x1", r"\xzz", "a\\"])
def test_an_escape_that_is_none(typed: str) -> None:
    with pytest.raises(StartError, match="write a backslash as"):
        separator_of("-K", typed)
