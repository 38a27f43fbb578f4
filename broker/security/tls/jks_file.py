"""The reader of JKS files, Java's own format of keystores: keys and certificates from bytes.

Needs no library. Never opens a file, and reads no JCEKS. Its errors name the configuration key, and
no secret. It reads every length and count of a file against a limit and against the bytes that are
left.

Follows the files that Java's keytool writes with `-storetype JKS`. All numbers are big-endian:

- the magic FEEDFEED, the version (1 or 2), and the number of entries, 4 bytes each;
- for each entry, a tag of 4 bytes (1: key, 2: trusted certificate), the alias, and a time of
  8 bytes; then for a key its encrypted bytes and a counted chain of certificates, for a trusted
  certificate this certificate; in version 2 a certificate has the name of its type before it;
- SHA-1 of the password in UTF-16, the words "Mighty Aphrodite", and all bytes above.

A key is encrypted by a keystream: the SHA-1 of the password and the previous 20 bytes, from a salt.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from typing import NamedTuple

from broker.config.security_settings import Secret
from broker.security.tls.der import SEQUENCE, DerError, object_identifier, values
from broker.security.tls.key_and_chain import KeyAndChain
from ground.config_def import ConfigError

MAGIC = b"\xfe\xed\xfe\xed"

_KEY_ENTRY, _TRUSTED_ENTRY = 1, 2
_KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
_OCTET_STRING = 0x04
_DIGEST_BYTES = 20
_ENTRIES_MAX = 10_000
_CHAIN_MAX = 100
_KEY_BYTES_MAX = 64 << 10
_CERTIFICATE_BYTES_MAX = 1 << 20


class JksNames(NamedTuple):
    """The configuration keys of the file, of its password, and of its keys' password."""

    location: str
    password: str
    key_password: str


@dataclass(frozen=True, slots=True)
class _KeyEntry:
    alias: str
    encrypted: bytes
    chain: tuple[bytes, ...]


class _DamagedError(ValueError):
    """Bytes that are no JKS file. The text says what is wrong."""


def keys_and_chains(
    names: JksNames, data: bytes, password: Secret | None, key_password: Secret | None
) -> tuple[tuple[KeyAndChain, ...], tuple[str, ...]]:
    """Return the first private key of each type (RSA, EC, Ed25519), and for each other key a text
    that names it. Raises ConfigError.

    Without `key_password`, the keys have the file's password. As in Java, all keys must have it.
    """
    by_type: dict[str, KeyAndChain] = {}
    left_aside: list[str] = []
    for entry in _read_entries(names, data, password):
        if not isinstance(entry, _KeyEntry):
            continue
        kind, key_pem = _private_key(names, entry.encrypted, password, key_password)
        if not entry.chain:
            left_aside.append("a key without a certificate")
        elif kind in by_type:
            left_aside.append(entry.alias)
        else:
            by_type[kind] = KeyAndChain(key_pem, entry.chain)
    if not by_type:
        raise ConfigError(
            names.location,
            f"{names.location} has no private key with its certificate; add one with keytool.",
        )
    return tuple(by_type.values()), tuple(left_aside)


def trusted(names: JksNames, data: bytes, password: Secret | None) -> tuple[bytes, ...]:
    """Return the certificates of a truststore, as DER. Raises ConfigError, also if it has none.

    As in Java, the own certificate of each key is trusted too, and without a password the file's
    digest is not checked.
    """
    certificates: list[bytes] = []
    for entry in _read_entries(names, data, password):
        certificates += entry.chain[:1] if isinstance(entry, _KeyEntry) else (entry,)
    if not certificates:
        raise ConfigError(
            names.location,
            f"{names.location} has no certificate; add one with keytool -importcert.",
        )
    return tuple(dict.fromkeys(certificates))


def _read_entries(names: JksNames, data: bytes, password: Secret | None) -> list[_KeyEntry | bytes]:
    """Return the keys and the trusted certificates, after a check of the digest if there is a
    password. Raises ConfigError if the file is damaged or the password wrong."""
    reader = _Reader(data)
    try:
        entries = list(_entries(reader))
        end = reader.at
        digest = None if password is None else reader.take(_DIGEST_BYTES, "digest")
    except _DamagedError as error:
        raise ConfigError(names.location, _damaged(names, str(error))) from None
    if password is not None and digest != _sha1(password, b"Mighty Aphrodite", data[:end]):
        raise ConfigError(
            names.password,
            f"{names.location} cannot be opened: {names.password} is wrong, or the file is "
            "damaged; keytool -list tells which.",
        )
    return entries


def _damaged(names: JksNames, reason: str) -> str:
    return f"{names.location} is a damaged JKS file: {reason}. Replace it with an intact copy."


def _entries(reader: _Reader) -> Iterator[_KeyEntry | bytes]:
    """Yield each key and each trusted certificate. Raises _DamagedError."""
    if reader.take(len(MAGIC), "magic number") != MAGIC:
        raise _DamagedError("the magic number FEEDFEED is missing")
    version = reader.number("version")
    if version not in (1, 2):
        raise _DamagedError(f"its version is {version}, not 1 or 2")
    for _ in range(reader.number("number of entries", _ENTRIES_MAX)):
        tag = reader.number("tag of an entry")
        alias = reader.text("alias")
        reader.take(8, "time of an entry")
        if tag == _KEY_ENTRY:
            encrypted = reader.take(reader.number("length of a key", _KEY_BYTES_MAX), "key")
            length = reader.number("length of a chain", _CHAIN_MAX)
            chain = tuple(_certificate(reader, version) for _ in range(length))
            yield _KeyEntry(alias, encrypted, chain)
        elif tag == _TRUSTED_ENTRY:
            yield _certificate(reader, version)
        else:
            raise _DamagedError(f"an entry has the tag {tag}, not 1 or 2")


def _certificate(reader: _Reader, version: int) -> bytes:
    """Return the next certificate, as DER. Raises _DamagedError."""
    if version == 2 and reader.text("type of a certificate") not in ("X.509", "X509"):
        raise _DamagedError("a certificate has another type than X.509")
    length = reader.number("length of a certificate", _CERTIFICATE_BYTES_MAX)
    return reader.take(length, "certificate")


class _Reader:
    """The bytes of a file, read from the front. Its methods raise _DamagedError at the end of the
    bytes; the messages name what is read by the parameter `what`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int, what: str) -> bytes:
        """Return the next `count` bytes."""
        end = self.at + count
        if end > len(self._data):
            raise _DamagedError(f"it ends within the {what}")
        part = self._data[self.at : end]
        self.at = end
        return part

    def number(self, what: str, limit: int = 0xFFFFFFFF) -> int:
        """Return the next 4 bytes as a number of at most `limit`."""
        number = int.from_bytes(self.take(4, what), "big")
        if number > limit:
            raise _DamagedError(f"the {what} is {number}, more than {limit}")
        return number

    def text(self, what: str) -> str:
        """Return the next text, which has its length in 2 bytes before it."""
        length = int.from_bytes(self.take(2, what), "big")
        return self.take(length, what).decode("utf-8", "replace")


def _private_key(
    names: JksNames, encrypted: bytes, password: Secret | None, key_password: Secret | None
) -> tuple[str, str]:
    """Return the type of a key, as an object identifier, and the key as PEM.

    Raises ConfigError if its password is wrong or its form unknown.
    """
    try:
        protector, octets = values(encrypted)[0].items(SEQUENCE)
        algorithm = object_identifier(protector.items(SEQUENCE)[0])
    except (DerError, IndexError, ValueError):
        raise ConfigError(names.location, _damaged(names, "a key is not DER")) from None
    if algorithm != _KEY_PROTECTOR or octets.tag != _OCTET_STRING:
        raise ConfigError(names.location, _damaged(names, "a key is encrypted in no form of JKS"))
    secret = password if key_password is None else key_password
    pkcs8 = None if secret is None else _decrypted(octets.content, secret)
    if pkcs8 is None:
        hint = (
            f"a key has another password than the file: set {names.key_password}."
            if key_password is None
            else f"{names.key_password} is wrong: it is the password of all keys in this file."
        )
        raise ConfigError(names.key_password, f"{names.location} has an encrypted key: {hint}")
    try:
        _, kind, *_ = values(pkcs8)[0].items(SEQUENCE)
        return object_identifier(kind.items(SEQUENCE)[0]), _pem(pkcs8)
    except (DerError, IndexError, ValueError):
        raise ConfigError(names.location, _damaged(names, "a key is not PKCS8")) from None


def _decrypted(protected: bytes, password: Secret) -> bytes | None:
    """Return the key inside a salt, encrypted bytes and a digest; None if the password is wrong."""
    salt, digest = protected[:_DIGEST_BYTES], protected[-_DIGEST_BYTES:]
    encrypted = protected[_DIGEST_BYTES:-_DIGEST_BYTES]
    stream = bytearray()
    block = salt
    while len(stream) < len(encrypted):
        block = _sha1(password, block)
        stream += block
    key = bytes(byte ^ mask for byte, mask in zip(encrypted, stream, strict=False))
    return key if _sha1(password, key) == digest else None


def _sha1(password: Secret, *parts: bytes) -> bytes:
    """Return the SHA-1 of the password in UTF-16 and the parts."""
    digest = sha1(password.value.encode("utf-16-be", "surrogatepass"), usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _pem(pkcs8: bytes) -> str:
    """Return an unencrypted private key as PEM."""
    lines = [
        binascii.b2a_base64(pkcs8[at : at + 48], newline=False).decode()
        for at in range(0, len(pkcs8), 48)
    ]
    return "\n".join(("-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""))
