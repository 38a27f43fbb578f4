"""PKCS12: files of `cryptography` and of keytool, wrong passwords, and a missing library."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls import pkcs12_file
from broker.security.tls.stores import load_keystore, load_truststore
from storage.config_def import ConfigError
from tests import certificates
from tests.certificates import PASSWORD, authority, client, server
from tests.tools.java_tools import java_home_bin

NAMES = ("ssl.keystore.location", "ssl.keystore.password")
RIGHT = Secret(PASSWORD)


def test_a_key_and_its_chain_in_order() -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    root_too = replace(leaf, issuers=(authority().certificate, *leaf.issuers))
    key_pem, chain = pkcs12_file.key_and_chain(NAMES, root_too.pkcs12(), RIGHT)
    assert key_pem == leaf.key_pem()
    assert chain == (leaf.der, certificates.intermediate().der, authority().der)


def test_certificates_that_did_not_sign_are_not_shown() -> None:
    stranger = replace(client(), issuers=(server().certificate,))
    assert pkcs12_file.key_and_chain(NAMES, stranger.pkcs12(), RIGHT)[1] == (client().der,)


@pytest.mark.parametrize("password", [None, Secret("wrong"), Secret("")])
def test_a_wrong_password_is_refused_by_its_key(password: Secret | None) -> None:
    with pytest.raises(ConfigError) as refused:
        pkcs12_file.key_and_chain(NAMES, server().pkcs12(), password)
    assert refused.value.name == "ssl.keystore.password"
    assert "wrong or missing" in str(refused.value)


@pytest.mark.parametrize("data", [b"x", b"\x30", server().pkcs12()[:-9], b"\x30" + bytes(99)])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(ConfigError):
        pkcs12_file.trusted(NAMES, data, RIGHT)


def test_a_file_without_a_key_is_no_keystore() -> None:
    data = pkcs12.serialize_key_and_certificates(
        None, None, None, [authority().certificate], serialization.NoEncryption()
    )
    with pytest.raises(ConfigError) as refused:
        pkcs12_file.key_and_chain(NAMES, data, None)
    assert "no private key" in str(refused.value)
    assert pkcs12_file.trusted(NAMES, data, None) == (authority().der,)


def test_an_empty_truststore_is_refused() -> None:
    empty = pkcs12.serialize_key_and_certificates(
        b"x", server().key, None, None, serialization.NoEncryption()
    )
    with pytest.raises(ConfigError) as refused:
        pkcs12_file.trusted(NAMES, empty, None)
    assert "no certificate" in str(refused.value)


def test_a_keystore_as_truststore_trusts_its_own_certificate_only() -> None:
    """As Java does: who signed it is not trusted by that."""
    leaf = certificates.intermediate().signs("CN=leaf")
    assert pkcs12_file.trusted(NAMES, leaf.pkcs12(), RIGHT) == (leaf.der,)


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "cryptography.hazmat.primitives.serialization"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError) as refused:
        pkcs12_file.trusted(NAMES, b"\x30", RIGHT)
    assert "pip install 'ottla[security]'" in str(refused.value)


def test_pem_needs_no_library() -> None:
    """Nor does anything else of TLS load it before a PKCS12 file is read."""
    modules = "contexts, reloading, peer_certificate, principal_mapping, stores, self_trust"
    program = (
        f"import sys; from broker.security.tls import {modules}; "
        "print([one for one in sys.modules if one.startswith('cryptography')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# --- what keytool writes --------------------------------------------------------------------------


def keytool(*arguments: str) -> None:
    program = java_home_bin("keytool")
    assert program is not None
    done = subprocess.run(
        [program, *arguments, "-storepass", PASSWORD], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def new_key(path: Path, *more: str) -> None:
    keytool(
        *("-genkeypair", "-alias", "node", "-keyalg", "EC", "-groupname", "secp256r1"),
        *("-dname", "CN=node,OU=Data", "-keystore", str(path), *more),
    )


def settings(path: Path) -> TlsSettings:
    """Kafka's default type."""
    return TlsSettings(
        keystore_location=str(path),
        keystore_password=RIGHT,
        truststore_location=str(path),
        truststore_password=RIGHT,
    )


@pytest.mark.java
def test_what_keytool_writes_by_default_is_read(tmp_path: Path) -> None:
    path = tmp_path / "keystore.jks"
    new_key(path)
    found = load_keystore("", settings(path))
    assert found is not None
    assert len(found.chain) == 1
    assert load_truststore("", settings(path)) == found.chain


@pytest.mark.java
def test_what_an_old_keytool_wrote_is_read(tmp_path: Path) -> None:
    """RC2 and 3DES, as Java 8 has it."""
    path = tmp_path / "keystore.p12"
    new_key(path, "-J-Dkeystore.pkcs12.legacy")
    assert load_keystore("", settings(path)) is not None
    assert load_truststore("", settings(path)) is not None


@pytest.mark.java
def test_a_jks_of_keytool_is_refused_and_the_line_in_the_error_makes_one_that_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "keystore.jks"
    new_key(path, "-storetype", "JKS", "-keypass", PASSWORD)
    with pytest.raises(ConfigError) as refused:
        load_keystore("", settings(path))
    line = str(refused.value).partition("keytool ")[2].split()
    keytool(*line, "-srcstorepass", PASSWORD)
    assert load_keystore("", settings(tmp_path / "keystore.jks.p12")) is not None


@pytest.mark.java
def test_an_authority_that_is_put_into_a_keystore_is_trusted(tmp_path: Path) -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    leaf = replace(leaf, issuers=(*leaf.issuers, authority().certificate))
    path, pem = tmp_path / "keystore.p12", tmp_path / "authority.pem"
    path.write_bytes(leaf.pkcs12())
    pem.write_text(authority().certificate_pem)
    keytool("-importcert", "-noprompt", "-alias", "root", "-file", str(pem), "-keystore", str(path))
    assert load_truststore("", settings(path)) == (leaf.der, authority().der)
    found = load_keystore("", settings(path))
    assert found is not None
    assert found.chain == (leaf.der, certificates.intermediate().der, authority().der)


@pytest.mark.java
def test_a_truststore_of_keytool_with_two_authorities(tmp_path: Path) -> None:
    path = tmp_path / "truststore.jks"
    both = {"one": authority(), "two": certificates.foreign_authority()}
    for alias, one in both.items():
        pem = tmp_path / f"{alias}.pem"
        pem.write_text(one.certificate_pem)
        keytool(
            *("-importcert", "-noprompt", "-alias", alias, "-file", str(pem)),
            *("-keystore", str(path)),
        )
    trusted = load_truststore("", settings(path))
    assert trusted is not None
    assert set(trusted) == {one.der for one in both.values()}
