"""Keystores and truststores: what is read, and what Kafka refuses is refused by its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls import stores
from broker.security.tls.stores import load_keystore, load_truststore
from ground.config_def import ConfigError
from tests import certificates
from tests.certificates import authority, server

PREFIX = "listener.name.x."
SECRET = Secret("hush-1234")


def test_nothing_set_is_no_store() -> None:
    assert load_keystore("", TlsSettings()) is None
    assert load_truststore("", TlsSettings()) is None
    # Kafka takes it, too.
    assert load_keystore("", TlsSettings(key_password=SECRET)) is None


def test_pem_in_values() -> None:
    settings = certificates.pem_values(server())
    found = load_keystore("", settings)
    assert found is not None
    assert found.key_pem.value == server().key_pem()
    assert found.chain == (server().der,)
    assert load_truststore("", settings) == (authority().der,)


@pytest.mark.parametrize("password", [None, "a password"])
def test_pem_files(tmp_path: Path, password: str | None) -> None:
    settings = certificates.pem_files(tmp_path, server(), password)
    found = load_keystore("", settings)
    assert found is not None
    assert found.password == (None if password is None else Secret(password))
    assert found.chain == (server().der,)
    assert load_truststore("", settings) == (authority().der,)


def test_a_chain_keeps_its_order_also_before_the_key(tmp_path: Path) -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    path = tmp_path / "keystore.pem"
    path.write_text("Bag Attributes\n" + leaf.chain_pem + "\n" + leaf.key_pem())
    found = load_keystore("", TlsSettings(keystore_type="PEM", keystore_location=str(path)))
    assert found is not None
    assert found.chain == (leaf.der, certificates.intermediate().der)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " "),
        lambda text: text.replace("\n", ""),
        lambda text: text.replace("\n", "\n    "),
        lambda text: f"Bag Attributes: x\n{text}\nend",
    ],
    ids=["crlf", "blanks", "nothing", "indented", "text around"],
)
@pytest.mark.parametrize("password", [None, "a password"])
def test_ends_of_lines_do_not_matter(change: Callable[[str], str], password: str | None) -> None:
    settings = TlsSettings(
        keystore_type="PEM",
        keystore_key=Secret(change(server().key_pem(password))),
        keystore_certificate_chain=change(server().chain_pem),
    )
    found = load_keystore("", settings)
    assert found is not None
    assert found.chain == (server().der,)
    read = serialization.load_pem_private_key(
        found.key_pem.value.encode(), None if password is None else password.encode()
    )
    assert read.private_numbers() == server().key.private_numbers()


def test_a_key_of_an_older_form_keeps_its_headers() -> None:
    old = server().key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.BestAvailableEncryption(b"a password"),
    )
    settings = replace(
        certificates.pem_values(server()),
        keystore_key=Secret("  " + old.decode().replace("\n", "\n  ")),
    )
    found = load_keystore("", settings)
    assert found is not None
    assert found.key_pem.value == old.decode()


def test_a_truststore_may_hold_many(tmp_path: Path) -> None:
    both = authority().certificate_pem + certificates.foreign_authority().certificate_pem
    settings = TlsSettings(truststore_type="PEM", truststore_certificates=both)
    expected = (authority().der, certificates.foreign_authority().der)
    assert load_truststore("", settings) == expected


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "pkcs12"])
def test_pkcs12_files_under_either_type(tmp_path: Path, kind: str) -> None:
    settings = replace(
        certificates.pkcs12_files(tmp_path, server()), keystore_type=kind, truststore_type=kind
    )
    found = load_keystore("", settings)
    assert found is not None
    assert (found.chain, found.password) == ((server().der,), None)
    assert "BEGIN PRIVATE KEY" in found.key_pem.value
    assert load_truststore("", settings) == (authority().der,)


# --- what excludes each other, and what needs each other ------------------------------------------

KEY, CHAIN = Secret("key"), "chain"


@pytest.mark.parametrize(
    ("settings", "key", "part"),
    [
        (TlsSettings(keystore_type="BKS"), "keystore.type", "PEM, PKCS12, JKS"),
        (TlsSettings(keystore_location="a"), "keystore.password", "set both"),
        (TlsSettings(keystore_password=SECRET), "keystore.location", "set both"),
        (
            TlsSettings(keystore_key=KEY, keystore_certificate_chain=CHAIN),
            "keystore.type",
            "need listener.name.x.ssl.keystore.type=PEM",
        ),
        (
            TlsSettings(keystore_type="PEM", keystore_key=KEY),
            "keystore.certificate.chain",
            "set both",
        ),
        (
            TlsSettings(keystore_type="PEM", keystore_certificate_chain=CHAIN),
            "keystore.key",
            "set both",
        ),
        (
            TlsSettings(
                keystore_type="PEM",
                keystore_location="a",
                keystore_key=KEY,
                keystore_certificate_chain=CHAIN,
            ),
            "keystore.location",
            "both set",
        ),
        (
            TlsSettings(
                keystore_type="PEM",
                keystore_password=SECRET,
                keystore_key=KEY,
                keystore_certificate_chain=CHAIN,
            ),
            "keystore.password",
            "key.password",
        ),
        (
            TlsSettings(keystore_type="PEM", keystore_location="a", keystore_password=SECRET),
            "keystore.password",
            "key.password",
        ),
    ],
)
def test_keystore_settings_that_kafka_refuses(settings: TlsSettings, key: str, part: str) -> None:
    refused(load_keystore, settings, key, part)


@pytest.mark.parametrize(
    ("settings", "key", "part"),
    [
        (TlsSettings(truststore_type="x"), "truststore.type", "PEM, PKCS12, JKS"),
        (TlsSettings(truststore_certificates="c"), "truststore.type", "type=PEM"),
        (
            TlsSettings(
                truststore_type="PEM", truststore_certificates="c", truststore_location="a"
            ),
            "truststore.location",
            "both set",
        ),
        (
            TlsSettings(
                truststore_type="PEM", truststore_certificates="c", truststore_password=SECRET
            ),
            "truststore.password",
            "has none",
        ),
        (
            TlsSettings(truststore_type="PEM", truststore_location="a", truststore_password=SECRET),
            "truststore.password",
            "has none",
        ),
        (TlsSettings(truststore_password=SECRET), "truststore.location", "set both"),
    ],
)
def test_truststore_settings_that_kafka_refuses(settings: TlsSettings, key: str, part: str) -> None:
    refused(load_truststore, settings, key, part)


def refused(load: object, settings: TlsSettings, key: str, part: str) -> None:
    assert callable(load)
    with pytest.raises(ConfigError) as found:
        load(PREFIX, settings)
    assert found.value.name == f"{PREFIX}ssl.{key}"
    text = str(found.value)
    assert f"{PREFIX}ssl.{key}" in text
    assert part in text
    assert SECRET.value not in text
    assert "\n" not in text


# --- files that are not what they should be -------------------------------------------------------


def pem(path: Path | str) -> TlsSettings:
    return TlsSettings(
        keystore_type="PEM",
        keystore_location=str(path),
        truststore_type="PEM",
        truststore_location=str(path),
    )


def store(path: Path | str, kind: str = "JKS", password: Secret = SECRET) -> TlsSettings:
    return TlsSettings(
        keystore_type=kind,
        keystore_location=str(path),
        keystore_password=password,
        truststore_type=kind,
        truststore_location=str(path),
        truststore_password=password,
    )


@pytest.mark.parametrize("make", [pem, store])
def test_a_file_that_cannot_be_read(tmp_path: Path, make: object) -> None:
    assert callable(make)
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    for path, part in (
        (tmp_path / "gone", "No such file"),
        (tmp_path, "Is a directory"),
        (empty, "the file is empty"),
        ("a\0b", "cannot be read"),
    ):
        refused(load_keystore, make(path), "keystore.location", part)
        refused(load_truststore, make(path), "truststore.location", part)


def test_a_file_that_is_too_large_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "STORE_BYTES_MAX", 1 << 20)
    refused(load_truststore, pem("/dev/zero"), "truststore.location", "larger than 1 MiB")


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_jceks_is_refused_with_the_line_that_converts_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "old.jks"
    path.write_bytes(bytes.fromhex("cececece") + bytes(100))
    line = (
        f"keytool -importkeystore -srcstoretype JCEKS -srckeystore {path} "
        f"-destkeystore {path}.p12 -deststoretype PKCS12"
    )
    refused(load_keystore, store(path, kind), "keystore.location", line)
    refused(load_truststore, store(path, kind), "truststore.location", line)


def test_a_path_with_blanks_is_quoted_in_that_line(tmp_path: Path) -> None:
    path = tmp_path / "my old.jks"
    path.write_bytes(bytes.fromhex("cececece"))
    refused(load_keystore, store(path), "keystore.location", f"-srckeystore '{path}' ")


def test_a_pem_file_under_another_type_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.pem"
    path.write_text(server().key_pem() + server().chain_pem)
    refused(load_keystore, store(path), "keystore.location", "ssl.keystore.type=PEM")
    refused(load_truststore, store(path), "truststore.location", "ssl.truststore.type=PEM")


@pytest.mark.parametrize("kind", ["TRUSTED CERTIFICATE", "X509 CERTIFICATE"])
@pytest.mark.parametrize("beside", ["", authority().certificate_pem])
def test_a_certificate_in_openssls_own_form_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, kind: str, beside: str
) -> None:
    path = tmp_path / "a.pem"
    path.write_text(server().key_pem() + beside + server().chain_pem.replace("CERTIFICATE", kind))
    line = f"has a {kind}, a form of OpenSSL's own. Write each as a plain certificate: openssl x509"
    refused(load_keystore, pem(path), "keystore.location", line)
    refused(load_truststore, pem(path), "truststore.location", line)


def test_pkcs12_under_pem_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.p12"
    path.write_bytes(server().pkcs12())
    refused(load_keystore, pem(path), "keystore.location", "ssl.keystore.type right?")
    refused(load_truststore, pem(path), "truststore.location", "ssl.truststore.type right?")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (server().chain_pem, "no private key"),
        (server().key_pem(), "no certificate"),
        (server().key_pem() * 2 + server().chain_pem, "2 private keys"),
        (server().key_pem().replace("-----END", "") + server().chain_pem, "no private key"),
    ],
    ids=["no key", "no chain", "two keys", "cut key"],
)
def test_a_pem_keystore_that_lacks_something(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "keystore.pem"
    path.write_text(text)
    refused(load_keystore, pem(path), "keystore.location", part)


def test_a_pem_truststore_without_certificates(tmp_path: Path) -> None:
    path = tmp_path / "truststore.pem"
    path.write_text(server().key_pem())
    refused(load_truststore, pem(path), "truststore.location", "no certificate")


def test_a_certificate_that_is_no_base64(tmp_path: Path) -> None:
    path = tmp_path / "truststore.pem"
    path.write_text("-----BEGIN CERTIFICATE-----\nMIIB!!A\n-----END CERTIFICATE-----\n")
    refused(load_truststore, pem(path), "truststore.location", "broken")


def test_what_a_keystore_prints_has_no_key() -> None:
    found = load_keystore("", certificates.pem_values(server()))
    assert "PRIVATE" not in repr(found)


def test_a_pkcs12_file_has_one_password(tmp_path: Path) -> None:
    settings = certificates.pkcs12_files(tmp_path, server())
    same = replace(settings, key_password=settings.keystore_password)
    assert load_keystore("", same) is not None
    other = replace(settings, key_password=SECRET)
    refused(load_keystore, other, "key.password", "one password")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["CERTIFICATE", "PRIVATE KEY", "A PRIVATE KEY"])
def test_a_text_of_beginnings_is_walked_over_once(kind: str) -> None:
    text = f"-----BEGIN {kind}-----" * 20_000
    with pytest.raises(ConfigError):
        load_truststore("", TlsSettings(truststore_type="PEM", truststore_certificates=text))
    settings = replace(certificates.pem_values(server()), keystore_key=Secret(text))
    with pytest.raises(ConfigError, match="no private key"):
        load_keystore("", settings)
