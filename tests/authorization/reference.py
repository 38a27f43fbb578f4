"""The rules of ACLs once more, as short as they can be said: no index, nothing shared with the
authorizer that is compared with it.

Written from the rules alone (`docs/security.md` tells them): a super user passes; an entry that
denies refuses; one that allows is enough; where no entry is about the resource, the setting counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

ALL, READ, WRITE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = (
    2,
    3,
    4,
    6,
    7,
    8,
    10,
    11,
)
DENY, PREFIXED = 2, 4
GIVES = {DESCRIBE: (READ, WRITE, DELETE, ALTER), DESCRIBE_CONFIGS: (ALTER_CONFIGS,)}

Entry = tuple[int, str, int, str, str, int, int]
"""Resource, name, pattern, principal, host, operation, permission."""


@dataclass(frozen=True)
class Reference:
    """One set of entries with the settings of the authorizer."""

    entries: Sequence[Entry]
    super_users: Sequence[str] = ()
    everyone: bool = False

    def allows(self, who: str, host: str, operation: int, resource: int, name: str) -> bool:
        if who in self.super_users:
            return True
        about = [one for one in self.entries if one[0] == resource and _matches(one, name)]
        mine = [one for one in about if one[3] in (who, "User:*") and _is_from(one[4], host)]
        if any(one[6] == DENY and one[5] in (operation, ALL) for one in mine):
            return False
        enough = (operation, ALL, *GIVES.get(operation, ()))
        if any(one[6] != DENY and one[5] in enough for one in mine):
            return True
        return self.everyone and not about

    def allows_some(self, who: str, host: str, operation: int, resource: int) -> bool:
        """Whether there is a name for which it is allowed: one of an entry, one that begins like
        it, or one that is like none."""
        names = [one[1] for one in self.entries if one[0] == resource]
        tried = [*names, *(f"{name}~" for name in names), "~"]
        return any(self.allows(who, host, operation, resource, name) for name in tried)


def _is_from(own: str, host: str) -> bool:
    return own in (host, "*") or ("/" in own and ip_address(host) in ip_network(own, strict=False))


def _matches(entry: Entry, name: str) -> bool:
    _, own, pattern, *_ = entry
    return name.startswith(own) if pattern == PREFIXED else own in (name, "*")
