"""Certificates of a secured `ottla cluster`: an authority of its own, and one for each node.

All certificates are PEM, which Python's `ssl` reads without other libraries. Keys are P-256: small,
fast, and accepted by every Kafka client. A node's certificate serves as a server's, for clients and
nodes that check its host name, and as a client's, for controllers that require one. Owns nothing.
Never touches a file.

The only module of the commands that needs the library `cryptography`, which is loaded on first use.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from broker.config.start_error import StartError
from ottla.launcher import needs_packages

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

YEARS = 10
RENEWED_DAYS_BEFORE = 30


class Pem(NamedTuple):
    """A certificate and its key, which is not encrypted."""

    key: str
    certificate: str


def check_library() -> None:
    """Check that `cryptography` is installed. Raises StartError with one line if it is not."""
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise StartError(
            needs_packages("--secure makes certificates with", "cryptography")
        ) from error


def new_authority(name: str, now_ms: int) -> Pem:
    """Return the key and the self-signed certificate of a new authority, which signs the
    certificates of one cluster's nodes."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    extensions = [x509.BasicConstraints(ca=True, path_length=0), usage]
    subject = _name(name)
    return _signed_certificate(subject, key, subject, key, extensions, now_ms)


def new_certificate(authority: Pem, name: str, hosts: Sequence[str], now_ms: int) -> Pem:
    """Return a new key and its certificate, signed by `authority`, for a node at `hosts` (names and
    addresses).

    Raises StartError if the authority's key is of another kind than Ottla's.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    signer = load_pem_private_key(authority.key.encode(), None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise StartError("the authority's key is not the one that ottla cluster made")
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode()).subject
    extensions = [
        x509.BasicConstraints(ca=False, path_length=None),
        x509.KeyUsage(True, False, False, False, False, False, False, False, False),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
        x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]),
    ]
    key = ec.generate_private_key(ec.SECP256R1())
    return _signed_certificate(_name(name), key, issuer, signer, extensions, now_ms)


def is_current(
    authority_certificate: str, certificate: str, hosts: Sequence[str], now_ms: int
) -> bool:
    """Return whether a node's certificate names all hosts and does not expire soon.

    "Soon" is within RENEWED_DAYS_BEFORE days. Return True, too, for a certificate that another
    authority signed: the user has provided it. Raises ValueError if a text is no certificate.
    """
    from cryptography import x509

    issuer = x509.load_pem_x509_certificate(authority_certificate.encode())
    loaded = x509.load_pem_x509_certificate(certificate.encode())
    if loaded.issuer != issuer.subject:
        return True
    names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    time_left = loaded.not_valid_after_utc - _utc_time(now_ms)
    enough = time_left > datetime.timedelta(days=RENEWED_DAYS_BEFORE)
    return enough and all(_alternative_name(host) in list(names) for host in hosts)


def _signed_certificate(
    subject: x509.Name,
    key: EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: EllipticCurvePrivateKey,
    extensions: Sequence[x509.ExtensionType],
    now_ms: int,
) -> Pem:
    """Return the private key `key` and a certificate for it, as PEM, signed by `issuer` with its
    key `signer`.

    It is valid from a day before `now_ms` for YEARS years after it.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    now = _utc_time(now_ms)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks differ
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
    )
    identifiers: list[x509.ExtensionType] = [
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
    ]
    for extension in (*extensions, *identifiers):
        critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
        builder = builder.add_extension(extension, critical=critical)
    certificate = builder.sign(signer, hashes.SHA256())
    return Pem(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
    )


def _name(common_name: str) -> x509.Name:
    """Return the X.509 name that has only this common name."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative_name(text: str) -> x509.GeneralName:
    """Return the IP address or DNS name of a certificate for this host."""
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _utc_time(now_ms: int) -> datetime.datetime:
    """Return the time in UTC, rounded down to a second."""
    return datetime.datetime.fromtimestamp(now_ms // 1000, datetime.UTC)
