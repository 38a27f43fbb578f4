"""IP addresses, each in one spelling: that of Java's `getHostAddress`, in which Kafka writes them.

    10.1.2.3                an IPv4 address, also one inside an IPv6 address
    0:0:0:0:0:0:0:1         an IPv6 address: eight numbers, without abbreviation
    fe80:0:0:0:0:0:0:1%2    a link-local address, with its zone: the number of the interface

A connection's address has this spelling from the start, so that later code can compare texts. Never
looks up a host name.
"""

from __future__ import annotations

from struct import Struct

_LOCALHOST = "localhost"
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_eight_numbers = Struct(">8H").unpack


def address_of_bytes(address: bytes) -> str:
    """Return the spelling of an address of 4 or 16 bytes. An IPv4 address inside an IPv6 address is
    spelled as IPv4."""
    if address.startswith(_IPV4_MAPPED):
        address = address[len(_IPV4_MAPPED) :]
    if len(address) == 4:
        return ".".join(map(str, address))
    return ":".join([f"{number:x}" for number in _eight_numbers(address)])


def address_of_socket(address: tuple[object, ...]) -> str:
    """Return the spelling of a socket's address: `(host, port)`, or with flow and zone for IPv6.

    Only the host, and the zone of an IPv6 address, are in the result.
    """
    host = str(address[0])
    if ":" not in host:
        return host
    spelling = canonical_address(without_zone(host))
    zone = address[3] if len(address) > 3 else 0
    return f"{spelling}%{zone}" if zone and ":" in spelling else spelling


def canonical_address(host: str) -> str:
    """Return the canonical spelling of an IPv6 address. Return any other text unchanged: a name is
    no address, and other spellings of an IPv4 address are ambiguous."""
    if ":" not in host:
        return host
    address, zone = ipv6_address(host)
    if address is None:
        return host
    spelling = address_of_bytes(address)
    return f"{spelling}%{zone}" if zone and ":" in spelling else spelling


def without_zone(address: str) -> str:
    """Return the address without its zone, which begins with `%`."""
    return address.partition("%")[0]


def matches_client(host: str, address: str, *, any_zone: bool) -> bool:
    """Return whether `host`, in its canonical spelling, means the client at `address`. A host
    without a zone means all zones, a host with a zone that zone alone, unless `any_zone`."""
    if host == address:
        return True
    return without_zone(host) == without_zone(address) and (any_zone or "%" not in host)


def bytes_of_address(address: str) -> bytes | None:
    """Return the 4 or 16 bytes of an address, without its zone; None: the text is no address."""
    from ipaddress import ip_address as parsed  # rarely needed

    try:
        return parsed(address).packed
    except ValueError:
        return None


def ip_address(text: str) -> str | None:
    """Return the address that a quota names, without its zone; None: the text is no address.

    As in Java, an IPv4 address may have fewer than four numbers; its last number then has the
    remaining bytes. `localhost` is the only accepted host name.
    """
    if text.lower() == _LOCALHOST:
        return "127.0.0.1"
    if ":" in text:
        address, _ = ipv6_address(text)
        return None if address is None else address_of_bytes(address)
    parts = text.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    *first, last = (int(part) for part in parts)
    if any(byte > 255 for byte in first) or last >= 256 ** (4 - len(first)):
        return None
    number = last + sum(byte << 8 * (3 - place) for place, byte in enumerate(first))
    return address_of_bytes(number.to_bytes(4))


def ipv6_address(text: str) -> tuple[bytes | None, str | None]:
    """Return the bytes of an IPv6 address, which may have brackets, and its zone; None: the text is
    no IPv6 address."""
    from ipaddress import IPv6Address  # rarely needed

    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        address = IPv6Address(text)
    except ValueError:
        return None, None
    return address.packed, address.scope_id
