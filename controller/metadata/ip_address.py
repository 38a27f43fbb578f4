"""Addresses as quotas name them, in one form for each: what a connection's address is compared to.

As in Java, an IPv4 address may have fewer than four numbers; the last one then stands for the
rest. Of host names only `localhost` is known: nothing is looked up.
"""

from __future__ import annotations

_LOCALHOST = "localhost"


def ip_address(text: str) -> str | None:
    """The address that `text` names; None where it is none."""
    if text.lower() == _LOCALHOST:
        return "127.0.0.1"
    if ":" in text:
        return _ipv6(text)
    parts = text.split(".")
    if len(parts) > 4 or not all(one.isascii() and one.isdigit() for one in parts):
        return None
    *first, last = (int(one) for one in parts)
    if any(one > 255 for one in first) or last >= 256 ** (4 - len(first)):
        return None
    number = last + sum(one << 8 * (3 - place) for place, one in enumerate(first))
    return ".".join(map(str, number.to_bytes(4)))


def _ipv6(text: str) -> str | None:
    from ipaddress import IPv6Address  # few need it

    text = text.removeprefix("[").removesuffix("]")
    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped
    return str(address if mapped is None else mapped)
