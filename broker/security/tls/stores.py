"""A keystore and a truststore, as `TlsSettings` name them: read from files or out of the values.

Owns Kafka's rules about which settings exclude each other, and reading PEM. PKCS12 is
`pkcs12_file`'s. Says for everything that cannot be read which key is at fault, on one line, and
never what stands in a password, a key or a file. Hands no key to TLS: that is `contexts`.

Follows KIP-651 (PEM) and the rules of a running Kafka 4.3.
"""

from __future__ import annotations

import binascii
import re
import shlex
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.config.security_settings import Secret, TlsSettings
from ground.config_def import ConfigError

TYPES = ("PEM", "PKCS12", "JKS")
STORE_BYTES_MAX = 16 << 20
"""No store is larger: what is, is another file, or a device."""

_BODY = r"(?:[^-]|-(?!----))*+"  # up to the next line of hyphens: a text is walked over once
_KEY = re.compile(rf"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----({_BODY})-----END \1-----")
_CERTIFICATE = re.compile(rf"-----BEGIN CERTIFICATE-----{_BODY}-----END CERTIFICATE-----")
_OPENSSLS_OWN = re.compile(r"-----BEGIN ((?:TRUSTED|X509) CERTIFICATE)-----")
_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")


@dataclass(frozen=True, slots=True)
class Keystore:
    """A private key, and the certificates that are shown with it."""

    key_pem: Secret
    password: Secret | None
    """Of `key_pem`, where that is encrypted."""
    chain: tuple[bytes, ...]
    """DER: the node's own certificate, then those that signed it."""
    key_name: str
    """The key of the configuration that the private key came by."""
    further: tuple[Keystore, ...] = ()
    """Of keys of other types: a peer is shown the certificate that it can check."""
    left_aside: tuple[str, ...] = ()
    """Entries that are never shown."""


def load_keystore(key_prefix: str, tls: TlsSettings) -> Keystore | None:
    """The keystore; None where none is set. ConfigError: it cannot be read, or settings exclude
    each other."""
    return _KeystoreLoader(f"{key_prefix}ssl.", tls).load()


def load_truststore(key_prefix: str, tls: TlsSettings) -> tuple[bytes, ...] | None:
    """The certificates that are trusted, as DER; None where no truststore is set. ConfigError: as
    above, or it is empty."""
    return _TruststoreLoader(f"{key_prefix}ssl.", tls).load()


def trust_key(key_prefix: str, tls: TlsSettings) -> str:
    """The key that names the truststore, for errors."""
    in_value = tls.truststore_certificates is not None
    return f"{key_prefix}ssl.truststore.{'certificates' if in_value else 'location'}"


def keystore_key(key_prefix: str, tls: TlsSettings) -> str:
    """The key that names the keystore, for errors."""
    in_value = tls.keystore_certificate_chain is not None
    return f"{key_prefix}ssl.keystore.{'certificate.chain' if in_value else 'location'}"


class _KeystoreLoader:
    def __init__(self, prefix: str, tls: TlsSettings) -> None:
        self._prefix = prefix
        self._tls = tls
        self._type = _type(f"{prefix}keystore.type", tls.keystore_type)

    def load(self) -> Keystore | None:
        tls = self._tls
        self._check()
        if tls.keystore_key is not None and tls.keystore_certificate_chain is not None:
            return self._from_pem(
                tls.keystore_key.value,
                tls.keystore_certificate_chain,
                (f"{self._prefix}keystore.key", f"{self._prefix}keystore.certificate.chain"),
            )
        if tls.keystore_location is None:
            return None
        name = f"{self._prefix}keystore.location"
        data = _read(name, tls.keystore_location)
        if self._type == "PEM":
            text = _pem_text(name, data)
            return self._from_pem(text, text, (name, name))
        _refuse_what_is_no_pkcs12(name, f"{self._prefix}keystore.type", tls.keystore_location, data)
        return self._from_pkcs12(name, data)

    def _check(self) -> None:
        """Which settings exclude each other, and which need each other."""
        tls, prefix = self._tls, self._prefix
        key, chain = tls.keystore_key, tls.keystore_certificate_chain
        if key is not None or chain is not None:
            if self._type != "PEM":
                raise ConfigError(
                    f"{prefix}keystore.type",
                    f"{prefix}keystore.key and {prefix}keystore.certificate.chain need "
                    f"{prefix}keystore.type=PEM; it is {self._type}.",
                )
            if tls.keystore_location is not None:
                raise _both(f"{prefix}keystore.location", f"{prefix}keystore.key")
            if key is None:
                raise _needs(f"{prefix}keystore.certificate.chain", f"{prefix}keystore.key")
            if chain is None:
                raise _needs(f"{prefix}keystore.key", f"{prefix}keystore.certificate.chain")
        if self._type == "PEM":
            if tls.keystore_password is not None:
                raise ConfigError(
                    f"{prefix}keystore.password",
                    f"{prefix}keystore.password goes with PKCS12; a PEM key has "
                    f"{prefix}key.password.",
                )
        elif tls.keystore_location is not None and tls.keystore_password is None:
            raise _needs(f"{prefix}keystore.location", f"{prefix}keystore.password")
        elif tls.keystore_location is None and tls.keystore_password is not None:
            raise _needs(f"{prefix}keystore.password", f"{prefix}keystore.location")

    def _from_pem(self, key_text: str, chain_text: str, names: tuple[str, str]) -> Keystore:
        key_name, chain_name = names
        keys = list(_KEY.finditer(key_text))
        if len(keys) != 1:
            raise ConfigError(
                key_name,
                f"{key_name} has {len(keys) or 'no'} private key{'s' if keys else ''} "
                "(-----BEGIN PRIVATE KEY-----); it needs one.",
            )
        chain = _certificates(chain_name, chain_text)
        return Keystore(
            Secret(_key_pem(*keys[0].groups())), self._tls.key_password, chain, key_name
        )

    def _from_pkcs12(self, name: str, data: bytes) -> Keystore:
        from broker.security.tls import pkcs12_file

        tls, password_name = self._tls, f"{self._prefix}keystore.password"
        if tls.key_password not in (None, tls.keystore_password):
            raise ConfigError(
                f"{self._prefix}key.password",
                f"{self._prefix}key.password must be that of {password_name}, or not be set: a "
                "PKCS12 file has one password for all.",
            )
        pairs, left = pkcs12_file.keys_and_chains(
            (name, password_name), data, tls.keystore_password
        )
        first, *others = (Keystore(Secret(one.key_pem), None, one.chain, name) for one in pairs)
        return replace(first, further=tuple(others), left_aside=left)


class _TruststoreLoader:
    def __init__(self, prefix: str, tls: TlsSettings) -> None:
        self._prefix = prefix
        self._tls = tls
        self._type = _type(f"{prefix}truststore.type", tls.truststore_type)

    def load(self) -> tuple[bytes, ...] | None:
        tls, prefix = self._tls, self._prefix
        self._check()
        if tls.truststore_certificates is not None:
            return _certificates(f"{prefix}truststore.certificates", tls.truststore_certificates)
        if tls.truststore_location is None:
            return None
        name = f"{prefix}truststore.location"
        data = _read(name, tls.truststore_location)
        if self._type == "PEM":
            return _certificates(name, _pem_text(name, data))
        _refuse_what_is_no_pkcs12(name, f"{prefix}truststore.type", tls.truststore_location, data)
        from broker.security.tls import pkcs12_file

        password_name = f"{prefix}truststore.password"
        return pkcs12_file.trusted((name, password_name), data, tls.truststore_password)

    def _check(self) -> None:
        tls, prefix = self._tls, self._prefix
        if tls.truststore_certificates is not None:
            if self._type != "PEM":
                raise ConfigError(
                    f"{prefix}truststore.type",
                    f"{prefix}truststore.certificates needs {prefix}truststore.type=PEM; it is "
                    f"{self._type}.",
                )
            if tls.truststore_location is not None:
                raise _both(f"{prefix}truststore.location", f"{prefix}truststore.certificates")
        if tls.truststore_password is None:
            return
        if self._type == "PEM":
            raise ConfigError(
                f"{prefix}truststore.password",
                f"{prefix}truststore.password goes with PKCS12; a PEM truststore has none.",
            )
        if tls.truststore_location is None:
            raise _needs(f"{prefix}truststore.password", f"{prefix}truststore.location")


def _both(one: str, other: str) -> ConfigError:
    return ConfigError(one, f"{one} and {other} are both set; set one of them.")


def _needs(one: str, other: str) -> ConfigError:
    return ConfigError(other, f"{one} is set without {other}; set both.")


def _type(name: str, value: str) -> str:
    kind = value.upper()
    if kind not in TYPES:
        raise ConfigError.invalid(name, value, f"it is one of {', '.join(TYPES)}.")
    return kind


def _read(name: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(STORE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError.invalid(name, path, f"it cannot be read: {reason}.") from None
    if not data:
        raise ConfigError.invalid(name, path, "the file is empty.")
    if len(data) > STORE_BYTES_MAX:
        raise ConfigError.invalid(name, path, f"it is larger than {STORE_BYTES_MAX >> 20} MiB.")
    return data


def _pem_text(name: str, data: bytes) -> str:
    if b"-----BEGIN " not in data:
        kind = name.rpartition(".")[0] + ".type"
        raise ConfigError(name, f"{name} is no PEM file; is {kind} right?")
    return data.decode("utf-8", "replace")


def _certificates(name: str, text: str) -> tuple[bytes, ...]:
    """The certificates of a PEM text, as DER."""
    if (other := _OPENSSLS_OWN.search(text)) is not None:
        # Beside others, too: none is left aside in silence.
        raise ConfigError(
            name,
            f"{name} has a {other[1]}, a form of OpenSSL's own. Write each as a plain certificate: "
            "openssl x509 -in OLD.pem -out NEW.pem",
        )
    found = _CERTIFICATE.findall(text)
    if not found:
        raise ConfigError(name, f"{name} has no certificate (-----BEGIN CERTIFICATE-----).")
    return tuple(_each(name, ssl.PEM_cert_to_DER_cert, found))


def _key_pem(kind: str, body: str) -> str:
    """A private key with the ends of lines that OpenSSL needs: in a value of a configuration they
    may be blanks, or missing."""
    if ":" in body:
        # An older form of encryption, with headers.
        lines = [line.strip() for line in body.strip().splitlines()]
    else:
        text = "".join(body.split())
        lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""))


def _each(name: str, read: Callable[[str], bytes], blocks: list[str]) -> list[bytes]:
    try:
        return [read(block) for block in blocks]
    except (binascii.Error, ValueError) as error:
        raise ConfigError(name, f"{name} has a certificate that is broken: {error}.") from None


def _refuse_what_is_no_pkcs12(name: str, type_name: str, path: str, data: bytes) -> None:
    if data.startswith(_JKS_MAGIC):
        raise ConfigError.invalid(
            name,
            path,
            "it is a JKS file, which cannot be read here. Convert it: keytool -importkeystore "
            f"-srckeystore {shlex.quote(path)} -destkeystore {shlex.quote(path + '.p12')} "
            "-deststoretype PKCS12",
        )
    if b"-----BEGIN " in data:
        raise ConfigError.invalid(name, path, f"it is a PEM file; set {type_name}=PEM.")
