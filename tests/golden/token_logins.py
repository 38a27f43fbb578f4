"""Logins by delegation token, and by what is none: raw frames, as in `sasl_cases`.

Each has a token of alice's of its own. `token_record` has them with Apache Kafka.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial

from protocol.messages.metadata import MetadataRequest
from tests.golden.sasl_talk import Scram, Talk
from tests.golden.token_cases import SHORT_MS, Token

REAUTH_MS = 3_000
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
ORDINARY = ("ordinary", "alice")
"""Users of SCRAM-SHA-256, with passwords."""
METADATA = MetadataRequest([])

Run = Callable[[Talk, Token, Callable[[Token], None]], None]
"""The last one ends a token."""


def _scram(
    talk: Talk,
    token: Token,
    _end: object,
    *,
    first: str = "n,,n={id},r=abc,tokenauth=true",
    password: str | None = None,
    mechanism: str = SHA_256,
    version: int | None = 2,
) -> None:
    talk.handshake(mechanism, 0 if version is None else 1)
    scram = Scram(talk, mechanism, version)
    message = first.format(id=token.token_id)
    if scram.first(message) is not None and scram.server_first:
        given = token.password if password is None else password
        header = ",".join([*message.split(",")[:2], ""])
        if scram.final(given, channel=b64encode(header.encode()).decode()) is not None:
            talk.request(METADATA, 12)
    talk.is_closed()


def _plain(talk: Talk, token: Token, _end: object) -> None:
    talk.handshake("PLAIN")
    talk.token(f"\0{token.token_id}\0{token.password}".encode())
    talk.is_closed()


def _removed_before(talk: Talk, token: Token, end: Callable[[Token], None]) -> None:
    end(token)
    _scram(talk, token, end)


def _removed_within(talk: Talk, token: Token, end: Callable[[Token], None]) -> None:
    talk.handshake(SHA_256)
    scram = Scram(talk, SHA_256)
    scram.first(f"n,,n={token.token_id},r=abc,tokenauth=true")
    end(token)
    scram.final(token.password)
    talk.request(METADATA, 12)
    talk.is_closed()


def _removed_after(talk: Talk, token: Token, end: Callable[[Token], None]) -> None:
    talk.handshake(SHA_256)
    scram = Scram(talk, SHA_256)
    scram.first(f"n,,n={token.token_id},r=abc,tokenauth=true")
    scram.final(token.password)
    end(token)
    talk.request(METADATA, 12)
    talk.is_closed()


def _expired(talk: Talk, token: Token, end: Callable[[Token], None]) -> None:
    talk.wait(SHORT_MS + 500)
    _scram(talk, token, end)


def _expires_after(talk: Talk, token: Token, _end: object) -> None:
    """The login ends with its token, though logins have no end here."""
    talk.handshake(SHA_256)
    scram = Scram(talk, SHA_256)
    scram.first(f"n,,n={token.token_id},r=abc,tokenauth=true")
    scram.final(token.password)
    talk.request(METADATA, 12)
    talk.wait(SHORT_MS + 500)
    talk.request(METADATA, 12)
    talk.is_closed()


def _logs_in(
    talk: Talk, name: str, password: str, extension: str = ",tokenauth=true", then_ms: int = 0
) -> None:
    talk.handshake(SHA_256)
    scram = Scram(talk, SHA_256)
    scram.first(f"n,,n={name},r=abc{extension}")
    if scram.server_first:
        scram.final(password)
        talk.request(METADATA, 12)
    if then_ms:
        talk.wait(then_ms)


def _again(talk: Talk, token: Token, _end: object) -> None:
    """By the same token."""
    _logs_in(talk, token.token_id, token.password, then_ms=1_200)
    _logs_in(talk, token.token_id, token.password)
    talk.is_closed()


def _again_as_another(talk: Talk, token: Token, _end: object) -> None:
    _logs_in(talk, token.token_id, token.password, then_ms=1_200)
    _logs_in(talk, "ordinary", "ordinary-secret", "")
    talk.is_closed()


def _again_by_password(talk: Talk, token: Token, _end: object) -> None:
    """Its owner, who came in by a token, goes on by the password."""
    _logs_in(talk, token.token_id, token.password, then_ms=1_200)
    _logs_in(talk, "alice", "alice-secret", "")
    talk.is_closed()


LOGINS: dict[str, tuple[str, int, Run]] = {
    "SCRAM-SHA-256": ("SASL", -1, _scram),
    "SCRAM-SHA-512": ("SASL", -1, partial(_scram, mechanism=SHA_512)),
    "v0": ("SASL", -1, partial(_scram, version=0)),
    "v1": ("SASL", -1, partial(_scram, version=1)),
    "bare tokens": ("SASL", -1, partial(_scram, version=None)),
    "in capitals": ("SASL", -1, partial(_scram, first="n,,n={id},r=abc,tokenauth=TRUE")),
    "wrong secret": ("SASL", -1, partial(_scram, password="no")),
    "wrong secret, SCRAM-SHA-512": ("SASL", -1, partial(_scram, password="no", mechanism=SHA_512)),
    "without the extension": ("SASL", -1, partial(_scram, first="n,,n={id},r=abc")),
    "the extension says no": ("SASL", -1, partial(_scram, first="n,,n={id},r=abc,tokenauth=false")),
    "an unknown id": ("SASL", -1, partial(_scram, first="n,,n=none,r=abc,tokenauth=true")),
    "the owner's name": ("SASL", -1, partial(_scram, first="n,,n=alice,r=abc,tokenauth=true")),
    "an ordinary user": (
        "SASL",
        -1,
        partial(_scram, first="n,,n=ordinary,r=abc,tokenauth=true", password="ordinary-secret"),
    ),
    "an ordinary user, as such": (
        "SASL",
        -1,
        partial(_scram, first="n,,n=ordinary,r=abc", password="ordinary-secret"),
    ),
    "its id as authorization id": (
        "SASL",
        -1,
        partial(
            _scram,
            first="n,a={id},n={id},r=abc,tokenauth=true",
        ),
    ),
    "other authorization id": (
        "SASL",
        -1,
        partial(_scram, first="n,a=bob,n={id},r=abc,tokenauth=true"),
    ),
    "the owner as authorization id": (
        "SASL",
        -1,
        partial(_scram, first="n,a=alice,n={id},r=abc,tokenauth=true"),
    ),
    "PLAIN": ("SASL", -1, _plain),
    "removed before": ("SASL", -1, _removed_before),
    "removed within": ("SASL", -1, _removed_within),
    "removed after": ("SASL", -1, _removed_after),
    "expired before": ("SASL", SHORT_MS, _expired),
    "expires after": ("SASL", SHORT_MS, _expires_after),
    "login that ends": ("REAUTH", -1, _scram),
    "login that ends with its token": ("REAUTH", SHORT_MS, _scram),
    "again": ("REAUTH", -1, _again),
    "again as another": ("REAUTH", -1, _again_as_another),
    "again by password": ("REAUTH", -1, _again_by_password),
}
"""Name → listener, life of its token (-1: as long as it may be), what is done."""
