"""Certificates for tests: authorities, valid certificates, and those with one fault each.

Each is made once in a test process, with a P-256 key, and is valid for a year. All exist as PEM and
as PKCS12; `pem_values`, `pem_files` and `pkcs12_files` return the `TlsSettings` that read them.
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
    """A certificate, its key, and the certificates of its issuers."""

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
        """The certificate and then its issuers, as PEM."""
        chain = (self.certificate, *self.issuers)
        return "".join(
            certificate.public_bytes(serialization.Encoding.PEM).decode() for certificate in chain
        )

    def key_pem(self, password: str | None = None) -> str:
        """Return the key as PEM, encrypted (PBES2) if there is a password."""
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
        """Return a new certificate signed with this key.

        `name` is `CN=a,OU=b`; without `purposes` the certificate is valid for all.
        """
        key = key or ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(
            _name(name),
            key,
            self,
            _extensions(purposes, hosts, is_authority),
            (begins_days, ends_days),
        )
        return Identity(certificate, key, () if self.is_root else (self.certificate, *self.issuers))

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
    """Return a certificate signed with its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    extensions = _extensions(purposes, hosts, is_authority)
    return Identity(_certificate(_name(name), key, None, extensions, (-1, 365)), key)


def _name(text: str) -> x509.Name:
    """Return the subject of `CN=alice,OU=Data`; the text has the last part first."""
    parts = [part.partition("=") for part in reversed(text.split(","))]
    return x509.Name([x509.NameAttribute(_KEYWORDS[word], value) for word, _, value in parts])


def _extensions(
    purposes: Sequence[x509.ObjectIdentifier], hosts: Sequence[str], is_authority: bool
) -> list[x509.ExtensionType]:
    extensions: list[x509.ExtensionType] = [
        x509.BasicConstraints(ca=is_authority, path_length=None)
    ]
    if purposes:
        extensions.append(x509.ExtendedKeyUsage(purposes))
    if hosts:
        extensions.append(x509.SubjectAlternativeName([_host(host) for host in hosts]))
    return extensions


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
    for extension in (*extensions, *identifiers):
        builder = builder.add_extension(
            extension, critical=isinstance(extension, x509.BasicConstraints)
        )
    return builder.sign(key if issuer is None else issuer.key, hashes.SHA256())


# --- certificates for tests, by name --------------------------------------------------------------


@cache
def authority() -> Identity:
    """Return the authority that the tests' nodes trust."""
    return self_signed("CN=Test CA,O=Acme,C=AT", is_authority=True)


@cache
def foreign_authority() -> Identity:
    """Return an authority with the trusted one's name, which no node trusts."""
    return self_signed("CN=Test CA,O=Acme,C=AT", is_authority=True)


@cache
def intermediate() -> Identity:
    """Return an authority that the trusted authority has signed."""
    return authority().signs("CN=Middle CA,O=Acme,C=AT", is_authority=True)


@cache
def server(name: str = "CN=broker") -> Identity:
    """Return the certificate of a node on localhost, for its connections as server and client."""
    return authority().signs(
        name, purposes=(SERVER_AUTH, CLIENT_AUTH), hosts=("localhost", "127.0.0.1")
    )


@cache
def client(name: str = "CN=alice,OU=Data,O=Acme,C=AT") -> Identity:
    """Return the certificate of a client of this name, which nodes trust."""
    return authority().signs(name, purposes=(CLIENT_AUTH,))


@cache
def wrong(kind: str) -> Identity:
    """Return a certificate with one fault: `kind` is a key of `WRONG`."""
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
    """Return a certificate that names the trusted authority, but is signed by another key."""
    return replace(authority(), key=server().key).signs("CN=alice", hosts=("localhost",))


WRONG = {
    "expired": _expired,
    "not yet valid": _not_yet_valid,
    "foreign": _foreign,
    "self-signed": _self_signed,
    "signed by a leaf": _signed_by_a_leaf,
    "wrong signature": _wrong_key,
}
"""Makers of certificates that servers and clients reject."""


@cache
def server_only() -> Identity:
    """Return a certificate for servers only, which is wrong for a client."""
    return authority().signs("CN=alice", purposes=(SERVER_AUTH,), hosts=("localhost",))


@cache
def client_only() -> Identity:
    """Return a certificate for clients only, with a host's name, which is wrong for a server."""
    return authority().signs("CN=broker", purposes=(CLIENT_AUTH,), hosts=("localhost",))


# --- settings -------------------------------------------------------------------------------------


def pem_values(identity: Identity | None, trusted: Identity | None = None) -> TlsSettings:
    """Return settings that contain all PEM texts, and trust `trusted` or else `authority()`."""
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
    """Return settings that name PEM files in `folder`, the key encrypted if there is a password."""
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
    """Return a PKCS12 file with several keys, without a MAC. `cryptography` cannot write one."""
    safes: list[bytes] = []
    for name, identity in identities.items():
        _, content, *_ = values(identity.pkcs12(name=name))[0].items(SEQUENCE)
        kind, explicit = content.items(SEQUENCE)
        octets = explicit.items(_CONTEXT_0)[0]
        safes += (value.encoded() for value in values(octets.content)[0].items(SEQUENCE))
    octets = Value(_OCTET_STRING, Value(SEQUENCE, b"".join(safes)).encoded())
    content = Value(SEQUENCE, kind.encoded() + Value(_CONTEXT_0, octets.encoded()).encoded())
    return Value(SEQUENCE, b"\x02\x01\x03" + content.encoded()).encoded()


def pkcs12_files(folder: Path, identity: Identity, password: str = PASSWORD) -> TlsSettings:
    """Return settings that name PKCS12 files in `folder`, under Kafka's default type."""
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
