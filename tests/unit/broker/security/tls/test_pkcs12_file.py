"""PKCS12: files of `cryptography`, wrong passwords, and a missing library.

`tests/compat/security/test_keytool_stores.py` has the files of keytool.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from broker.config.security_settings import Secret
from broker.security.tls import pkcs12_file
from ground.config_def import ConfigError
from ottla.launcher import install_command
from tests import certificates
from tests.certificates import PASSWORD, authority, client, server

NAMES = ("ssl.keystore.location", "ssl.keystore.password")
RIGHT = Secret(PASSWORD)


def test_a_key_and_its_chain_in_order() -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    root_too = replace(leaf, issuers=(authority().certificate, *leaf.issuers))
    (found,), _ = pkcs12_file.keys_and_chains(NAMES, root_too.pkcs12(), RIGHT)
    assert found.key_pem == leaf.key_pem()
    assert found.chain == (leaf.der, certificates.intermediate().der, authority().der)


def test_certificates_that_did_not_sign_are_not_shown() -> None:
    stranger = replace(client(), issuers=(server().certificate,))
    (found,), _ = pkcs12_file.keys_and_chains(NAMES, stranger.pkcs12(), RIGHT)
    assert found.chain == (client().der,)


def test_a_key_of_each_type_with_its_own_chain() -> None:
    name, other = "CN=localhost", "CN=other"
    rsa_leaf = certificates.intermediate().signs(name, key=rsa.generate_private_key(65537, 2048))
    ec_leaf, left = authority().signs(name), authority().signs(other)
    data = certificates.pkcs12_of({"r": rsa_leaf, "e": ec_leaf, "left out": left})
    (first, second), aside = pkcs12_file.keys_and_chains(NAMES, data, RIGHT)
    assert first.key_pem == rsa_leaf.key_pem() and second.key_pem == ec_leaf.key_pem()
    assert first.chain == (rsa_leaf.der, certificates.intermediate().der)
    assert second.chain == (ec_leaf.der,)
    assert aside == ("left out",)


@pytest.mark.parametrize("password", [None, Secret("wrong"), Secret("")])
def test_a_wrong_password_is_refused_by_its_key(password: Secret | None) -> None:
    with pytest.raises(ConfigError) as refused:
        pkcs12_file.keys_and_chains(NAMES, server().pkcs12(), password)
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
        pkcs12_file.keys_and_chains(NAMES, data, None)
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
    assert str(refused.value).endswith(install_command("cryptography"))


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
