"""The reader of PKCS12 files, as keytool and OpenSSL write them: keys and certificates from bytes.

Loads the library `cryptography` on first use; no other module of TLS needs it, so PEM works without
it. Never opens a file. Its errors name the configuration key, and no secret.

Follows RFC 7292.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.config.security_settings import Secret
from broker.security.tls.der import SEQUENCE, DerError, Value, object_identifier, values
from broker.security.tls.key_and_chain import KeyAndChain
from ground.config_def import ConfigError
from ottla.launcher import needs_packages

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        PKCS12KeyAndCertificates,
    )
    from cryptography.x509 import Certificate

_DATA = "1.2.840.113549.1.7.1"
_KEY = "1.2.840.113549.1.12.10.1.1"
_SHROUDED_KEY = "1.2.840.113549.1.12.10.1.2"
_OCTET_STRING, _CONTEXT_0 = 0x04, 0xA0

_Names = tuple[str, str]
"""The configuration keys of the file and of its password."""


@dataclass(frozen=True, slots=True)
class _KeyBag:
    pkcs8: bytes
    is_encrypted: bool


def keys_and_chains(
    names: _Names, data: bytes, password: Secret | None
) -> tuple[tuple[KeyAndChain, ...], tuple[str, ...]]:
    """Return the first private key of each type (RSA, EC, Ed25519), and for each other key a text
    that names it. Raises ConfigError.

    TLS chooses among keys of different types by what the peer can check.
    """
    store = _load_pkcs12(names, data, password)
    if store.key is None or store.cert is None:
        raise ConfigError(names[0], f"{names[0]} has no private key with its certificate.")
    by_type = {type(store.key): _with_chain(store.key, store.cert, store.additional_certs)}
    left_aside: list[str] = []
    certificates = [store.cert, *store.additional_certs]
    for bag in _key_bags(data):
        key = _private_key(bag, password)
        if key is None:
            left_aside.append("a key that cannot be read")
            continue
        public = key.public_key()
        if public == store.key.public_key():
            continue
        own = next((cert for cert in certificates if cert.certificate.public_key() == public), None)
        if own is None:
            left_aside.append("a key without a certificate")
        elif type(key) in by_type:
            left_aside.append(
                (own.friendly_name or b"a key without a name").decode("utf-8", "replace")
            )
        else:
            others = [cert for cert in certificates if cert is not own]
            by_type[type(key)] = _with_chain(key, own, others)
    return tuple(by_type.values()), tuple(left_aside)


def _with_chain(
    key: PrivateKeyTypes, own: PKCS12Certificate, others: Sequence[PKCS12Certificate]
) -> KeyAndChain:
    """Return the key, unencrypted, with its certificate and the chain above it."""
    from cryptography.hazmat.primitives import serialization

    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    chain, _ = _chain_and_others(own.certificate, others)
    return KeyAndChain(key_pem.decode(), _as_der(chain))


def _key_bags(data: bytes) -> list[_KeyBag]:
    """Return the private keys of a file, in its order, because `cryptography` returns only the
    first. Parts that are encrypted as a whole are left out.

    Return none if a part of the file is not DER; a PKCS12 file may have indefinite lengths.
    """
    try:
        _, content, *_ = values(data)[0].items(SEQUENCE)
        safes = values(_octets(content.items(SEQUENCE)[1]))[0].items(SEQUENCE)
        return [bag for safe in safes for bag in _bags_of(safe)]
    except (DerError, IndexError, ValueError):
        return []


def _bags_of(safe: Value) -> list[_KeyBag]:
    """Return the private keys of one part of the file; none if the part is encrypted as a whole.
    Raises DerError."""
    kind, *content = safe.items(SEQUENCE)
    if object_identifier(kind) != _DATA:
        return []  # encrypted as a whole, so it has certificates
    bags = []
    for bag in values(_octets(content[0]))[0].items(SEQUENCE):
        kind, value, *_ = bag.items(SEQUENCE)
        if (identifier := object_identifier(kind)) in (_KEY, _SHROUDED_KEY):
            bags.append(_KeyBag(value.content, identifier == _SHROUDED_KEY))
    return bags


def _octets(explicit: Value) -> bytes:
    """Return the octet string inside `[0] EXPLICIT`. Raises DerError."""
    (octets,) = explicit.items(_CONTEXT_0)
    if octets.tag != _OCTET_STRING:
        raise DerError("no octet string")
    return octets.content


def _private_key(bag: _KeyBag, password: Secret | None) -> PrivateKeyTypes | None:
    """Return the key, or None if it cannot be read with the password."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    secret = password.value.encode() if bag.is_encrypted and password is not None else None
    try:
        return load_der_private_key(bag.pkcs8, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def trusted(names: _Names, data: bytes, password: Secret | None) -> tuple[bytes, ...]:
    """Return the certificates of a truststore, as DER. Raises ConfigError, also if it has none.

    As in Java, the file may be a keystore. Then the key's own certificate is trusted, and the
    certificates that are not part of the key's chain.
    """
    store = _load_pkcs12(names, data, password)
    certificates = [cert.certificate for cert in store.additional_certs]
    if store.cert is not None:
        own = store.cert.certificate
        certificates = [own, *_chain_and_others(own, store.additional_certs)[1]]
    if not certificates:
        raise ConfigError(names[0], f"{names[0]} has no certificate.")
    return _as_der(certificates)


def _chain_and_others(
    own: Certificate, additional: Sequence[PKCS12Certificate]
) -> tuple[list[Certificate], list[Certificate]]:
    """Return `own` with the certificates that signed it, in order, and the other certificates."""
    chain, others = [own], [cert.certificate for cert in additional]
    while chain[-1].subject != chain[-1].issuer:
        issuer = next((other for other in others if _has_signed(other, chain[-1])), None)
        if issuer is None:
            break
        others.remove(issuer)
        chain.append(issuer)
    return chain, others


def _has_signed(issuer: Certificate, certificate: Certificate) -> bool:
    """Return True if `issuer` has signed `certificate`."""
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _as_der(certificates: list[Certificate]) -> tuple[bytes, ...]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return tuple(certificate.public_bytes(Encoding.DER) for certificate in certificates)


def _load_pkcs12(names: _Names, data: bytes, password: Secret | None) -> PKCS12KeyAndCertificates:
    """Return the file's contents.

    Raises ConfigError if it is broken, if the password is wrong, or if cryptography is not
    installed.
    """
    name, password_name = names
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        text = needs_packages(f"{name} is a PKCS12 file. Use PEM; PKCS12 needs", "cryptography")
        raise ConfigError(name, text) from None
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.value.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if data[:1] != b"\x30":
            raise ConfigError(name, f"{name} is neither PKCS12 nor JKS nor PEM.") from None
        raise ConfigError(
            password_name,
            f"{name} cannot be opened: {password_name} is wrong or missing, or the file is broken "
            f"({type(error).__name__}).",
        ) from None
