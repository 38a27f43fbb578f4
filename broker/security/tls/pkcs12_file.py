"""PKCS12 files, as keytool and OpenSSL write them: keys and certificates out of their bytes.

The only place that needs the library `cryptography`, which is loaded on first use: who has PEM
needs none. Opens no file. Its errors name the key of the configuration, and no secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.config.security_settings import Secret
from ground.config_def import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        PKCS12KeyAndCertificates,
    )
    from cryptography.x509 import Certificate

_Names = tuple[str, str]
"""The keys of the configuration that name the file and its password."""


def key_and_chain(
    names: _Names, data: bytes, password: Secret | None
) -> tuple[str, tuple[bytes, ...]]:
    """The private key as PEM, not encrypted, and its certificates as DER, its own first."""
    found = _loaded(names, data, password)
    from cryptography.hazmat.primitives import serialization

    if found.key is None or found.cert is None:
        raise ConfigError(names[0], f"{names[0]} has no private key with its certificate.")
    key_pem = found.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    chain, _ = _chain_and_others(found.cert.certificate, found.additional_certs)
    return key_pem.decode(), _as_der(chain)


def trusted(names: _Names, data: bytes, password: Secret | None) -> tuple[bytes, ...]:
    """The certificates of a truststore, as DER.

    As in Java a keystore may be one, too: then the key's own certificate is trusted and all that
    were put in for themselves, but not those that are there as the key's chain only.
    """
    found = _loaded(names, data, password)
    every = [one.certificate for one in found.additional_certs]
    if found.cert is not None:
        own = found.cert.certificate
        every = [own, *_chain_and_others(own, found.additional_certs)[1]]
    if not every:
        raise ConfigError(names[0], f"{names[0]} has no certificate.")
    return _as_der(every)


def _chain_and_others(
    own: Certificate, additional: Sequence[PKCS12Certificate]
) -> tuple[list[Certificate], list[Certificate]]:
    """`own` and those that signed it, in order; and what is left."""
    chain, others = [own], [one.certificate for one in additional]
    while chain[-1].subject != chain[-1].issuer:
        issuer = next((one for one in others if _signed(one, chain[-1])), None)
        if issuer is None:
            break
        others.remove(issuer)
        chain.append(issuer)
    return chain, others


def _signed(issuer: Certificate, one: Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        one.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _as_der(certificates: list[Certificate]) -> tuple[bytes, ...]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return tuple(one.public_bytes(Encoding.DER) for one in certificates)


def _loaded(names: _Names, data: bytes, password: Secret | None) -> PKCS12KeyAndCertificates:
    name, password_name = names
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise ConfigError(
            name,
            f"{name} is a PKCS12 file; for that pip install 'ottla[security]', or use PEM.",
        ) from None
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
