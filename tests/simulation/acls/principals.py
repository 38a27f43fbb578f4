"""Who is who in a run with ACLs: the principal of each client, the nodes' own, and the settings.

`ROOT` changes the ACLs and reads everything at the end; it may do all, as the nodes may. The others
may do what ACLs say: producers, consumers, transactional clients, the admin, and a stranger.
"""

from __future__ import annotations

ROOT, NODES = "User:root", "User:node"
SUPER_USERS = (ROOT, NODES)
WRITER, READER, BANKER, KEEPER, STRANGER = (
    "User:writer",
    "User:reader",
    "User:banker",
    "User:keeper",
    "User:stranger",
)
ORDINARY = (WRITER, READER, BANKER, KEEPER, STRANGER)
HOST = "10.0.0.1"
"""From which every client comes."""
_OF_FAMILY = {
    "idempotent": WRITER,
    "plain": WRITER,
    "consumer": READER,
    "member": READER,
    "twin": READER,
    "transfer": BANKER,
    "copier": BANKER,
    "admin": KEEPER,
    "stranger": STRANGER,
}


def principal_of(client: str) -> str:
    """By the first word of its name."""
    return _OF_FAMILY.get(client.partition("-")[0], ROOT)


def settings(everyone: bool) -> dict[str, str]:
    """Of each node. `everyone`: whether all may do what no ACL speaks about."""
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(SUPER_USERS),
        "allow.everyone.if.no.acl.found": str(everyone).lower(),
    }
