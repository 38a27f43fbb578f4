"""An ACL as the page sends it."""

from __future__ import annotations

ACL = {
    "principal": "User:alice",
    "permission": "ALLOW",
    "operation": "READ",
    "resource": "TOPIC",
    "pattern": "PREFIXED",
    "name": "orders",
    "host": "",
}
