"""Texts that are an address, and in which form addresses are compared: measured on Java 17."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.ip_address import (
    address_of_bytes,
    address_of_socket,
    bytes_of_address,
    canonical_address,
    ip_address,
    matches_client,
    without_zone,
)

LOOPBACK = "0:0:0:0:0:0:0:1"
LINK_LOCAL = "fe80:0:0:0:0:0:0:1"
NONE = (
    "", "x", "256.0.0.1", "1.2.3.4.5", "1..2", "10.0.0.0/8", "-1.0.0.1", " 10.0.0.1", "10.0.0.1 ",
    "١.0.0.1", "1.2.65536", "4294967296", ":::", "::1%eth0x/", "fe80::g", "example.com", "1.2.3.",
    "[::1", "::1]", "::1%", "1:2:3:4:5:6:7:8:9", "fe80::1%a%b",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.1", "10.0.0.1"),
        ("10.1.257", "10.1.1.1"),
        ("2130706433", "127.0.0.1"),
        ("010.0.0.1", "10.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("LOCALHOST", "127.0.0.1"),
        ("::1", LOOPBACK),
        (LOOPBACK, LOOPBACK),
        ("[::1]", LOOPBACK),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("FE80::0001%eth0", LINK_LOCAL),
    ],
)
def test_what_a_quota_names_has_one_form(text: str, address: str) -> None:
    assert ip_address(text) == address


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_address(text: str) -> None:
    assert ip_address(text) is None


@pytest.mark.parametrize(
    ("host", "spelling"),
    [
        ("::1", LOOPBACK),
        ("[::1]", LOOPBACK),
        ("0000:0000:0000:0000:0000:0000:0000:0001", LOOPBACK),
        ("2001:DB8::00aB:0", "2001:db8:0:0:0:0:ab:0"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("0:0:0:0:0:FFFF:0a01:0203", "10.1.2.3"),
        ("::10.1.2.3", "0:0:0:0:0:0:a01:203"),
        ("FE80::0001%2", f"{LINK_LOCAL}%2"),
        ("fe80::1%eth0", f"{LINK_LOCAL}%eth0"),
    ],
)
def test_an_ipv6_address_has_one_spelling(host: str, spelling: str) -> None:
    assert canonical_address(host) == canonical_address(spelling) == spelling


@pytest.mark.parametrize("text", ["*", "10.1.2.3", "010.1.2.3", "10.1", "localhost", *NONE])
def test_all_else_is_left_as_it_stands(text: str) -> None:
    assert canonical_address(text) == text


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (("127.0.0.1", 9092), "127.0.0.1"),
        (("::1", 9092, 0, 0), LOOPBACK),
        (("::ffff:127.0.0.1", 9092, 0, 0), "127.0.0.1"),
        (("fe80::1", 9092, 0, 2), f"{LINK_LOCAL}%2"),
        (("fe80::1%eth0", 9092, 0, 2), f"{LINK_LOCAL}%2"),
        (("::ffff:10.0.0.1", 9092, 0, 2), "10.0.0.1"),
        (("broker-1", 9092), "broker-1"),
    ],
)
def test_a_sockets_address_is_told_as_java_tells_it(address: tuple[Any, ...], host: str) -> None:
    assert address_of_socket(address) == host


@pytest.mark.parametrize(
    ("data", "address"),
    [
        (bytes((10, 1, 2, 3)), "10.1.2.3"),
        (bytes(15) + b"\1", LOOPBACK),
        (bytes(10) + b"\xff\xff\x0a\1\2\3", "10.1.2.3"),
        (bytes.fromhex("fe80" + "00" * 13 + "01"), LINK_LOCAL),
    ],
)
def test_bytes_and_back(data: bytes, address: str) -> None:
    assert address_of_bytes(data) == address
    again = bytes_of_address(f"{address}%2" if address == LINK_LOCAL else address)
    assert again is not None and address_of_bytes(again) == address


@pytest.mark.parametrize("text", ["", "here", "10.1", "10.1.2.3%2", "*"])
def test_what_has_no_bytes(text: str) -> None:
    assert bytes_of_address(text) is None


def test_a_host_without_a_zone_stands_for_all_and_one_with_a_zone_for_that() -> None:
    there = f"{LINK_LOCAL}%2"
    assert matches_client(there, there, any_zone=False) and matches_client(
        LINK_LOCAL, there, any_zone=False
    )
    assert not matches_client(f"{LINK_LOCAL}%3", there, any_zone=False)
    assert not matches_client(there, LINK_LOCAL, any_zone=False)
    assert matches_client(f"{LINK_LOCAL}%3", there, any_zone=True)
    assert matches_client(there, LINK_LOCAL, any_zone=True)
    assert not matches_client(LOOPBACK, there, any_zone=True)
    assert without_zone(there) == LINK_LOCAL
