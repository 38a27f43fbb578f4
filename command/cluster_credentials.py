"""The files of a secured `ottla cluster`: certificates of nodes, and client properties of users.

    DIR/certificates/ca.pem        the authority that nodes and clients trust
    DIR/certificates/ca.key        its key, which signs the certificates of nodes
    DIR/certificates/broker-1.pem  the key and the certificate of a node
    DIR/client.properties          how the user client connects; admin.properties the same for admin

Only the owner can read the files, and no password is printed. Creates the files of a new cluster
and reuses existing ones. A node's certificate is replaced if it expires soon or lacks a host that
the node advertises. Never overwrites a file that the user provided, and never changes a password.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from broker.config.endpoints import NON_ROUTABLE_HOST
from broker.config.file import load_client_security
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from command.cluster_certificates import (
    Pem,
    check_library,
    is_current,
    new_authority,
    new_certificate,
)
from command.cluster_layout import HOST, with_keys
from command.cluster_security import (
    BROKER_USER,
    CLIENT_ACLS,
    CLIENT_JAAS_KEY,
    CLIENT_USERS,
    MECHANISM,
    TRUSTSTORE_KEY,
    NodeSecurity,
    client_places,
    client_properties,
)
from command.scram_argument import scram_record
from controller.metadata.snapshot import acl_record
from controller.random_ids import random_uuid
from controller.storage_format import FirstRecord

_FOLDER = "certificates"
FILES = (_FOLDER, *(f"{user}.properties" for user in CLIENT_USERS))
"""The files that an interrupted first start may leave behind before there is any node."""

_HERE = (HOST, "127.0.0.1", "::1")
_PASSWORD_BYTES = 18


def is_secured(path: Path) -> bool:
    """Return whether the folder has the certificate of an authority, because its cluster was made
    with --secure."""
    return (path / _FOLDER / "ca.pem").exists()


def client_file(path: Path, user: str) -> Path:
    """Return the path of the client properties of a user."""
    return path / f"{user}.properties"


class ClusterCredentials:
    """The certificates, passwords and users of the cluster in one folder."""

    def __init__(self, path: Path, configs: Mapping[int, BrokerConfig]) -> None:
        """Begin without writing a file; `configs` are those of existing nodes, none if the cluster
        is new.

        Raises StartError if the library for certificates is not installed.
        """
        check_library()
        self._path = path
        self._configs = configs
        self._now_ms = time.time_ns() // 1_000_000
        passwords = [text for config in configs.values() if (text := _broker_password(config))]
        self._broker_password = passwords[0] if passwords else _new_password()
        self.has_acls = not configs or any(
            config.authorizer_class_name for config in configs.values()
        )
        """Whether nodes have an authorizer; clusters of earlier releases have none."""

    def make(self, bootstrap_servers: str) -> None:
        """Create the authority's files, unless they exist, and for a new cluster the clients' files
        with new passwords.

        The existing clients' files of a cluster get its current addresses and truststore.
        """
        certificates = self._path.absolute() / _FOLDER
        certificates.mkdir(mode=0o700, exist_ok=True)
        if not (certificates / "ca.pem").exists():
            authority = new_authority(f"ottla cluster {_new_password()[:8]}", self._now_ms)
            write_private(certificates / "ca.key", authority.key)
            write_private(certificates / "ca.pem", authority.certificate)
        trusted = str(certificates / "ca.pem")
        for user in CLIENT_USERS:
            file = client_file(self._path, user)
            if not self._configs:
                write_private(
                    file, client_properties(user, _new_password(), bootstrap_servers, trusted)
                )
            elif file.exists():
                _adjust(file, client_places(bootstrap_servers, trusted))

    def node(self, node_id: int) -> NodeSecurity:
        """Return the paths and the password of a node, without creating anything."""
        folder = self._path.absolute() / _FOLDER
        keystore = str(folder / f"broker-{node_id}.pem")
        trusted = str(folder / "ca.pem")
        return NodeSecurity(keystore, trusted, self._broker_password, self.has_acls)

    def certify(self, node_id: int) -> None:
        """Write a new key and certificate of a node to its file, unless the file has a current
        certificate. Raises StartError if the authority's files are missing or the node's file is no
        PEM."""
        file = Path(self.node(node_id).keystore)
        authority = (file.parent / "ca.pem").read_text("ascii")
        hosts = _hosts(node_id, self._configs.get(node_id))
        try:
            if file.exists() and is_current(authority, _certificate(file), hosts, self._now_ms):
                return
            key = (file.parent / "ca.key").read_text("ascii")
        except FileNotFoundError as error:
            raise StartError(
                f"{error.filename} is missing: it has to sign a certificate for node {node_id}, "
                f"which is reached at {', '.join(hosts)}"
            ) from error
        except ValueError as error:
            raise StartError(
                f"{file} is no certificate in PEM: delete it, and it is made"
            ) from error
        node_pem = new_certificate(Pem(key, authority), f"broker-{node_id}", hosts, self._now_ms)
        write_private(file, node_pem.key + node_pem.certificate)

    def first_records(self) -> list[FirstRecord]:
        """Return the first records of the cluster's metadata: its users and their ACLs."""
        passwords = {BROKER_USER: self._broker_password}
        for user in CLIENT_USERS:
            file = client_file(self._path, user)
            if file.exists():
                security, _ = load_client_security(str(file))
                jaas = security.mechanism.jaas if security.mechanism is not None else None
                assert jaas is not None, CLIENT_JAAS_KEY
                passwords[user] = jaas.options["password"].value
        users = [
            scram_record(f"{MECHANISM}=[name={user},password={password}]", os.urandom)
            for user, password in passwords.items()
        ]
        acls = CLIENT_ACLS if self.has_acls else ()
        return [*users, *(acl_record(random_uuid(os.urandom), acl) for acl in acls)]


def _broker_password(config: BrokerConfig) -> str | None:
    """Return the password by which the broker logs in at other brokers, None if it has none."""
    mechanism = config.inter_broker_security.mechanism
    if mechanism is None or mechanism.jaas is None or "password" not in mechanism.jaas.options:
        return None
    return mechanism.jaas.options["password"].value


def _hosts(node_id: int, config: BrokerConfig | None) -> Sequence[str]:
    """Return the hosts at which clients and nodes reach a node, for its certificate: this
    machine's own names, the advertised hosts, and the node's host in the quorum's voters, or of a
    dynamic quorum those that it advertises there. Without `config`, this machine's names only."""
    if config is None:
        return _HERE
    advertised = [listener.host for listener in config.advertised_listeners]
    voting = [voter.host for voter in config.controller_quorum_voters if voter.node_id == node_id]
    if not config.controller_quorum_voters:
        voting = [listener.host or "" for listener in config.advertised_controller_listeners]
    named = [host for host in (*advertised, *voting) if host not in (None, "", NON_ROUTABLE_HOST)]
    return list(dict.fromkeys([*_HERE, *(host for host in named if host is not None)]))


def _certificate(file: Path) -> str:
    """Return the certificate in a node's file, without the key before it."""
    _, begin, rest = file.read_text("ascii").partition("-----BEGIN CERTIFICATE-----")
    return begin + rest


def _adjust(file: Path, places: Mapping[str, str]) -> None:
    """Write the cluster's addresses and truststore to a client's file; keep its other keys.

    The file's own truststore is kept if it exists.
    """
    before = file.read_text("utf-8")
    named = [line.partition("=")[2] for line in before.splitlines() if TRUSTSTORE_KEY in line]
    keeps_own = any(Path(store).exists() for store in named)
    changed = {key: text for key, text in places.items() if key != TRUSTSTORE_KEY or not keeps_own}
    after = with_keys(before, changed)
    if after != before:
        write_private(file, after)


def _new_password() -> str:
    """Return a random password of letters, digits, - and _, which needs no quoting anywhere."""
    return base64.urlsafe_b64encode(os.urandom(_PASSWORD_BYTES)).decode()


def write_private(file: Path, text: str) -> None:
    """Replace a file at once, never half written, readable by its owner only."""
    unfinished = file.with_name(f"{file.name}.tmp")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    unfinished.replace(file)
