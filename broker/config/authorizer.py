"""The settings of the authorizer.

Follows Kafka's `StandardAuthorizer.getConfiguredSuperUsers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ground.config_def import ConfigError

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


_STANDARD_KEYS = ("super.users", "allow.everyone.if.no.acl.found")


def authorizer_warnings(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning if no user could create the first ACL: the StandardAuthorizer has no super
    users and denies by default."""
    is_standard = texts.get("authorizer.class.name") == STANDARD_AUTHORIZER
    if is_standard and not any(texts.get(key) for key in _STANDARD_KEYS):
        yield (
            "super.users is empty: where there are no ACLs yet, nobody may make one; "
            "set super.users=User:NAME"
        )


def parse_super_users(text: str) -> frozenset[str]:
    """Return the principals of `User:admin;User:CN=node,O=Acme`. Raises ConfigError."""
    principals = [principal.strip() for principal in text.split(";") if principal.strip()]
    for principal in principals:
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name):
            raise ConfigError(
                "super.users",
                f"super.users has {principal!r}: write Type:name, for example User:admin, "
                "and a semicolon between two of them",
            )
    return frozenset(principals)
