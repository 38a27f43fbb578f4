"""What the settings of the authorizer mean.

Follows Kafka's `StandardAuthorizer.getConfiguredSuperUsers`.
"""

from __future__ import annotations

from storage.config_def import ConfigError

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def parse_super_users(text: str) -> frozenset[str]:
    """`User:admin;User:CN=node,O=Acme`: principals, between semicolons. Raises ConfigError."""
    principals = [one.strip() for one in text.split(";") if one.strip()]
    for principal in principals:
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name):
            raise ConfigError(
                "super.users",
                f"super.users has {principal!r}: write Type:name, for example User:admin, "
                "and a semicolon between two of them",
            )
    return frozenset(principals)
