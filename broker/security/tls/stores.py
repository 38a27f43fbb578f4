"""The reader of the keystore and the truststore that `TlsSettings` name, from files or from values.

Owns Kafka's rules about settings that exclude each other, and the reading of PEM; `pkcs12_file`
reads PKCS12, and `jks_file` JKS. As in Java, the types PKCS12 and JKS accept both forms. An error
is one line that names the configuration key, and never has a password, a key or a file's content.
Never passes a key to TLS: `contexts` does.

Follows KIP-651 (PEM) and the rules of a running Kafka.
"""

from __future__ import annotations

import binascii
import re
import shlex
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls import jks_file
from broker.security.tls.key_and_chain import KeyAndChain
from ground.config_def import ConfigError

TYPES = ("PEM", "PKCS12", "JKS")
STORE_BYTES_MAX = 16 << 20
"""The largest store that is read; a larger file is no store, or a device."""

_BODY = r"[^-]*(?:-(?!----)[^-]*)*"  # up to the next line of hyphens
_KEY = re.compile(rf"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----({_BODY})-----END \1-----")
_CERTIFICATE = re.compile(rf"-----BEGIN CERTIFICATE-----{_BODY}-----END CERTIFICATE-----")
_OPENSSLS_OWN = re.compile(r"-----BEGIN ((?:TRUSTED|X509) CERTIFICATE)-----")
_JCEKS_MAGIC = b"\xce\xce\xce\xce"

_KeysAndLeftAside = tuple[tuple[KeyAndChain, ...], tuple[str, ...]]
"""The keys to serve, and the names of those that are never used."""


@dataclass(frozen=True, slots=True)
class Keystore:
    """A private key, and the certificates that are shown with it."""

    key_pem: Secret
    password: Secret | None
    """The password of `key_pem`; None: the configuration has none."""
    chain: tuple[bytes, ...]
    """The node's own certificate, then those that signed it, as DER."""
    key_name: str
    """The configuration key of the private key, for errors."""
    further: tuple[Keystore, ...] = ()
    """The keystores of keys of other types; a peer is shown the certificate that it can check."""
    left_aside: tuple[str, ...] = ()
    """The names of keys in the file that are never used."""


def load_keystore(key_prefix: str, tls: TlsSettings) -> Keystore | None:
    """Return the keystore; None: none is set. Raises ConfigError if it cannot be read, or settings
    exclude each other."""
    return _KeystoreLoader(f"{key_prefix}ssl.", tls).load()


def load_truststore(key_prefix: str, tls: TlsSettings) -> tuple[bytes, ...] | None:
    """Return the trusted certificates, as DER; None: no truststore is set. Raises ConfigError if it
    is empty or cannot be read, or settings exclude each other."""
    return _TruststoreLoader(f"{key_prefix}ssl.", tls).load()


def trust_key(key_prefix: str, tls: TlsSettings) -> str:
    """Return the configuration key of the truststore, for errors."""
    in_value = tls.truststore_certificates is not None
    return f"{key_prefix}ssl.truststore.{'certificates' if in_value else 'location'}"


def keystore_key(key_prefix: str, tls: TlsSettings) -> str:
    """Return the configuration key of the keystore, for errors."""
    in_value = tls.keystore_certificate_chain is not None
    return f"{key_prefix}ssl.keystore.{'certificate.chain' if in_value else 'location'}"


class _KeystoreLoader:
    def __init__(self, prefix: str, tls: TlsSettings) -> None:
        """Begin without reading a file; `prefix` ends with `ssl.`. Raises ConfigError for an
        unknown type of store."""
        self._prefix = prefix
        self._tls = tls
        self._type = _checked_type(f"{prefix}keystore.type", tls.keystore_type)

    def load(self) -> Keystore | None:
        """Return the key store, or None if none is set. Raises ConfigError if it is wrong."""
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
        data = _read_store(name, tls.keystore_location)
        if self._type == "PEM":
            text = _pem_text(name, data)
            return self._from_pem(text, text, (name, name))
        _check_is_binary(name, f"{self._prefix}keystore.type", tls.keystore_location, data)
        return self._from_file(name, data)

    def _check(self) -> None:
        """Raise ConfigError if settings exclude each other, or one lacks another that it needs."""
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
                    f"{prefix}keystore.password goes with PKCS12 and JKS; a PEM key has "
                    f"{prefix}key.password.",
                )
        elif tls.keystore_location is not None and tls.keystore_password is None:
            raise _needs(f"{prefix}keystore.location", f"{prefix}keystore.password")
        elif tls.keystore_location is None and tls.keystore_password is not None:
            raise _needs(f"{prefix}keystore.password", f"{prefix}keystore.location")

    def _from_pem(self, key_text: str, chain_text: str, names: tuple[str, str]) -> Keystore:
        """Return the key store of two PEM texts. `names` are their configuration keys.

        Raises ConfigError unless there are exactly one private key and at least one valid
        certificate.
        """
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

    def _from_file(self, name: str, data: bytes) -> Keystore:
        """Return the key store of a PKCS12 or JKS file, whose further keys it keeps.

        Raises ConfigError if the file or its passwords are wrong.
        """
        read = self._keys_of_jks if data.startswith(jks_file.MAGIC) else self._keys_of_pkcs12
        pairs, left_aside = read(name, data)
        first, *others = (Keystore(Secret(pair.key_pem), None, pair.chain, name) for pair in pairs)
        return replace(first, further=tuple(others), left_aside=left_aside)

    def _keys_of_jks(self, name: str, data: bytes) -> _KeysAndLeftAside:
        """Return the keys of a JKS file, and the names of those that are never used. Raises
        ConfigError."""
        tls = self._tls
        names = jks_file.JksNames(
            name, f"{self._prefix}keystore.password", f"{self._prefix}key.password"
        )
        return jks_file.keys_and_chains(names, data, tls.keystore_password, tls.key_password)

    def _keys_of_pkcs12(self, name: str, data: bytes) -> _KeysAndLeftAside:
        """Return the keys of a PKCS12 file, and the names of those that are never used. Raises
        ConfigError, also if `ssl.key.password` is not the file's password."""
        from broker.security.tls import pkcs12_file

        tls, password_name = self._tls, f"{self._prefix}keystore.password"
        if tls.key_password not in (None, tls.keystore_password):
            raise ConfigError(
                f"{self._prefix}key.password",
                f"{self._prefix}key.password must be that of {password_name}, or not be set: a "
                "PKCS12 file has one password for all.",
            )
        return pkcs12_file.keys_and_chains((name, password_name), data, tls.keystore_password)


class _TruststoreLoader:
    def __init__(self, prefix: str, tls: TlsSettings) -> None:
        """Begin without reading a file; `prefix` ends with `ssl.`. Raises ConfigError for an
        unknown type of store."""
        self._prefix = prefix
        self._tls = tls
        self._type = _checked_type(f"{prefix}truststore.type", tls.truststore_type)

    def load(self) -> tuple[bytes, ...] | None:
        """Return the trusted certificates, or None if no store is set.

        Raises ConfigError if it is wrong.
        """
        tls, prefix = self._tls, self._prefix
        self._check()
        if tls.truststore_certificates is not None:
            return _certificates(f"{prefix}truststore.certificates", tls.truststore_certificates)
        if tls.truststore_location is None:
            return None
        name = f"{prefix}truststore.location"
        data = _read_store(name, tls.truststore_location)
        if self._type == "PEM":
            return _certificates(name, _pem_text(name, data))
        _check_is_binary(name, f"{prefix}truststore.type", tls.truststore_location, data)
        password_name = f"{prefix}truststore.password"
        if data.startswith(jks_file.MAGIC):
            names = jks_file.JksNames(name, password_name, f"{prefix}key.password")
            return jks_file.trusted(names, data, tls.truststore_password)
        from broker.security.tls import pkcs12_file

        return pkcs12_file.trusted((name, password_name), data, tls.truststore_password)

    def _check(self) -> None:
        """Raise ConfigError if the keys of the store contradict each other."""
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
                f"{prefix}truststore.password goes with PKCS12 and JKS; a PEM truststore has none.",
            )
        if tls.truststore_location is None:
            raise _needs(f"{prefix}truststore.password", f"{prefix}truststore.location")


def _both(key: str, other: str) -> ConfigError:
    """Return the error that two keys exclude each other."""
    return ConfigError(key, f"{key} and {other} are both set; set one of them.")


def _needs(key: str, other: str) -> ConfigError:
    """Return the error that `key` is set without `other`."""
    return ConfigError(other, f"{key} is set without {other}; set both.")


def _checked_type(name: str, value: str) -> str:
    """Return the type in upper case. Raises ConfigError if it is none of TYPES."""
    kind = value.upper()
    if kind not in TYPES:
        raise ConfigError.invalid(name, value, f"it is one of {', '.join(TYPES)}.")
    return kind


def _read_store(name: str, path: str) -> bytes:
    """Return a store's bytes.

    Raises ConfigError if it is unreadable, empty or above STORE_BYTES_MAX.
    """
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
    """Return the text of a PEM file. Raises ConfigError if it has no PEM block."""
    if b"-----BEGIN " not in data:
        kind = name.rpartition(".")[0] + ".type"
        raise ConfigError(name, f"{name} is no PEM file; is {kind} right?")
    return data.decode("utf-8", "replace")


def _certificates(name: str, text: str) -> tuple[bytes, ...]:
    """Return the certificates of a PEM text, as DER. Raises ConfigError if there are none, or a
    certificate is broken or in a form of OpenSSL's own."""
    if (unsupported := _OPENSSLS_OWN.search(text)) is not None:
        # An error even if plain certificates are beside it, so that none is silently ignored.
        raise ConfigError(
            name,
            f"{name} has a {unsupported[1]}, a form of OpenSSL's own. Write each as a plain "
            "certificate: openssl x509 -in OLD.pem -out NEW.pem",
        )
    blocks = _CERTIFICATE.findall(text)
    if not blocks:
        raise ConfigError(name, f"{name} has no certificate (-----BEGIN CERTIFICATE-----).")
    return tuple(_each(name, ssl.PEM_cert_to_DER_cert, blocks))


def _key_pem(kind: str, body: str) -> str:
    """Return a private key as PEM with the line ends that OpenSSL needs; in a configuration's value
    they may be blanks, or missing."""
    if ":" in body:
        # The older form of encryption, whose PEM has headers.
        lines = [line.strip() for line in body.strip().splitlines()]
    else:
        text = "".join(body.split())
        lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""))


def _each(name: str, read: Callable[[str], bytes], blocks: list[str]) -> list[bytes]:
    """Return what `read` makes of each block. Raises ConfigError if it rejects a block."""
    try:
        return [read(block) for block in blocks]
    except (binascii.Error, ValueError) as error:
        raise ConfigError(name, f"{name} has a certificate that is broken: {error}.") from None


def _check_is_binary(name: str, type_name: str, path: str, data: bytes) -> None:
    """Raise ConfigError, with what to do, if the data are JCEKS or PEM."""
    if data.startswith(_JCEKS_MAGIC):
        raise ConfigError.invalid(
            name,
            path,
            "it is a JCEKS file, which cannot be read here. Convert it: keytool -importkeystore "
            f"-srcstoretype JCEKS -srckeystore {shlex.quote(path)} "
            f"-destkeystore {shlex.quote(path + '.p12')} -deststoretype PKCS12",
        )
    if b"-----BEGIN " in data:
        raise ConfigError.invalid(name, path, f"it is a PEM file; set {type_name}=PEM.")
