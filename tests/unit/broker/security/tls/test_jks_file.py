"""JKS files of keytool: their keys and certificates, wrong passwords, and damage at each byte.

`tests/compat/security/test_keytool_stores.py` compares with keytool itself.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls import contexts
from broker.security.tls.jks_file import JksNames, keys_and_chains, trusted
from broker.security.tls.key_and_chain import KeyAndChain
from broker.security.tls.stores import load_keystore, load_truststore
from ground.config_def import ConfigError
from tests.unit.broker.security.tls.handshake_fixture import shake_hands
from tests.unit.broker.security.tls.jks_fixture import (
    CHAIN,
    KEY_PASSWORD,
    SEVERAL,
    STORE_PASSWORD,
    TRUST,
    sealed,
)

NAMES = JksNames("ssl.keystore.location", "ssl.keystore.password", "ssl.key.password")
RIGHT, KEYS_OWN, WRONG = Secret(STORE_PASSWORD), Secret(KEY_PASSWORD), Secret("wrong-pass")
DIGEST_BYTES = 20


def subjects(certificates: tuple[bytes, ...]) -> list[str]:
    return [x509.load_der_x509_certificate(der).subject.rfc4514_string() for der in certificates]


def is_pair(pair: KeyAndChain) -> bool:
    """Return whether the key is that of the first certificate."""
    key = load_pem_private_key(pair.key_pem.encode(), None)
    own = x509.load_der_x509_certificate(pair.chain[0])
    return key.public_key() == own.public_key()


def rejected(error: ConfigError, name: str, part: str) -> None:
    assert error.name == name
    text = str(error)
    assert name in text and part in text and "\n" not in text
    assert not any(secret.value in text for secret in (RIGHT, KEYS_OWN, WRONG))


def test_a_key_with_its_chain_and_a_password_of_its_own() -> None:
    (pair,), left_aside = keys_and_chains(NAMES, CHAIN, RIGHT, KEYS_OWN)
    assert subjects(pair.chain) == ["CN=node", "CN=root"]
    assert is_pair(pair)
    assert left_aside == ()


def test_the_first_key_of_each_type_and_the_names_of_the_others() -> None:
    pairs, left_aside = keys_and_chains(NAMES, SEVERAL, RIGHT, None)
    assert [subjects(pair.chain) for pair in pairs] == [["CN=ed"], ["CN=ec"]]
    assert all(is_pair(pair) for pair in pairs)
    assert left_aside == ("spare",)
    assert keys_and_chains(NAMES, SEVERAL, RIGHT, RIGHT) == (pairs, left_aside)


def test_a_truststore_with_and_without_its_password() -> None:
    certificates = trusted(NAMES, TRUST, RIGHT)
    assert sorted(subjects(certificates)) == ["CN=ed", "CN=root"]
    assert trusted(NAMES, TRUST, None) == certificates


def test_the_own_certificate_of_a_key_is_trusted_and_an_equal_one_only_once() -> None:
    assert sorted(subjects(trusted(NAMES, CHAIN, None))) == ["CN=node", "CN=root"]
    assert subjects(trusted(NAMES, SEVERAL, None)) == ["CN=ed", "CN=ec", "CN=spare"]
    count = int.from_bytes(TRUST[8:12], "big")
    entries = TRUST[12:-DIGEST_BYTES]
    twice = TRUST[:8] + (2 * count).to_bytes(4, "big") + 2 * entries
    assert trusted(NAMES, sealed(twice), RIGHT) == trusted(NAMES, TRUST, RIGHT)


def test_a_file_of_version_1_has_no_types_of_certificates() -> None:
    body = TRUST[:7] + b"\1" + TRUST[8:-DIGEST_BYTES].replace(b"\0\5X.509", b"")
    assert trusted(NAMES, sealed(body), RIGHT) == trusted(NAMES, TRUST, RIGHT)


def test_a_password_outside_of_latin_letters() -> None:
    password = "påss \N{SNOWMAN} \N{GRINNING FACE}"
    data = sealed(TRUST[:-DIGEST_BYTES], password)
    assert trusted(NAMES, data, Secret(password)) == trusted(NAMES, TRUST, None)


# --- wrong passwords ------------------------------------------------------------------------------


def test_a_wrong_password_of_the_file() -> None:
    with pytest.raises(ConfigError) as of_keys:
        keys_and_chains(NAMES, CHAIN, WRONG, KEYS_OWN)
    rejected(of_keys.value, NAMES.password, "is wrong, or the file is damaged")
    with pytest.raises(ConfigError) as of_trust:
        trusted(NAMES, TRUST, WRONG)
    rejected(of_trust.value, NAMES.password, "is wrong, or the file is damaged")


@pytest.mark.parametrize(
    ("key_password", "part"), [(None, "set ssl.key.password"), (WRONG, "password is wrong")]
)
def test_a_wrong_or_missing_password_of_the_key(key_password: Secret | None, part: str) -> None:
    with pytest.raises(ConfigError) as error:
        keys_and_chains(NAMES, CHAIN, RIGHT, key_password)
    rejected(error.value, NAMES.key_password, part)


# --- damaged files --------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [SEVERAL, CHAIN, TRUST], ids=["several", "chain", "trust"])
def test_a_file_that_is_cut_off_at_each_byte(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(ConfigError, match="it ends within the"):
            trusted(NAMES, data[:length], RIGHT)
        with pytest.raises(ConfigError, match="it ends within the"):
            keys_and_chains(NAMES, data[:length], RIGHT, None)
        if length < len(data) - DIGEST_BYTES:
            with pytest.raises(ConfigError, match="Replace it with an intact copy"):
                trusted(NAMES, data[:length], None)


@pytest.mark.parametrize("data", [CHAIN, TRUST], ids=["chain", "trust"])
def test_a_changed_byte_is_an_error_with_a_password_and_never_a_crash_without(data: bytes) -> None:
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        with pytest.raises(ConfigError):
            trusted(NAMES, bytes(damaged), RIGHT)
        with pytest.raises(ConfigError):
            keys_and_chains(NAMES, sealed(bytes(damaged)[:-DIGEST_BYTES]), RIGHT, WRONG)


def test_a_damaged_digest_is_said() -> None:
    with pytest.raises(ConfigError) as error:
        trusted(NAMES, TRUST[:-1] + bytes((TRUST[-1] ^ 1,)), RIGHT)
    rejected(error.value, NAMES.password, "damaged")


def entry(tag: int, *parts: bytes) -> bytes:
    """Return a file with this entry alone."""
    return sealed(number(0xFEEDFEED, 2, 1, tag) + b"\0\1a" + bytes(8) + b"".join(parts))


def number(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "big") for value in values)


DER_KEY = bytes.fromhex("3010300c060a2b060104012a021101010400")  # without the parameters
OTHER_KEY = bytes.fromhex("3009300506032a03040400")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (sealed(number(0xCECECECE, 2, 0)), "magic number FEEDFEED is missing"),
        (sealed(number(0xFEEDFEED, 3, 0)), "its version is 3, not 1 or 2"),
        (sealed(number(0xFEEDFEED, 2, 10_001)), "number of entries is 10001, more than 10000"),
        (sealed(number(0xFEEDFEED, 2, 0)), "no private key"),
        (TRUST, "no private key"),
        (entry(3), "the tag 3, not 1 or 2"),
        (entry(1, number(65537)), "length of a key is 65537, more than 65536"),
        (entry(1, number(0, 101)), "length of a chain is 101, more than 100"),
        (entry(2, b"\0\3PGP"), "another type than X.509"),
        (entry(2, b"\0\5X.509", number(1 << 20, 0)), "it ends within the certificate"),
        (entry(2, b"\0\5X.509", number((1 << 20) + 1)), "more than 1048576"),
        (entry(1, number(0, 0)), "a key is not DER"),
        (entry(1, number(1), b"\x30", number(0)), "a key is not DER"),
        (entry(1, number(len(OTHER_KEY)), OTHER_KEY, number(0)), "in no form of JKS"),
    ],
)
def test_a_file_that_is_malformed(data: bytes, part: str) -> None:
    with pytest.raises(ConfigError) as error:
        keys_and_chains(NAMES, data, RIGHT, None)
    rejected(error.value, NAMES.location, part)


def test_a_key_too_short_for_salt_and_digest_is_as_one_of_another_password() -> None:
    with pytest.raises(ConfigError) as error:
        keys_and_chains(NAMES, entry(1, number(len(DER_KEY)), DER_KEY, number(0)), RIGHT, None)
    rejected(error.value, NAMES.key_password, "set ssl.key.password")


def test_an_empty_truststore_is_rejected() -> None:
    with pytest.raises(ConfigError) as error:
        trusted(NAMES, sealed(number(0xFEEDFEED, 2, 0)), None)
    rejected(error.value, NAMES.location, "has no certificate")


# --- through the settings -------------------------------------------------------------------------


def settings(folder: Path, kind: str) -> TlsSettings:
    for name, data in (("key", CHAIN), ("trust", TRUST)):
        (folder / name).write_bytes(data)
    return TlsSettings(
        keystore_type=kind,
        keystore_location=str(folder / "key"),
        keystore_password=RIGHT,
        key_password=KEYS_OWN,
        truststore_type=kind,
        truststore_location=str(folder / "trust"),
    )


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_both_stores_under_either_type(tmp_path: Path, kind: str) -> None:
    tls = settings(tmp_path, kind)
    keystore = load_keystore("", tls)
    assert keystore is not None
    assert subjects(keystore.chain) == ["CN=node", "CN=root"]
    assert (keystore.password, keystore.further) == (None, ())
    assert load_truststore("", tls) == trusted(NAMES, TRUST, None)
    own = replace(tls, truststore_password=WRONG)
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.password is wrong"):
        load_truststore("", own)


def test_a_handshake_with_both_stores(tmp_path: Path) -> None:
    tls = settings(tmp_path, "JKS")
    server = contexts.server_context("", replace(tls, client_auth="required"))
    handshake = shake_hands(contexts.client_context("", tls), server)
    assert handshake.works
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    stranger.load_verify_locations(cadata=trusted(NAMES, TRUST, None)[0])
    assert not shake_hands(stranger, server).works


def test_jks_needs_no_library(tmp_path: Path) -> None:
    (tmp_path / "trust").write_bytes(TRUST)
    program = (
        "import sys; from broker.config.security_settings import TlsSettings; "
        "from broker.security.tls.stores import load_truststore; "
        f"load_truststore('', TlsSettings(truststore_location={str(tmp_path / 'trust')!r})); "
        "print([name for name in sys.modules if name.startswith('cryptography')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
