"""The files of a secured `ottla cluster`: who its nodes are, and how its users get in.

    DIR/certificates/ca.pem        whom nodes and clients trust
    DIR/certificates/ca.key        signs the certificates of nodes
    DIR/certificates/broker-1.pem  the key and the certificate of a node
    DIR/client.properties          how the user client connects; admin.properties the same for admin

All of it is for the owner alone, and no password is printed. Makes what a new cluster needs, goes
on with what is there, and signs a node's certificate anew where it ends soon or lacks a host that
the node advertises. Never: overwrites a file of somebody else's, or changes a password.
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
"""What a start that was cut off may leave behind before there is any node."""

_HERE = (HOST, "127.0.0.1", "::1")
_PASSWORD_BYTES = 18


def is_secured(path: Path) -> bool:
    """Whether the cluster in a folder was made by --secure."""
    return (path / _FOLDER / "ca.pem").exists()


def client_file(path: Path, user: str) -> Path:
    """The properties by which a user connects."""
    return path / f"{user}.properties"


class ClusterCredentials:
    """Of one folder: a new cluster's where no node was found in it."""

    def __init__(self, path: Path, found: Mapping[int, BrokerConfig]) -> None:
        """Makes nothing yet. Raises StartError where a certificate could not be made."""
        check_library()
        self._path = path
        self._found = found
        self._now_ms = time.time_ns() // 1_000_000
        known = [text for one in found.values() if (text := _broker_password(one))]
        self._broker_password = known[0] if known else _new_password()
        self.has_acls = not found or any(one.authorizer_class_name for one in found.values())
        """Whether nodes judge by ACLs; those of a cluster that was made before do not."""

    def make(self, bootstrap_servers: str) -> None:
        """The authority and the clients' files where they are not there, else where they point."""
        certificates = self._path.absolute() / _FOLDER
        certificates.mkdir(mode=0o700, exist_ok=True)
        if not (certificates / "ca.pem").exists():
            authority = new_authority(f"ottla cluster {_new_password()[:8]}", self._now_ms)
            write_private(certificates / "ca.key", authority.key)
            write_private(certificates / "ca.pem", authority.certificate)
        trusted = str(certificates / "ca.pem")
        for user in CLIENT_USERS:
            file = client_file(self._path, user)
            if not self._found:
                write_private(
                    file, client_properties(user, _new_password(), bootstrap_servers, trusted)
                )
            elif file.exists():
                _adjust(file, client_places(bootstrap_servers, trusted))

    def node(self, node_id: int) -> NodeSecurity:
        """What a node is given; nothing is made."""
        folder = self._path.absolute() / _FOLDER
        keystore = str(folder / f"broker-{node_id}.pem")
        trusted = str(folder / "ca.pem")
        return NodeSecurity(keystore, trusted, self._broker_password, self.has_acls)

    def certify(self, node_id: int) -> None:
        """Sign a certificate for a node, if it has none to go on with. Raises StartError."""
        file = Path(self.node(node_id).keystore)
        authority = (file.parent / "ca.pem").read_text("ascii")
        hosts = _hosts(node_id, self._found.get(node_id))
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
        made = new_certificate(Pem(key, authority), f"broker-{node_id}", hosts, self._now_ms)
        write_private(file, made.key + made.certificate)

    def first_records(self) -> list[FirstRecord]:
        """The users with whom the metadata of the cluster begins, and what they may do."""
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
        return [*users, *(acl_record(random_uuid(os.urandom), one) for one in acls)]


def _broker_password(config: BrokerConfig) -> str | None:
    mechanism = config.inter_broker_security.mechanism
    if mechanism is None or mechanism.jaas is None or "password" not in mechanism.jaas.options:
        return None
    return mechanism.jaas.options["password"].value


def _hosts(node_id: int, config: BrokerConfig | None) -> Sequence[str]:
    """Where others reach a node: they check that its certificate has that name."""
    if config is None:
        return _HERE
    advertised = [one.host for one in config.advertised_listeners]
    voting = [one.host for one in config.controller_quorum_voters if one.node_id == node_id]
    named = [one for one in (*advertised, *voting) if one not in (None, "", NON_ROUTABLE_HOST)]
    return list(dict.fromkeys([*_HERE, *(one for one in named if one is not None)]))


def _certificate(file: Path) -> str:
    """Without the key before it."""
    _, begin, rest = file.read_text("ascii").partition("-----BEGIN CERTIFICATE-----")
    return begin + rest


def _adjust(file: Path, places: Mapping[str, str]) -> None:
    """Point a client's file to where the cluster is, and leave what somebody else wrote."""
    before = file.read_text("utf-8")
    named = [line.partition("=")[2] for line in before.splitlines() if TRUSTSTORE_KEY in line]
    keeps_own = any(Path(one).exists() for one in named)
    changed = {key: text for key, text in places.items() if key != TRUSTSTORE_KEY or not keeps_own}
    after = with_keys(before, changed)
    if after != before:
        write_private(file, after)


def _new_password() -> str:
    """Letters, digits, - and _: it needs no quoting anywhere."""
    return base64.urlsafe_b64encode(os.urandom(_PASSWORD_BYTES)).decode()


def write_private(file: Path, text: str) -> None:
    """Whole or not at all, and for the owner alone."""
    half = file.with_name(f"{file.name}.tmp")
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    half.replace(file)
