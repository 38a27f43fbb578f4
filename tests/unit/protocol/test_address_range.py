"""Which addresses a range has: measured by Apache Kafka 4.4 on Java 17. The texts that are no range
have tests with Kafka's answers: `tests/unit/controller/requests/test_acl_ranges_kafka.py`."""

from __future__ import annotations

import pytest

from protocol.address_range import AddressRange, address_range

LOOPBACK = "0:0:0:0:0:0:0:1"
LINK_LOCAL = "fe80:0:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("10.0.0.0/8", ("10.0.0.0", "10.1.2.3", "10.255.255.255"), ("9.255.255.255", "11.0.0.0")),
        ("10.1.2.3/8", ("10.0.0.0", "10.255.255.255"), ("11.0.0.0",)),
        ("10.0.0.6/31", ("10.0.0.6", "10.0.0.7"), ("10.0.0.5", "10.0.0.8")),
        ("10.0.0.7/32", ("10.0.0.7",), ("10.0.0.6", "10.0.0.8")),
        ("010.0.0.7/08", ("10.1.2.3",), ("8.1.2.3",)),
        ("10.0.0.7/0", ("0.0.0.1", "10.0.0.7", "255.255.255.255"), ("0.0.0.0", LOOPBACK)),
        ("0.0.0.0/32", (), ("0.0.0.0", "0.0.0.1")),
        ("128.0.0.0/1", ("128.0.0.0", "255.255.255.255"), ("127.255.255.255",)),
        ("::/0", ("0:0:0:0:0:0:0:0", LOOPBACK, f"{LINK_LOCAL}%2"), ("10.0.0.7", "0.0.0.0")),
        ("::1/128", (LOOPBACK,), ("0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:2", "0.0.0.1")),
        ("[::1]/+0127", (LOOPBACK, "0:0:0:0:0:0:0:0"), ("0:0:0:0:0:0:0:2",)),
        ("2001:DB8::1/32", ("2001:db8:0:0:0:0:0:0", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9:0:0:0:0:0:0")),
        ("fe80::/10", (LINK_LOCAL, f"{LINK_LOCAL}%2", "febf:0:0:0:0:0:0:1"),
            ("fec0:0:0:0:0:0:0:0",)),
        ("fe80::%3/10", (LINK_LOCAL, f"{LINK_LOCAL}%2", f"{LINK_LOCAL}%3"), (LOOPBACK,)),
        ("::10.0.0.0/104", ("0:0:0:0:0:0:a01:203",), ("10.1.2.3", "0:0:0:0:0:0:b00:0")),
        ("::fffe:0:0/95", ("0:0:0:0:0:fffe:0:1",), ("10.1.2.3",)),
    ],
)  # fmt: skip
def test_a_range_has_its_first_address_and_its_last_and_those_between(
    text: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    made = address_range(text)
    assert [address for address in inside if not made.includes(address)] == []
    assert [address for address in outside if made.includes(address)] == []


@pytest.mark.parametrize("text", ["", "here", "10.1", "10.0.0.7%2", "10.0.0.0/8", "*", "10.0.0.07"])
def test_what_is_no_address_is_in_no_range(text: str) -> None:
    assert not address_range("0.0.0.0/0").includes(text)
    assert not address_range("::/0").includes(text)


def test_ranges_that_mean_the_same_are_equal() -> None:
    assert address_range("10.9.9.9/8") == address_range("10.0.0.0/08")
    assert address_range("10.0.0.0/8") == AddressRange(
        bytes((10, 0, 0, 0)), bytes((10, 255, 255, 255))
    )
    assert address_range("::/32") != address_range("::/33")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "Could not parse [10.0.0.0]"),
        ("::1", "Could not parse [::1] - invalid prefix length"),
        ("10.0.0.256/99", "Value [256] not in range [0,255]"),
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("10.0.0.0/8\n", "Could not parse [10.0.0.0/8\n]"),
        (
            "::/-2147483648",
            "Could not parse [::/-2147483648] - prefix length must be between 0 and 128",
        ),
        ("::/-2147483649", "Could not parse [::/-2147483649] - invalid prefix length"),
        (
            "::/2147483647",
            "Could not parse [::/2147483647] - prefix length must be between 0 and 128",
        ),
        ("::/2147483648", "Could not parse [::/2147483648] - invalid prefix length"),
        ("[::ffff:1.2.3.4]/8", "Could not parse [[::ffff:1.2.3.4]] - not an IPv6 address"),
    ],
)
def test_what_is_no_range_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        address_range(text)
    assert str(caught.value) == message


def test_a_prefix_length_of_many_digits_is_read() -> None:
    assert address_range(f"::1/{'0' * 30_000}128") == address_range("::1/128")
    with pytest.raises(ValueError, match="invalid prefix length"):
        address_range(f"::1/{'1' * 30_000}")
