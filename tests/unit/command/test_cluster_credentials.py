"""A secured cluster's folder: certificates, passwords and who may read them."""

from __future__ import annotations

import shutil
import ssl
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from broker.config.authorizer import parse_super_users
from broker.config.file import load_client_security, load_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.security.tls.contexts import client_context, server_context
from broker.security.tls.principal_mapping import PrincipalMapping
from command.cluster_credentials import is_secured
from command.cluster_folder import open_folder
from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage, acl_of
from controller.metadata.scram_credential import (
    SCRAM_MECHANISMS,
    credential_of,
    salted_password,
)
from controller.storage_format import read_bootstrap
from ground.filesystem import LocalFilesystem
from ottla.plugins.authorizer import CLUSTER_NAME, Action, Asker, Operation, Resource
from protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    UserScramCredentialRecord,
)


def config(folder: Path, node_id: int) -> BrokerConfig:
    return load_config(str(folder / f"broker-{node_id}.properties"), ())


def secured(folder: Path, brokers: int | None = None, port: int | None = None) -> Path:
    assert open_folder(str(folder), brokers, port, secure=True).is_secured
    return folder


def texts(folder: Path) -> dict[str, str]:
    """Every file that is not data, by name."""
    files = [*folder.glob("*.properties"), *folder.glob("certificates/*")]
    return {one.name: one.read_text() for one in files}


def hosts_of(file: Path) -> list[str]:
    found = x509.load_pem_x509_certificate(file.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [
        *names.get_values_for_type(x509.DNSName),
        *map(str, names.get_values_for_type(x509.IPAddress)),
    ]


def password(folder: Path, user: str) -> str:
    security, warnings = load_client_security(str(folder / f"{user}.properties"))
    assert warnings == []
    assert security.mechanism is not None and security.mechanism.jaas is not None
    assert security.mechanism.jaas.options["username"].value == user
    return security.mechanism.jaas.options["password"].value


def test_nodes_log_in_by_scram_and_controllers_ask_for_certificates(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 4)
    for node_id in (1, 2, 3, 4):
        made = config(folder, node_id)
        assert made.warnings == ()
        assert made.inter_broker_security.security_protocol == "SASL_SSL"
        assert made.controller_security.security_protocol == "SSL"
        for name, security in made.listener_security.items():
            assert security.tls is not None
            assert (security.sasl is not None) == (name == "SASL_SSL")
            assert security.tls.client_auth == ("none" if security.sasl else "required")
            server_context("", security.tls)


def test_a_client_trusts_every_node_under_each_name_of_the_machine(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    security, _ = load_client_security(str(folder / "client.properties"))
    assert security.tls is not None
    nodes = config(folder, 2).listener_security["SASL_SSL"].tls
    assert nodes is not None
    for host in ("localhost", "127.0.0.1", "::1"):
        shake_hands(server_context("", nodes), client_context("", security.tls), host)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context("", nodes), client_context("", security.tls), "example.org")


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> None:
    """Without a socket; TLS 1.3 needs two rounds."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    halves = (
        client.wrap_bio(back, there, server_hostname=host),
        server.wrap_bio(there, back, server_side=True),
    )
    for _ in range(2):
        for half in halves:
            try:
                half.do_handshake()
            except ssl.SSLWantReadError:
                continue
    halves[0].getpeercert()
    assert halves[0].version() is not None


def test_all_is_for_the_owner_alone(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    files = [*folder.glob("*.properties"), *folder.glob("certificates/*")]
    assert len(files) == 3 + 2 + 2 + 3
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert stat.S_IMODE((folder / "certificates").stat().st_mode) == 0o700


def test_the_metadata_begins_with_the_users_of_the_files(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    passwords = {user: password(folder, user) for user in ("admin", "client")}
    between = config(folder, 1).inter_broker_security.mechanism
    assert between is not None and between.jaas is not None
    passwords["broker"] = between.jaas.options["password"].value
    assert len(dict.fromkeys(passwords.values())) == 3
    data = str(folder / "broker-1" / "data")
    records = read_bootstrap(LocalFilesystem(), data)
    users = [one for one in records if isinstance(one, UserScramCredentialRecord)]
    assert sorted(one.name for one in users) == sorted(passwords)
    mechanism = SCRAM_MECHANISMS["SCRAM-SHA-512"]
    for one in users:
        assert one.mechanism == mechanism.value
        salted = salted_password(mechanism, passwords[one.name], one.salt, one.iterations)
        expected = credential_of(mechanism, salted, one.salt, one.iterations)
        assert one.stored_key == expected.stored_key


def may(acls: Iterable[Acl], user: str, *action: Any) -> bool:
    """Whether a cluster with these ACLs, and the super users of its files, lets a user do that."""
    image = AclsImage().changed({bytes([at]): one for at, one in enumerate(acls)})
    judge = StandardAuthorizer(lambda: image, parse_super_users("User:broker;User:admin"))
    asker = Asker(f"User:{user}", "10.0.0.7", "SASL_SSL", "SASL_SSL", None, 0, 0)
    return judge.judge(asker, Action(*action)).allowed


def test_the_client_may_use_topics_and_not_administer(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    records = read_bootstrap(LocalFilesystem(), str(folder / "broker-1" / "data"))
    found = [one for one in records if isinstance(one, AccessControlEntryRecord)]
    assert len({one.id for one in found}) == len(found)
    acls = [acl_of(one) for one in found]
    for allowed in (
        (Operation.WRITE, Resource.TOPIC, "orders"),
        (Operation.READ, Resource.TOPIC, "orders"),
        (Operation.CREATE, Resource.TOPIC, "orders"),
        (Operation.READ, Resource.GROUP, "g"),
        (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t"),
        (Operation.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME),
    ):
        assert may(acls, "client", *allowed) and not may(acls, "other", *allowed)
    for denied in (
        (Operation.DELETE, Resource.TOPIC, "orders"),
        (Operation.ALTER, Resource.CLUSTER, CLUSTER_NAME),
        (Operation.ALTER_CONFIGS, Resource.CLUSTER, CLUSTER_NAME),
        (Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER_NAME),
    ):
        assert not may(acls, "client", *denied) and may(acls, "admin", *denied)


def test_nodes_are_super_users_on_both_listeners(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 4)
    for node_id in (1, 4):
        made = config(folder, node_id)
        supers = parse_super_users(made.super_users)
        mechanism = made.inter_broker_security.mechanism
        assert mechanism is not None and mechanism.jaas is not None
        assert f"User:{mechanism.jaas.options['username'].value}" in supers
    tls = config(folder, 1).listener_security["CONTROLLER"].tls
    assert tls is not None
    rules = PrincipalMapping(tls.principal_mapping_rules)
    for node_id in (1, 4):
        pem = (folder / "certificates" / f"broker-{node_id}.pem").read_bytes()
        name = x509.load_pem_x509_certificate(pem).subject.rfc4514_string()
        assert f"User:{rules.name_of(name)}" in supers
    assert rules.name_of("CN=client") == "CN=client"


def test_a_cluster_that_was_made_before_there_were_acls_stays_so(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 1)
    file = folder / "broker-1.properties"
    keys = ("authorizer.class.name", "super.users", "listener.name.controller.ssl.principal")
    lines = [one for one in file.read_text().splitlines() if not one.startswith(keys)]
    file.write_text("\n".join(lines) + "\n")
    grown = open_folder(str(folder), 2, None)
    assert grown.is_secured and not grown.has_acls
    assert config(folder, 2).authorizer_class_name == ""


def test_the_next_start_uses_what_is_there(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    before = texts(folder)
    again = open_folder(str(folder), None, None)
    assert again.is_secured and not again.is_new
    assert open_folder(str(folder), None, None, secure=True).is_secured
    assert texts(folder) == before


def test_a_node_that_joins_is_secured_too(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 3)
    before = texts(folder)
    open_folder(str(folder), 4, None)
    first, fourth = (config(folder, one).inter_broker_security for one in (1, 4))
    assert fourth.security_protocol == "SASL_SSL" and fourth.mechanism == first.mechanism
    after = texts(folder)
    assert "localhost:9095" in after.pop("client.properties")
    kept = [name for name in before if name not in ("client.properties", "admin.properties")]
    assert [name for name in kept if after[name] != before[name]] == []


def test_a_folder_that_was_moved(tmp_path: Path) -> None:
    secured(tmp_path / "old")
    passwords = [password(tmp_path / "old", user) for user in ("admin", "client")]
    shutil.move(tmp_path / "old", tmp_path / "new")
    secured(tmp_path / "new", None, 30_000)
    moved = config(tmp_path / "new", 1).listener_security["SASL_SSL"].tls
    assert moved is not None
    assert moved.keystore_location == str(tmp_path / "new" / "certificates" / "broker-1.pem")
    assert moved.truststore_location == str(tmp_path / "new" / "certificates" / "ca.pem")
    text = (tmp_path / "new" / "client.properties").read_text()
    assert str(tmp_path / "new" / "certificates" / "ca.pem") in text and "localhost:30002" in text
    assert [password(tmp_path / "new", user) for user in ("admin", "client")] == passwords


def test_a_host_that_a_node_advertises_gets_into_its_certificate(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 1)
    before = texts(folder)
    file = folder / "broker-1.properties"
    file.write_text(
        before["broker-1.properties"] + "advertised.listeners=SASL_SSL://kafka.example.org:9092\n"
    )
    open_folder(str(folder), None, None)
    assert hosts_of(folder / "certificates" / "broker-1.pem") == [
        "localhost",
        "kafka.example.org",
        "127.0.0.1",
        "::1",
    ]
    assert texts(folder)["ca.pem"] == before["ca.pem"]


def test_a_certificate_of_somebody_else_stays(tmp_path: Path) -> None:
    folder, other = secured(tmp_path / "c", 1), secured(tmp_path / "other", 1)
    own = (other / "certificates" / "broker-1.pem").read_text()
    file = folder / "broker-1.properties"
    file.write_text(file.read_text() + "advertised.listeners=SASL_SSL://kafka.example.org:9092\n")
    (folder / "certificates" / "broker-1.pem").write_text(own)
    open_folder(str(folder), None, None)
    assert (folder / "certificates" / "broker-1.pem").read_text() == own


def test_an_authority_whose_key_was_taken_away(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c")
    (folder / "certificates" / "ca.key").unlink()
    assert open_folder(str(folder), None, None).is_secured
    with pytest.raises(StartError, match=r"ca\.key is missing: it has to sign .* for node 4"):
        open_folder(str(folder), 4, None)


def test_a_cluster_without_security_stays_without(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 1, None)
    with pytest.raises(StartError, match="made without: choose another --dir"):
        open_folder(str(tmp_path / "c"), None, None, secure=True)
    assert not is_secured(tmp_path / "c")


def test_without_the_library_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(StartError, match="-m pip install cryptography"):
        open_folder(str(tmp_path / "c"), None, None, secure=True)
    assert not (tmp_path / "c").exists()
    assert not open_folder(str(tmp_path / "c"), None, None).is_secured


def test_a_start_that_was_cut_off_before_the_first_node(tmp_path: Path) -> None:
    folder = secured(tmp_path / "c", 1)
    shutil.rmtree(folder / "broker-1")
    (folder / "broker-1.properties").unlink()
    before = texts(folder)
    secured(folder, 1)
    assert password(folder, "client") not in before["client.properties"]
