"""Certificates of a cluster's own authority: good for whom, how long, and signed by whom."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from command.cluster_certificates import (
    RENEWED_DAYS_BEFORE,
    YEARS,
    Pem,
    is_current,
    new_authority,
    new_certificate,
)

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
HOSTS = ("localhost", "127.0.0.1", "::1", "kafka.example.org")


@pytest.fixture(scope="module")
def authority() -> Pem:
    return new_authority("ottla cluster abc", NOW_MS)


@pytest.fixture(scope="module")
def node(authority: Pem) -> Pem:
    return new_certificate(authority, "broker-1", HOSTS, NOW_MS)


def loaded(pem: Pem) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.certificate.encode())


def test_it_is_good_for_its_hosts_by_the_rules_of_the_web(authority: Pem, node: Pem) -> None:
    time = datetime.datetime.fromtimestamp(NOW_MS / 1000, datetime.UTC)
    policy = PolicyBuilder().store(Store([loaded(authority)])).time(time)
    policy.build_server_verifier(x509.DNSName("kafka.example.org")).verify(loaded(node), [])
    policy.build_client_verifier().verify(loaded(node), [])
    with pytest.raises(VerificationError):
        policy.build_server_verifier(x509.DNSName("other.example.org")).verify(loaded(node), [])
    with pytest.raises(VerificationError):
        foreign = PolicyBuilder().store(Store([loaded(new_authority("x", NOW_MS))])).time(time)
        foreign.build_client_verifier().verify(loaded(node), [])


def test_it_is_a_servers_and_a_clients(node: Pem) -> None:
    usage = loaded(node).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    assert loaded(node).subject.rfc4514_string() == "CN=broker-1"
    assert node.key.startswith("-----BEGIN PRIVATE KEY-----")


@pytest.mark.parametrize(
    ("hosts", "days", "current"),
    [
        (HOSTS, 0, True),
        (HOSTS[:2], 0, True),
        ((*HOSTS, "other.example.org"), 0, False),
        ((*HOSTS, "10.0.0.1"), 0, False),
        (HOSTS, 365 * YEARS - RENEWED_DAYS_BEFORE - 1, True),
        (HOSTS, 365 * YEARS - RENEWED_DAYS_BEFORE, False),
    ],
)
def test_it_goes_on_while_it_names_all_hosts_and_lasts(
    authority: Pem, node: Pem, hosts: tuple[str, ...], days: int, current: bool
) -> None:
    now_ms = NOW_MS + days * DAY_MS
    assert is_current(authority.certificate, node.certificate, hosts, now_ms) == current


def test_what_another_authority_signed_is_not_judged(authority: Pem) -> None:
    other = new_authority("another", NOW_MS)
    theirs = new_certificate(other, "broker-1", ["elsewhere"], NOW_MS)
    assert is_current(authority.certificate, theirs.certificate, HOSTS, NOW_MS)
