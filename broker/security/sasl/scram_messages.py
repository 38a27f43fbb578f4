"""The four messages of SCRAM (RFC 5802): text ↔ their parts.

Owns the grammar. As in Java, a message has ASCII only, and a name has `=2C` and `=3D` for comma
and equals sign, in capitals. Never: what the parts mean, or a key.

Follows Kafka's `ScramMessages` and `ScramExtensions`.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from dataclasses import dataclass

MESSAGE_BYTES_MAX = 16_384
"""Of one message. What `sasl.server.max.receive.size` lets in would hold the event loop."""

# All of it possessive (`++`, `*+`): nothing is looked at twice, however a message goes on.
_NAME = rb"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_VALUE = rb"[\x01-\x2b\x2d-\x7f]++"
_PRINTABLE = rb"[\x21-\x2b\x2d-\x7e]++"
_BASE64 = rb"[A-Za-z0-9/+]*+={0,2}+"
_EXTENSIONS = rb"(?:,(?!p=)[A-Za-z]++=" + _VALUE + rb")*+"

# `y` and `p=` stand for channel binding, which no server of Kafka has; `m=` has to be refused.
_CLIENT_FIRST = re.compile(
    rb"(?P<gs2>n,(?:a=(?P<authorization_id>" + _NAME + rb"))?,)"
    rb"(?P<bare>n=(?P<name>" + _NAME + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"(?P<extensions>" + _EXTENSIONS + rb"))"
)
TOKEN_EXTENSION = ",tokenauth=true"
"""Of the client's first message: a delegation token logs in (KIP-48)."""
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
    """A message that is none."""


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """`n,,n=<name>,r=<nonce>`."""

    gs2: bytes
    """The header, which the final message repeats."""
    bare: bytes
    """All after the header; it is signed."""
    authorization_id: str
    """As it was sent, which for Kafka is not decoded; empty: none."""
    name: str
    nonce: str
    by_token: bool
    """By the extension `tokenauth=true` it is a delegation token (KIP-48) that logs in."""


@dataclass(frozen=True, slots=True)
class ClientFinal:
    """`c=<header>,r=<nonce>,p=<proof>`."""

    without_proof: bytes
    """It is signed."""
    channel: bytes
    nonce: str
    proof: bytes


@dataclass(frozen=True, slots=True)
class ServerFirst:
    """`r=<nonce>,s=<salt>,i=<iterations>`."""

    nonce: str
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class ServerFinal:
    """`v=<signature>`, or `e=<error>`."""

    error: str | None
    signature: bytes


def read_client_first(token: bytes) -> ClientFirst:
    """Raises MalformedScram."""
    found = _matched(_CLIENT_FIRST, token)
    return ClientFirst(
        found["gs2"],
        found["bare"],
        (found["authorization_id"] or b"").decode(),
        found["name"].decode().replace("=2C", ",").replace("=3D", "="),
        found["nonce"].decode(),
        _BY_TOKEN.search(found["extensions"]) is not None,
    )


def read_client_final(token: bytes) -> ClientFinal:
    """Raises MalformedScram."""
    found = _matched(_CLIENT_FINAL, token)
    return ClientFinal(
        found["without_proof"],
        _from_base64(found["channel"]),
        found["nonce"].decode(),
        _from_base64(found["proof"]),
    )


def read_server_first(token: bytes) -> ServerFirst:
    """Raises MalformedScram."""
    found = _matched(_SERVER_FIRST, token)
    return ServerFirst(
        found["nonce"].decode(), _from_base64(found["salt"]), int(found["iterations"])
    )


def read_server_final(token: bytes) -> ServerFinal:
    """Raises MalformedScram."""
    found = _matched(_SERVER_FINAL, token)
    error = found["error"]
    return ServerFinal(
        None if error is None else error.decode(), _from_base64(found["signature"] or b"")
    )


def written_name(name: str) -> str:
    """A name as it stands in a message."""
    return name.replace("=", "=3D").replace(",", "=2C")


def _matched(pattern: re.Pattern[bytes], token: bytes) -> re.Match[bytes]:
    found = None if len(token) > MESSAGE_BYTES_MAX else pattern.fullmatch(token)
    if found is None:
        raise MalformedScram(f"{len(token)} bytes that are no message of SCRAM")
    return found


def _from_base64(text: bytes) -> bytes:
    try:
        if len(text) % 4 == 0:
            return a2b_base64(text)
    except Base64Error:
        pass
    raise MalformedScram(f"{len(text)} bytes that are no base64")
