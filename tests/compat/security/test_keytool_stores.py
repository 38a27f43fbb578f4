"""Keystores and truststores that Java's keytool writes, by default and as of old."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls.stores import load_keystore, load_truststore
from ground.config_def import ConfigError
from tests import certificates
from tests.certificates import PASSWORD, authority
from tests.tools.java_tools import java_home_bin

RIGHT = Secret(PASSWORD)


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
def test_a_jks_of_keytool_is_read(tmp_path: Path) -> None:
    path = tmp_path / "keystore.jks"
    new_key(path, "-storetype", "JKS", "-keypass", "another-one")
    with pytest.raises(ConfigError, match=r"set ssl\.key\.password"):
        load_keystore("", settings(path))
    found = load_keystore("", replace(settings(path), key_password=Secret("another-one")))
    assert found is not None
    assert load_truststore("", settings(path)) == found.chain


@pytest.mark.java
def test_a_jceks_of_keytool_is_refused_and_the_line_in_the_error_makes_one_that_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "keystore.jks"
    new_key(path, "-storetype", "JCEKS", "-keypass", PASSWORD)
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
