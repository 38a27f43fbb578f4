"""Names of certificates, as Java 17 writes them: what it said stands in tests/golden/."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from broker.security.tls.der import SEQUENCE, DerError, Value
from broker.security.tls.peer_certificate import (
    ANONYMOUS,
    distinguished_name,
    principal_of,
    subject_alternative_names,
)
from broker.security.tls.principal_mapping import PrincipalMapping
from tests import certificates

GOLDEN = Path(__file__).parents[4] / "golden" / "distinguished_names_java_17.json"
NAMES: dict[str, list[str]] = json.loads(GOLDEN.read_text())


def certificate_of(subject: bytes) -> bytes:
    """As much of a certificate as has a subject in it, which is given as DER."""
    filler = Value(SEQUENCE, b"").encoded()
    fields = Value(0xA0, b"").encoded() + Value(2, b"\1").encoded() + filler * 3 + subject + filler
    return Value(SEQUENCE, Value(SEQUENCE, fields).encoded()).encoded()


@pytest.mark.parametrize("label", NAMES)
def test_a_name_is_written_as_java_writes_it(label: str) -> None:
    der, name = NAMES[label]
    assert distinguished_name(certificate_of(bytes.fromhex(der))) == name


def test_a_name_of_a_real_certificate() -> None:
    name = "CN=alice,OU=Data,O=Acme,C=AT"
    assert distinguished_name(certificates.client(name).der) == name


def test_alternative_names_are_sorted_and_each_once() -> None:
    hosts = ("localhost", "127.0.0.1", "::1", "a.example", "localhost")
    one = certificates.self_signed("CN=x", hosts=hosts)
    expected = ("DNS:a.example", "DNS:localhost", "IP:0:0:0:0:0:0:0:1", "IP:127.0.0.1")
    assert subject_alternative_names(one.der) == expected


def test_a_certificate_without_alternative_names_has_none() -> None:
    assert subject_alternative_names(certificates.client().der) == ()


def test_a_principal_is_the_mapped_name() -> None:
    der = certificates.client("CN=alice,OU=Data,O=Acme,C=AT").der
    assert principal_of(der, PrincipalMapping("DEFAULT")) == "User:CN=alice,OU=Data,O=Acme,C=AT"
    assert principal_of(der, PrincipalMapping("RULE:^CN=(.*?),.*$/$1/")) == "User:alice"
    assert principal_of(der, PrincipalMapping("RULE:^CN=bob,.*$/bob/")) is None


def test_who_shows_no_certificate_is_anonymous_whatever_the_rules() -> None:
    assert principal_of(None, PrincipalMapping("")) == ANONYMOUS == "User:ANONYMOUS"


@pytest.mark.parametrize(
    "der",
    [
        b"",
        b"nonsense",
        Value(SEQUENCE, b"").encoded(),
        Value(SEQUENCE, Value(SEQUENCE, b"").encoded()).encoded(),
        # two values where an attribute has one
        certificate_of(bytes.fromhex("300f310d300b06035504030c01610c0162")),
    ],
)
def test_what_cannot_be_read_is_nobody(der: bytes) -> None:
    assert principal_of(der, PrincipalMapping("DEFAULT")) is None


def test_whatever_a_byte_becomes_it_is_read_or_refused() -> None:
    der = certificates.server().der
    for at in range(len(der)):
        for byte in (0, 0x30, 0x7F, 0x80, 0x84, 0xFF, der[at] ^ 1):
            damaged = der[:at] + bytes((byte,)) + der[at + 1 :]
            for read in (distinguished_name, subject_alternative_names):
                with contextlib.suppress(DerError):
                    read(damaged)


def test_every_cut_of_a_certificate_is_refused_and_nothing_else() -> None:
    der = certificates.server().der
    for end in range(len(der)):
        with pytest.raises(DerError):
            distinguished_name(der[:end])
