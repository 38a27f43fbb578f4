"""The four messages of SCRAM (RFC 5802), from bytes to their parts.

Owns the grammar. As in Java, a message is ASCII, and a name has `=2C` for a comma and `=3D` for an
equals sign, in capital letters. Never interprets the parts, and computes no key.

Follows Kafka's `ScramMessages` and `ScramExtensions`.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from dataclasses import dataclass

MESSAGE_BYTES_MAX = 16_384
"""The longest message that is parsed. One of `sasl.server.max.receive.size` bytes would block the
event loop for too long."""

# What may follow a repetition begins with a byte that the repetition excludes, so that the time for
# a wrong message grows only with its length. Possessive repetitions (`++`) would say so, but Python
# before 3.11.5 matches them wrongly (gh-106052).
_NAME = rb"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE = rb"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE = rb"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = rb"[A-Za-z0-9/+]*={0,2}"
_EXTENSIONS = rb"(?:,(?!p=)[A-Za-z]+=" + _VALUE + rb")*"

# `y` and `p=` mean channel binding, which Kafka does not have. RFC 5802 says to reject `m=`.
_CLIENT_FIRST = re.compile(
    rb"(?P<gs2>n,(?:a=(?P<authorization_id>" + _NAME + rb"))?,)"
    rb"(?P<bare>n=(?P<name>" + _NAME + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"(?P<extensions>" + _EXTENSIONS + rb"))"
)
TOKEN_EXTENSION = ",tokenauth=true"
"""The extension of the client's first message by which a delegation token logs in (KIP-48)."""
_BY_TOKEN = re.compile(rb",tokenauth=(?i:true)(?![^,])")
_CLIENT_FINAL = re.compile(
    rb"(?P<without_proof>c=(?P<channel>" + _BASE64 + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"" + _EXTENSIONS + rb"),p=(?P<proof>" + _BASE64 + rb")"
)
_SERVER_FIRST = re.compile(
    rb"r=(?P<nonce>" + _PRINTABLE + rb"),s=(?P<salt>" + _BASE64 + rb"),"
    rb"i=(?P<iterations>[0-9]{1,9})" + _EXTENSIONS
)
_SERVER_FINAL = re.compile(
    rb"(?:e=(?P<error>[\x01-\x2b\x2d-\x3c\x3e-\x7f]+)|v=(?P<signature>" + _BASE64 + rb"))"
    rb"" + _EXTENSIONS
)


class MalformedScram(ValueError):
    """Bytes that are no SCRAM message of the expected kind."""


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """The client's first message: `n,,n=<name>,r=<nonce>`."""

    gs2: bytes
    """The header, which the final message repeats."""
    bare: bytes
    """The bytes after the header, which the proofs sign."""
    authorization_id: str
    """The authorization id as it was sent, with its escapes, as in Kafka; empty: none."""
    name: str
    nonce: str
    by_token: bool
    """Whether a delegation token (KIP-48) logs in, by the extension `tokenauth=true`."""


@dataclass(frozen=True, slots=True)
class ClientFinal:
    """The client's final message: `c=<header>,r=<nonce>,p=<proof>`."""

    without_proof: bytes
    """The bytes before the proof, which the proofs sign."""
    channel: bytes
    nonce: str
    proof: bytes


@dataclass(frozen=True, slots=True)
class ServerFirst:
    """The server's first message: `r=<nonce>,s=<salt>,i=<iterations>`."""

    nonce: str
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class ServerFinal:
    """The server's final message: `v=<signature>`, or `e=<error>`."""

    error: str | None
    signature: bytes


def read_client_first(token: bytes) -> ClientFirst:
    """Parse a client's first message. Raises MalformedScram."""
    match = _matched(_CLIENT_FIRST, token)
    return ClientFirst(
        match["gs2"],
        match["bare"],
        (match["authorization_id"] or b"").decode(),
        match["name"].decode().replace("=2C", ",").replace("=3D", "="),
        match["nonce"].decode(),
        _BY_TOKEN.search(match["extensions"]) is not None,
    )


def read_client_final(token: bytes) -> ClientFinal:
    """Parse a client's final message. Raises MalformedScram."""
    match = _matched(_CLIENT_FINAL, token)
    return ClientFinal(
        match["without_proof"],
        _from_base64(match["channel"]),
        match["nonce"].decode(),
        _from_base64(match["proof"]),
    )


def read_server_first(token: bytes) -> ServerFirst:
    """Parse a server's first message. Raises MalformedScram."""
    match = _matched(_SERVER_FIRST, token)
    return ServerFirst(
        match["nonce"].decode(), _from_base64(match["salt"]), int(match["iterations"])
    )


def read_server_final(token: bytes) -> ServerFinal:
    """Parse a server's final message. Raises MalformedScram."""
    match = _matched(_SERVER_FINAL, token)
    error = match["error"]
    return ServerFinal(
        None if error is None else error.decode(), _from_base64(match["signature"] or b"")
    )


def written_name(name: str) -> str:
    """Return a name as it is written in a message, with its commas and equals signs escaped."""
    return name.replace("=", "=3D").replace(",", "=2C")


def _matched(pattern: re.Pattern[bytes], token: bytes) -> re.Match[bytes]:
    """Match a whole message. Raises MalformedScram if it does not match or is too long."""
    match = None if len(token) > MESSAGE_BYTES_MAX else pattern.fullmatch(token)
    if match is None:
        raise MalformedScram(f"{len(token)} bytes that are no message of SCRAM")
    return match


def _from_base64(text: bytes) -> bytes:
    """Decode base64 with its padding. Raises MalformedScram, whose text never shows the bytes."""
    try:
        if len(text) % 4 == 0:
            return a2b_base64(text)
    except Base64Error:
        pass
    raise MalformedScram(f"{len(text)} bytes that are no base64")
