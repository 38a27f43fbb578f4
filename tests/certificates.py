"""Certificates for tests: authorities, and certificates that are right or wrong in one way each.

Made once a test process, with P-256 keys, and good for a year around the machine's time. Everything
is there as PEM and as PKCS12; `pem_values`, `pem_files` and `pkcs12_files` give the `TlsSettings`
that read them.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls.der import SEQUENCE, Value, values

PASSWORD = "store-secret"
SERVER_AUTH = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH

_OCTET_STRING, _CONTEXT_0 = 0x04, 0xA0
_DAY = datetime.timedelta(days=1)
_NOW = datetime.datetime.now(datetime.UTC)
_KEYWORDS = {
    "CN": NameOID.COMMON_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "C": NameOID.COUNTRY_NAME,
}


Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Identity:
    """A certificate, its key, and the certificates of those that signed it."""

    certificate: x509.Certificate
    key: Key
    issuers: tuple[x509.Certificate, ...] = ()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def chain_pem(self) -> str:
        """The certificate, then its issuers."""
        every = (self.certificate, *self.issuers)
        return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in every)

    def key_pem(self, password: str | None = None) -> str:
        """The key; encrypted (PBES2) with a password."""
        encryption = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password.encode())
        )
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()

    def pkcs12(self, password: str = PASSWORD, name: str = "identity") -> bytes:
        return pkcs12.serialize_key_and_certificates(
            name.encode(),
            self.key,
            self.certificate,
            self.issuers,
            serialization.BestAvailableEncryption(password.encode()),
        )

    def signs(
        self,
        name: str,
        *,
        purposes: Sequence[x509.ObjectIdentifier] = (),
        hosts: Sequence[str] = (),
        begins_days: int = -1,
        ends_days: int = 365,
        is_authority: bool = False,
        key: Key | None = None,
    ) -> Identity:
        """A certificate signed with this key. `name` is `CN=a,OU=b`; no purposes: for all."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        made = _certificate(
            _name(name),
            key,
            self,
            _extensions(purposes, hosts, is_authority),
            (begins_days, ends_days),
        )
        return Identity(made, key, () if self.is_root else (self.certificate, *self.issuers))

    @property
    def is_root(self) -> bool:
        return self.certificate.subject == self.certificate.issuer


def self_signed(
    name: str,
    *,
    is_authority: bool = False,
    purposes: Sequence[x509.ObjectIdentifier] = (),
    hosts: Sequence[str] = (),
) -> Identity:
    """A certificate signed with its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    extensions = _extensions(purposes, hosts, is_authority)
    return Identity(_certificate(_name(name), key, None, extensions, (-1, 365)), key)


def _name(text: str) -> x509.Name:
    """A subject from `CN=alice,OU=Data`, which is written last part first."""
    parts = [part.partition("=") for part in reversed(text.split(","))]
    return x509.Name([x509.NameAttribute(_KEYWORDS[word], value) for word, _, value in parts])


def _extensions(
    purposes: Sequence[x509.ObjectIdentifier], hosts: Sequence[str], is_authority: bool
) -> list[x509.ExtensionType]:
    found: list[x509.ExtensionType] = [x509.BasicConstraints(ca=is_authority, path_length=None)]
    if purposes:
        found.append(x509.ExtendedKeyUsage(purposes))
    if hosts:
        found.append(x509.SubjectAlternativeName([_host(host) for host in hosts]))
    return found


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(
    subject: x509.Name,
    key: Key,
    issuer: Identity | None,
    extensions: Sequence[x509.ExtensionType],
    days: tuple[int, int],
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW + days[0] * _DAY)
        .not_valid_after(_NOW + days[1] * _DAY)
    )
    signer = key.public_key() if issuer is None else issuer.certificate.public_key()
    identifiers: list[x509.ExtensionType] = [
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer),
    ]
    for one in (*extensions, *identifiers):
        builder = builder.add_extension(one, critical=isinstance(one, x509.BasicConstraints))
    return builder.sign(key if issuer is None else issuer.key, hashes.SHA256())


# --- those that tests ask for by name -------------------------------------------------------------


@cache
def authority() -> Identity:
    """The authority that the tests' nodes trust."""
    return self_signed("CN=Test CA,O=Acme,C=AT", is_authority=True)


@cache
def foreign_authority() -> Identity:
    """An authority that nobody trusts, with the trusted one's name."""
    return self_signed("CN=Test CA,O=Acme,C=AT", is_authority=True)


@cache
def intermediate() -> Identity:
    """An authority that the trusted one signed."""
    return authority().signs("CN=Middle CA,O=Acme,C=AT", is_authority=True)


@cache
def server(name: str = "CN=broker") -> Identity:
    """A node of a cluster: localhost, as server and as client."""
    return authority().signs(
        name, purposes=(SERVER_AUTH, CLIENT_AUTH), hosts=("localhost", "127.0.0.1")
    )


@cache
def client(name: str = "CN=alice,OU=Data,O=Acme,C=AT") -> Identity:
    """A client of this name that may come in."""
    return authority().signs(name, purposes=(CLIENT_AUTH,))


@cache
def wrong(kind: str) -> Identity:
    """A certificate that is wrong in one way: a key of `WRONG`."""
    return WRONG[kind]()


def _expired() -> Identity:
    return authority().signs("CN=alice", hosts=("localhost",), begins_days=-9, ends_days=-1)


def _not_yet_valid() -> Identity:
    return authority().signs("CN=alice", hosts=("localhost",), begins_days=2)


def _foreign() -> Identity:
    return foreign_authority().signs("CN=alice", hosts=("localhost",))


def _self_signed() -> Identity:
    return self_signed("CN=alice", hosts=("localhost",))


def _signed_by_a_leaf() -> Identity:
    return client().signs("CN=alice", hosts=("localhost",))


def _wrong_key() -> Identity:
    """The trusted authority's name stands in it, and another key signed it."""
    return replace(authority(), key=server().key).signs("CN=alice", hosts=("localhost",))


WRONG = {
    "expired": _expired,
    "not yet valid": _not_yet_valid,
    "foreign": _foreign,
    "self-signed": _self_signed,
    "signed by a leaf": _signed_by_a_leaf,
    "wrong signature": _wrong_key,
}
"""What neither a server nor a client takes."""


@cache
def server_only() -> Identity:
    """For servers only: wrong for a client."""
    return authority().signs("CN=alice", purposes=(SERVER_AUTH,), hosts=("localhost",))


@cache
def client_only() -> Identity:
    """For clients only, with a host's name: wrong for a server."""
    return authority().signs("CN=broker", purposes=(CLIENT_AUTH,), hosts=("localhost",))


# --- settings -------------------------------------------------------------------------------------


def pem_values(identity: Identity | None, trusted: Identity | None = None) -> TlsSettings:
    """Settings that hold everything themselves; who is trusted is `trusted`, or `authority()`."""
    settings = TlsSettings(
        truststore_type="PEM",
        truststore_certificates=(trusted or authority()).certificate_pem,
    )
    if identity is None:
        return settings
    return replace(
        settings,
        keystore_type="PEM",
        keystore_key=Secret(identity.key_pem()),
        keystore_certificate_chain=identity.chain_pem,
    )


def pem_files(folder: Path, identity: Identity, password: str | None = None) -> TlsSettings:
    """Settings that name PEM files in `folder`; with a password the key is encrypted."""
    keystore, truststore = folder / "keystore.pem", folder / "truststore.pem"
    keystore.write_text(identity.key_pem(password) + identity.chain_pem)
    truststore.write_text(authority().certificate_pem)
    return TlsSettings(
        keystore_type="PEM",
        keystore_location=str(keystore),
        key_password=None if password is None else Secret(password),
        truststore_type="PEM",
        truststore_location=str(truststore),
    )


def pkcs12_of(identities: Mapping[str, Identity]) -> bytes:
    """A PKCS12 file with several keys, which `cryptography` cannot write: without a MAC."""
    safes: list[bytes] = []
    for name, identity in identities.items():
        _, content, *_ = values(identity.pkcs12(name=name))[0].items(SEQUENCE)
        kind, explicit = content.items(SEQUENCE)
        octets = explicit.items(_CONTEXT_0)[0]
        safes += (one.encoded() for one in values(octets.content)[0].items(SEQUENCE))
    octets = Value(_OCTET_STRING, Value(SEQUENCE, b"".join(safes)).encoded())
    content = Value(SEQUENCE, kind.encoded() + Value(_CONTEXT_0, octets.encoded()).encoded())
    return Value(SEQUENCE, b"\x02\x01\x03" + content.encoded()).encoded()


def pkcs12_files(folder: Path, identity: Identity, password: str = PASSWORD) -> TlsSettings:
    """Settings that name PKCS12 files in `folder`, under Kafka's default type."""
    keystore, truststore = folder / "keystore.p12", folder / "truststore.p12"
    keystore.write_bytes(identity.pkcs12(password))
    truststore.write_bytes(
        pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(authority().certificate, b"ca")],
            serialization.BestAvailableEncryption(password.encode()),
        )
    )
    return TlsSettings(
        keystore_location=str(keystore),
        keystore_password=Secret(password),
        truststore_location=str(truststore),
        truststore_password=Secret(password),
    )
