"""The texts of a secured cluster on one machine: keys of nodes, users, ACLs, clients' properties.

Clients and brokers share one listener, as in Kafka's own documentation of SASL: TLS, and a login by
SCRAM. Controllers have another listener, where both sides authenticate by certificates. They cannot
use SCRAM, because its users are stored in the metadata log, which needs the controllers first.

Nodes and the user admin may do everything (super users). The user client may use topics, groups and
transactions, and describe the cluster; ACLs give it these rights, so that they can be changed.

Pure text. Never makes a certificate or a password, and never touches a disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.config.authorizer import STANDARD_AUTHORIZER
from controller.metadata.acl import ANY_HOST, WILDCARD, Acl, PatternType, Permission
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource

LISTENER = "SASL_SSL"
MECHANISM = "SCRAM-SHA-512"
BROKER_USER = "broker"
ADMIN_USER, CLIENT_USER = "admin", "client"
CLIENT_USERS = (ADMIN_USER, CLIENT_USER)
"""The users that have a file of client properties, named after them."""

KEYSTORE_KEY = "ssl.keystore.location"
TRUSTSTORE_KEY = "ssl.truststore.location"
JAAS_KEY = f"listener.name.{LISTENER.lower()}.{MECHANISM.lower()}.sasl.jaas.config"
CLIENT_JAAS_KEY = "sasl.jaas.config"

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_Key = tuple[str, str, str]

_CLIENT_MAY = (
    (Resource.TOPIC, WILDCARD, Operation.READ),
    (Resource.TOPIC, WILDCARD, Operation.WRITE),
    (Resource.TOPIC, WILDCARD, Operation.CREATE),
    (Resource.TOPIC, WILDCARD, Operation.DESCRIBE_CONFIGS),
    (Resource.GROUP, WILDCARD, Operation.READ),
    (Resource.TRANSACTIONAL_ID, WILDCARD, Operation.WRITE),
    (Resource.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE),
)
CLIENT_ACLS = [
    Acl(
        resource,
        name,
        PatternType.LITERAL,
        f"User:{CLIENT_USER}",
        ANY_HOST,
        operation,
        Permission.ALLOW,
    )
    for resource, name, operation in _CLIENT_MAY
]
"""The ACLs of the user client, among the first metadata of a new cluster."""


class NodeSecurity(NamedTuple):
    """The security settings of one node: the paths of its stores, and the brokers' password."""

    keystore: str
    truststore: str
    broker_password: str
    has_acls: bool = True
    """Whether the node has an authorizer; nodes of clusters made by earlier releases have none."""

    @property
    def places(self) -> dict[str, str]:
        """The keys whose values are paths of files."""
        return {KEYSTORE_KEY: self.keystore, TRUSTSTORE_KEY: self.truststore}

    def keys(self) -> Sequence[_Key]:
        """Return the security keys of a node's file: (the comment above, name, value)."""
        return [
            (
                "Clients and brokers log in with a user and a password, by this mechanism.",
                "sasl.enabled.mechanisms",
                MECHANISM,
            ),
            (
                "Brokers log in at each other by the same mechanism.",
                "sasl.mechanism.inter.broker.protocol",
                MECHANISM,
            ),
            (
                "The login of this broker at other brokers. Users are in the cluster's metadata:\n"
                "# ottla user shows and changes them.",
                JAAS_KEY,
                jaas(BROKER_USER, self.broker_password),
            ),
            (
                "Nodes authenticate to controllers by certificate, because users cannot log in "
                "before controllers run.",
                "listener.name.controller.ssl.client.auth",
                "required",
            ),
            ("The format of the key and the certificate of this node.", "ssl.keystore.type", "PEM"),
            (
                "The format of the certificate that signed those of all nodes.",
                "ssl.truststore.type",
                "PEM",
            ),
            *(_AUTHORIZER_KEYS if self.has_acls else ()),
        ]


_AUTHORIZER_KEYS: Sequence[_Key] = (
    (
        "Other users may do what ACLs allow them: ottla acl shows and changes ACLs.",
        "authorizer.class.name",
        STANDARD_AUTHORIZER,
    ),
    ("The users who may do everything.", "super.users", f"User:{BROKER_USER};User:{ADMIN_USER}"),
    (
        "To controllers, the certificate of each node stands for the same user.",
        "listener.name.controller.ssl.principal.mapping.rules",
        f"RULE:^CN=broker-[0-9]+$/{BROKER_USER}/,DEFAULT",
    ),
)
LISTENER_KEYS: Sequence[_Key] = (
    ("The listener of the controllers.", "controller.listener.names", "CONTROLLER"),
    ("The listener of brokers and clients.", "inter.broker.listener.name", LISTENER),
    (
        "The protocol of each listener: TLS everywhere, and a login for clients and brokers.",
        "listener.security.protocol.map",
        f"CONTROLLER:SSL,{LISTENER}:SASL_SSL",
    ),
)


def jaas(user: str, password: str) -> str:
    """Return the JAAS configuration of a client. The password must not contain quotes."""
    return f'{_MODULE} required username="{user}" password="{password}";'


def client_places(bootstrap_servers: str, truststore: str) -> dict[str, str]:
    """Return the keys of a client's file that depend on ports and folders."""
    return {"bootstrap.servers": bootstrap_servers, TRUSTSTORE_KEY: truststore}


def client_properties(user: str, password: str, bootstrap_servers: str, truststore: str) -> str:
    """Return the text of a user's file of client properties."""
    places = client_places(bootstrap_servers, truststore)
    keys = {
        "bootstrap.servers": places["bootstrap.servers"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        CLIENT_JAAS_KEY: jaas(user, password),
        "ssl.truststore.type": "PEM",
        TRUSTSTORE_KEY: places[TRUSTSTORE_KEY],
    }
    title = (
        f"# Client properties of the user {user}, written by ottla cluster: for --command-config "
        "of ottla and of Kafka's tools,\n"
        "# and for Java clients. It holds a password. librdkafka's names: sasl.username, "
        "sasl.password, ssl.ca.location.\n\n"
    )
    return title + "".join(f"{name}={value}\n" for name, value in keys.items())
