"""IP addresses, each in one spelling: that of Java's `getHostAddress`, in which Kafka writes them.

    10.1.2.3                an IPv4 address, also where it comes inside an IPv6 one
    0:0:0:0:0:0:0:1         an IPv6 address: eight numbers, nothing left out
    fe80:0:0:0:0:0:0:1%2    a link-local address, with its zone: the number of the interface

A connection's address has it from the start, so that texts can be compared from there on. Host
names are not looked up.
"""

from __future__ import annotations

from struct import Struct

_LOCALHOST = "localhost"
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_eight_numbers = Struct(">8H").unpack


def address_of_bytes(address: bytes) -> str:
    """Return the spelling of an address of 4 or 16 bytes."""
    if address.startswith(_IPV4_MAPPED):
        address = address[len(_IPV4_MAPPED) :]
    if len(address) == 4:
        return ".".join(map(str, address))
    return ":".join([f"{number:x}" for number in _eight_numbers(address)])


def address_of_socket(address: tuple[object, ...]) -> str:
    """Return the spelling of a socket's address: `(host, port)`, or with flow and zone for IPv6."""
    host = str(address[0])
    if ":" not in host:
        return host
    spelling = one_spelling(without_zone(host))
    zone = address[3] if len(address) > 3 else 0
    return f"{spelling}%{zone}" if zone and ":" in spelling else spelling


def one_spelling(host: str) -> str:
    """Return the one spelling of an IPv6 address. Any other text stays as it is: an IPv4 address
    has no second spelling that is beyond doubt, and a name is no address."""
    if ":" not in host:
        return host
    address, zone = _ipv6(host)
    if address is None:
        return host
    spelling = address_of_bytes(address)
    return f"{spelling}%{zone}" if zone and ":" in spelling else spelling


def without_zone(address: str) -> str:
    """Return the address alone."""
    return address.partition("%")[0]


def is_for(host: str, address: str, *, any_zone: bool) -> bool:
    """Tell whether `host`, in its one spelling, stands for the client at `address`. A host without
    a zone stands for all zones, a host with a zone for that alone, unless `any_zone`."""
    if host == address:
        return True
    return without_zone(host) == without_zone(address) and (any_zone or "%" not in host)


def bytes_of_address(address: str) -> bytes | None:
    """Return the 4 or 16 bytes of an address, without its zone; None where it is none."""
    from ipaddress import ip_address as parsed  # few need it

    try:
        return parsed(address).packed
    except ValueError:
        return None


def ip_address(text: str) -> str | None:
    """Return the address that a quota names, without its zone; None where it names none.

    As in Java, an IPv4 address may have fewer than four numbers; the last one then stands for the
    rest. Of host names only `localhost` is known.
    """
    if text.lower() == _LOCALHOST:
        return "127.0.0.1"
    if ":" in text:
        address, _ = _ipv6(text)
        return None if address is None else address_of_bytes(address)
    parts = text.split(".")
    if len(parts) > 4 or not all(one.isascii() and one.isdigit() for one in parts):
        return None
    *first, last = (int(one) for one in parts)
    if any(one > 255 for one in first) or last >= 256 ** (4 - len(first)):
        return None
    number = last + sum(one << 8 * (3 - place) for place, one in enumerate(first))
    return address_of_bytes(number.to_bytes(4))


def _ipv6(text: str) -> tuple[bytes | None, str | None]:
    """Return an address, which may stand in brackets, and its zone."""
    from ipaddress import IPv6Address  # few need it

    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        address = IPv6Address(text)
    except ValueError:
        return None, None
    return address.packed, address.scope_id
