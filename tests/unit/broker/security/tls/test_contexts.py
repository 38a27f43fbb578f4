"""Contexts of TLS against each other, in memory: who is let in, with what, and what is refused."""

from __future__ import annotations

import os
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls.cipher_names import TLS_1_3_SUITES
from broker.security.tls.contexts import client_context, reason_in_words, server_context
from broker.security.tls.peer_certificate import distinguished_name
from ground.config_def import ConfigError
from tests import certificates
from tests.certificates import PASSWORD
from tests.unit.broker.security.tls.handshake_fixture import Handshake, shake_hands

VERSIONS = ("TLSv1.2", "TLSv1.3")
MODES = ("none", "requested", "required")
ASKING = ("requested", "required")


def server_settings(**changes: object) -> TlsSettings:
    return replace(certificates.pem_values(certificates.server()), **changes)


def login(
    identity: certificates.Identity | None, mode: str, version: str, trusted: object = None
) -> Handshake:
    """A client with this certificate at a server that asks in this way."""
    trusted = trusted or certificates.authority()
    client = replace(certificates.pem_values(identity), enabled_protocols=(version,))
    server = replace(
        server_settings(client_auth=mode), truststore_certificates=trusted.certificate_pem
    )
    return shake_hands(client_context("", client), server_context("", server))


# --- clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", ASKING)
def test_a_good_certificate_is_let_in_and_seen(mode: str, version: str) -> None:
    found = login(certificates.client(), mode, version)
    assert found.works
    assert found.server.version() == version
    seen = found.server.getpeercert(True)
    assert seen is not None
    assert distinguished_name(seen) == "CN=alice,OU=Data,O=Acme,C=AT"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", ASKING)
@pytest.mark.parametrize("kind", [*certificates.WRONG, "for servers only"])
def test_a_wrong_certificate_is_refused_also_where_none_is_needed(
    kind: str, mode: str, version: str
) -> None:
    only = kind == "for servers only"
    wrong = certificates.server_only() if only else certificates.wrong(kind)
    assert login(wrong, mode, version).server_error is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", certificates.WRONG)
def test_a_server_that_does_not_ask_sees_no_certificate(kind: str, version: str) -> None:
    found = login(certificates.wrong(kind), "none", version)
    assert found.works
    assert found.server.getpeercert(True) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_no_certificate_is_let_in_unless_one_is_required(version: str) -> None:
    assert [login(None, mode, version).works for mode in MODES] == [True, True, False]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("whom", ["intermediate", "leaf"])
def test_a_truststore_may_hold_an_intermediate_or_the_certificate_itself(
    whom: str, version: str
) -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    trusted = {"intermediate": certificates.intermediate(), "leaf": leaf}[whom]
    assert login(leaf, "required", version, trusted).works
    assert not login(certificates.client(), "required", version, trusted).works


def test_a_chain_reaches_the_trusted_authority_over_the_one_between() -> None:
    leaf = certificates.intermediate().signs("CN=leaf")
    assert login(leaf, "required", "TLSv1.3").works
    alone = replace(leaf, issuers=())
    assert not login(alone, "required", "TLSv1.3").works


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_resumed_with_its_certificate_or_not_at_all(version: str) -> None:
    client = client_context(
        "", replace(certificates.pem_values(certificates.client()), enabled_protocols=(version,))
    )
    server = server_context("", server_settings(client_auth="required"))
    first = shake_hands(client, server)
    again = shake_hands(client, server, session=first.client.session)
    assert again.works
    assert again.server.getpeercert(True) == first.server.getpeercert(True) is not None
    assert again.server.session_reused is (version == "TLSv1.2")
    another = server_context("", server_settings(client_auth="required"))
    elsewhere = shake_hands(client, another, session=first.client.session)
    assert elsewhere.works
    assert not elsewhere.server.session_reused


def test_a_peer_cannot_renegotiate() -> None:
    assert server_context("", server_settings()).options & ssl.OP_NO_RENEGOTIATION


# --- servers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("algorithm", ["https", ""])
@pytest.mark.parametrize("kind", [*certificates.WRONG, "for clients only"])
def test_a_wrong_server_is_refused_with_or_without_its_name(
    kind: str, algorithm: str, version: str
) -> None:
    only = kind == "for clients only"
    wrong = certificates.client_only() if only else certificates.wrong(kind)
    client = replace(
        certificates.pem_values(None),
        endpoint_identification_algorithm=algorithm,
        enabled_protocols=(version,),
    )
    server = certificates.pem_values(wrong)
    found = shake_hands(client_context("", client), server_context("", server))
    assert found.client_error is not None


@pytest.mark.parametrize(
    ("host", "algorithm", "taken"),
    [
        ("localhost", "https", True),
        ("127.0.0.1", "HTTPS", True),
        ("other.example", "https", False),
        ("127.0.0.2", "https", False),
        ("other.example", "", True),
    ],
)
def test_host_names_are_checked_unless_turned_off(host: str, algorithm: str, taken: bool) -> None:
    client = replace(certificates.pem_values(None), endpoint_identification_algorithm=algorithm)
    found = shake_hands(
        client_context("", client), server_context("", server_settings()), host=host
    )
    assert found.works is taken


def test_without_a_truststore_a_client_trusts_the_systems_authorities_only() -> None:
    found = shake_hands(client_context("", TlsSettings()), server_context("", server_settings()))
    assert found.client_error is not None


# --- versions and suites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "server", "agreed"),
    [
        (VERSIONS, VERSIONS, "TLSv1.3"),
        (VERSIONS, ("TLSv1.2",), "TLSv1.2"),
        (("TLSv1.3",), VERSIONS, "TLSv1.3"),
        (("TLSv1.3",), ("TLSv1.2",), None),
        (("TLSv1.2",), ("TLSv1.3",), None),
        (("tlsv1.2",), (), "TLSv1.2"),
    ],
)
def test_versions(client: tuple[str, ...], server: tuple[str, ...], agreed: str | None) -> None:
    one = replace(certificates.pem_values(None), enabled_protocols=client)
    found = shake_hands(
        client_context("", one), server_context("", server_settings(enabled_protocols=server))
    )
    assert (found.server.version() if found.works else None) == agreed


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_an_old_client_is_refused(version: ssl.TLSVersion) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = version
    assert shake_hands(old, server_context("", server_settings())).server_error is not None


def test_no_protocols_named_leaves_it_to_the_protocol() -> None:
    one = server_settings(enabled_protocols=(), protocol="TLSv1.2")
    assert server_context("", one).maximum_version == ssl.TLSVersion.TLSv1_2


EC_256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
EC_128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
DHE = "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"


@pytest.mark.parametrize(
    ("suites", "agreed"),
    [
        ((EC_128,), ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")),
        (
            (EC_256, "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"),
            ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLSv1.2"),
        ),
        (TLS_1_3_SUITES, ("TLS_AES_256_GCM_SHA384", "TLSv1.3")),
        ((EC_128, DHE), ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")),
        ((EC_128, *TLS_1_3_SUITES), ("TLS_AES_256_GCM_SHA384", "TLSv1.3")),
    ],
)
def test_suites_limit_the_versions_to_those_that_have_them(
    suites: tuple[str, ...], agreed: tuple[str, str]
) -> None:
    server = server_context("", server_settings(cipher_suites=suites))
    found = shake_hands(client_context("", certificates.pem_values(None)), server)
    assert found.works
    assert found.server.cipher()[:2] == agreed
    only_old = replace(certificates.pem_values(None), enabled_protocols=("TLSv1.2",))
    again = shake_hands(client_context("", only_old), server)
    assert again.works is any(one in suites for one in (EC_128, EC_256))


def test_a_suite_that_the_other_half_does_not_have_is_no_connection() -> None:
    both = ("TLSv1.2",)
    client = replace(certificates.pem_values(None), cipher_suites=(EC_256,), enabled_protocols=both)
    server = server_settings(cipher_suites=(EC_128,), enabled_protocols=both)
    assert not shake_hands(client_context("", client), server_context("", server)).works


# --- refused settings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "key", "part"),
    [
        ({"client_auth": "maybe"}, "ssl.client.auth", "none, requested or required"),
        ({"client_auth": "REQUIRED"}, "ssl.client.auth", "none, requested or required"),
        ({"enabled_protocols": ("TLSv1.1",)}, "ssl.enabled.protocols", "TLSv1.1 is broken"),
        ({"enabled_protocols": ("TLSv1.2", "SSLv3")}, "ssl.enabled.protocols", "SSLv3 is broken"),
        ({"enabled_protocols": ("TLSv2",)}, "ssl.enabled.protocols", "set TLSv1.2 or TLSv1.3"),
        ({"protocol": "TLSv1.1"}, "ssl.protocol", "TLSv1.1 is broken"),
        ({"protocol": "foo"}, "ssl.protocol", "set TLSv1.2 or TLSv1.3"),
        ({"cipher_suites": ("ECDHE-RSA-AES256-SHA",)}, "ssl.cipher.suites", "names are Java's"),
        ({"cipher_suites": TLS_1_3_SUITES[:1]}, "ssl.cipher.suites", "add TLS_"),
        ({"cipher_suites": (DHE,)}, "ssl.cipher.suites", "add one with ECDHE"),
        ({"cipher_suites": ("TLS_DHE_x", EC_128)}, "ssl.cipher.suites", "names are Java's"),
        (
            {"cipher_suites": (EC_128,), "enabled_protocols": ("TLSv1.3",)},
            "ssl.cipher.suites",
            "no cipher suite of TLSv1.3",
        ),
        (
            {"truststore_certificates": None, "client_auth": "required"},
            "ssl.truststore.location",
            "needs it",
        ),
        (
            {"keystore_key": None, "keystore_certificate_chain": None},
            "ssl.keystore.location",
            "needs a certificate",
        ),
        ({"key_password": Secret("pw-1")}, "ssl.key.password", "is not encrypted"),
    ],
)
def test_a_wrong_setting_of_a_listener_is_refused_by_its_key(
    changes: dict[str, object], key: str, part: str
) -> None:
    prefix = "listener.name.clients."
    with pytest.raises(ConfigError) as refused:
        server_context(prefix, server_settings(**changes))
    assert refused.value.name == prefix + key
    assert prefix + key in str(refused.value)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "pw-1" not in str(refused.value)


def test_another_check_of_names_than_https_is_refused() -> None:
    settings = replace(certificates.pem_values(None), endpoint_identification_algorithm="ldaps")
    with pytest.raises(ConfigError) as refused:
        client_context("", settings)
    assert refused.value.name == "ssl.endpoint.identification.algorithm"


def test_a_client_is_shown_the_certificate_of_several_that_it_can_check(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In TLS 1.2 the cipher suites name the type of the key."""
    identities = {
        name: certificates.authority().signs(f"CN={name}", hosts=("localhost",), key=key)
        for name, key in (
            ("rsa", rsa.generate_private_key(65537, 2048)),
            ("ec", None),
            ("second", None),
        )
    }
    path = tmp_path / "keystore.p12"
    path.write_bytes(certificates.pkcs12_of(identities))
    server = server_context(
        "", TlsSettings(keystore_location=str(path), keystore_password=Secret(PASSWORD))
    )
    for name, kind in (("rsa", "RSA"), ("ec", "ECDSA")):
        suite = f"TLS_ECDHE_{kind}_WITH_AES_256_GCM_SHA384"
        wanted = replace(certificates.pem_values(None), cipher_suites=(suite,))
        found = shake_hands(client_context("", wanted), server)
        assert found.works and found.client.getpeercert(True) == identities[name].der
    assert [record.getMessage() for record in caplog.records] == [
        "ssl.keystore.location: of each type of key one is served; left aside: second"
    ]


def test_a_certificate_of_another_key_is_refused() -> None:
    other = certificates.client().chain_pem
    with pytest.raises(ConfigError) as refused:
        server_context("", server_settings(keystore_certificate_chain=other))
    assert refused.value.name == "ssl.keystore.key"
    assert "not that of the private key" in str(refused.value)


@pytest.mark.parametrize(
    ("password", "part"), [(None, "is not set"), (Secret("bad-one"), "is wrong")]
)
def test_an_encrypted_key_needs_its_password(password: Secret | None, part: str) -> None:
    encrypted = Secret(certificates.server().key_pem("right-one"))
    settings = server_settings(keystore_key=encrypted, key_password=password)
    with pytest.raises(ConfigError) as refused:
        server_context("", settings)
    assert refused.value.name == "ssl.key.password"
    assert part in str(refused.value)
    assert "bad-one" not in str(refused.value)
    server_context("", replace(settings, key_password=Secret("right-one")))


@pytest.mark.parametrize("broken", ["keystore_certificate_chain", "truststore_certificates"])
def test_a_broken_certificate_is_refused(broken: str) -> None:
    text = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQQ==\n-----END CERTIFICATE-----\n"
    with pytest.raises(ConfigError):
        server_context("", server_settings(**{broken: text}))


def test_the_systems_reason_is_told() -> None:
    assert reason_in_words(FileNotFoundError(2, "No such file or directory", "x")) == (
        "No such file or directory"
    )
    assert reason_in_words(ssl.SSLError(1, "x")) == "it is broken"


def test_a_connection_without_a_host_name_is_not_checked() -> None:
    """A trap of Python's: whoever connects has to give the name."""
    client = client_context("", certificates.pem_values(None))
    stranger = certificates.authority().signs("CN=x", hosts=("elsewhere.example",))
    server = server_context("", certificates.pem_values(stranger))
    assert not shake_hands(client, server, host="localhost").works
    assert shake_hands(client, server, host=None).works


def test_no_file_stays_open_whether_a_key_is_taken_or_refused() -> None:
    before = os.listdir("/proc/self/fd")
    server_context("", server_settings())
    with pytest.raises(ConfigError):
        server_context("", server_settings(keystore_certificate_chain="nothing"))
    with pytest.raises(ConfigError):
        server_context(
            "", server_settings(keystore_certificate_chain=certificates.client().chain_pem)
        )
    assert os.listdir("/proc/self/fd") == before
