"""Texts that are an address in Java, and in which form they are compared."""

from __future__ import annotations

import pytest

from controller.metadata.ip_address import ip_address

NONE = (
    "", "x", "256.0.0.1", "1.2.3.4.5", "1..2", "10.0.0.0/8", "-1.0.0.1", " 10.0.0.1", "10.0.0.1 ",
    "١.0.0.1", "1.2.65536", "4294967296", ":::", "::1%eth0x/", "fe80::g", "example.com", "1.2.3.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.1", "10.0.0.1"),
        ("10.1.257", "10.1.1.1"),
        ("2130706433", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("LOCALHOST", "127.0.0.1"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("[::1]", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_an_address_has_one_form(text: str, address: str) -> None:
    assert ip_address(text) == address


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_address(text: str) -> None:
    assert ip_address(text) is None
