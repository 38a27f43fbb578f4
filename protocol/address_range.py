"""Ranges of IP addresses in CIDR notation, as an ACL may have them for its host.

    10.1.2.0/24      the addresses from 10.1.2.0 to 10.1.2.255, both included
    2001:db8::/32    the addresses that share their first 32 bits with 2001:db8::

As in Kafka, the bits after the prefix may be set (`10.1.2.7/24` is the first example), a zone is
ignored, and no IPv4 address is in a range of IPv6, not even in `::/0`. Which texts are a range, and
what the errors say, follows Kafka 4.4. Never looks up a host name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from protocol.ip_address import bytes_of_address, ipv6_address

_IPV4_RANGE = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)
_PREFIX_LENGTH = re.compile(r"([+-]?)0*(\d{1,10})")
_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9A-Fa-f])")
_INT_MAX = 2**31 - 1
_FIRST_CLIENT = bytes((0, 0, 0, 1))
"""The lowest IPv4 address that a range may have: to Kafka, 0.0.0.0 is in no range."""

_KEPT_CLIENTS = 1_024
_client_bytes = lru_cache(maxsize=_KEPT_CLIENTS)(bytes_of_address)


class AddressRange(NamedTuple):
    """The addresses from `first` to `last`, both included, as bytes: 4 of IPv4 or 16 of IPv6."""

    first: bytes
    last: bytes

    def includes(self, address: str) -> bool:
        """Return whether the client at `address` is in this range. False if the text is no
        address."""
        client = _client_bytes(address)
        return (
            client is not None
            and len(client) == len(self.last)
            and self.first <= client <= self.last
        )


def address_range(text: str) -> AddressRange:
    """Return the range that a text describes. Raises ValueError, with Kafka's message, if the text
    describes none."""
    return _ipv6_range(text) if ":" in text else _ipv4_range(text)


def _ipv4_range(text: str) -> AddressRange:
    """Return the range `A.B.C.D/N`. Leading zeros are allowed, and the numbers are decimal."""
    match = _IPV4_RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"Could not parse [{text}]")
    *numbers, length = map(int, match.groups())
    for number, highest in (*((number, 255) for number in numbers), (length, 32)):
        if number > highest:
            raise ValueError(f"Value [{number}] not in range [0,{highest}]")
    first, last = _bounds(bytes(numbers), length)
    return AddressRange(max(first, _FIRST_CLIENT), last)


def _ipv6_range(text: str) -> AddressRange:
    """Return the range `ADDRESS/N`. The address may have brackets and the number of a zone."""
    address, _, length_text = text.partition("/")
    length = _prefix_length(length_text)
    if length is None:
        raise ValueError(f"Could not parse [{text}] - invalid prefix length")
    if not 0 <= length <= 128:
        raise ValueError(f"Could not parse [{text}] - prefix length must be between 0 and 128")
    # Java reads groups with any number of leading zeros, `ipaddress` at most four digits.
    packed, zone = ipv6_address(_LEADING_ZEROS.sub("", address))
    is_mapped = packed is not None and packed.startswith(bytes(10) + b"\xff\xff")
    if packed is None or (zone is not None and (is_mapped or not _is_number(zone))):
        raise ValueError(f"Could not parse [{address}]")
    if is_mapped:
        raise ValueError(f"Could not parse [{address}] - not an IPv6 address")
    return AddressRange(*_bounds(packed, length))


def _prefix_length(text: str) -> int | None:
    """Return the number as Java's `Integer.parseInt` reads it, None if the text is none."""
    match = _PREFIX_LENGTH.fullmatch(text)
    if match is None:
        return None
    length = int("".join(match.groups()))
    return length if -_INT_MAX - 1 <= length <= _INT_MAX else None


def _is_number(zone: str) -> bool:
    """Return whether a zone is a number. A name needs an interface that has it, on each node."""
    return zone.isascii() and zone.isdecimal()


def _bounds(address: bytes, length: int) -> tuple[bytes, bytes]:
    """Return the lowest and the highest address that share the first `length` bits of `address`."""
    size = len(address)
    host_bits = (1 << 8 * size - length) - 1
    number = int.from_bytes(address)
    return (number & ~host_bits).to_bytes(size), (number | host_bits).to_bytes(size)
