"""Delegation tokens: requests and logins, as Apache Kafka answered them.

`python -m tests.golden.token_record` records `token_answers_kafka.json` anew from real
brokers. The same requests go to Ottla in `tests/unit/broker/apis/test_delegation_tokens_kafka.py`,
the logins in `tests/unit/broker/security/sasl/test_token_logins_kafka.py`.

Ids and secrets of tokens are new each time, and so is the time: an answer is kept with the name of
the case that made the token in place of its id and HMAC, and times as minutes from then on.
The requests of a cluster build on each other: order matters.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from protocol.message import as_dict
from protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

RECORDED = Path(__file__).parent / "token_answers_kafka.json"

SECRET_KEY = "a key for tokens"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
ROUNDED_MS = 10 * MINUTE_MS
"""Times are kept so: a recording takes its minutes."""
EXPIRY_MS = 4 * HOUR_MS
MAX_LIFETIME_MS = 24 * HOUR_MS
SHORT_MS = 1_500
"""Of a token that is to expire while nobody removes it."""

SUPER_USER = "admin"
USERS = (SUPER_USER, "alice", "bob", "carol", "dave", "erin", "mallory")
ON_TOKEN, ON_USER = 6, 7
DESCRIBE, CREATE_TOKENS, DESCRIBE_TOKENS = 8, 13, 14
ACLS = (
    ("User:erin", CREATE_TOKENS, ON_USER, "User:bob"),
    ("User:carol", DESCRIBE_TOKENS, ON_USER, "User:alice"),
    ("User:dave", DESCRIBE, ON_TOKEN, "*"),
)
"""Principal, operation, resource type, name; all of them allow."""

DISABLED = "disabled"
"""A cluster without a key for tokens."""
OPEN = "open"
"""One with a key and without an authorizer, whose controller's listener is PLAINTEXT."""
JUDGED = "judged"
"""One with a key and ACLs, whose controller's listener is SASL."""


class Token(NamedTuple):
    """As the answer to a CreateDelegationToken had it."""

    token_id: str
    hmac: bytes

    @property
    def password(self) -> str:
        """What its holder logs in with."""
        return b64encode(self.hmac).decode()


Tokens = Mapping[str, Token]
"""By the case that made it."""


class Case(NamedTuple):
    """One request."""

    name: str
    who: str
    """A user, who logs in by PLAIN; with ` by token <case>` behind, by that token; else
    `anonymous` on the PLAINTEXT listener, `tls` without a certificate, `certificate` with one."""
    request: Callable[[Tokens], Any]
    version: int
    at_controller: bool = False
    """Asked there and not at the broker."""


class Pause(NamedTuple):
    """Time goes by."""

    ms: int


Step = Case | Pause


def _create(
    *renewers: str | tuple[str, str],
    life_ms: int = -1,
    owner: str | None = None,
    kind: str | None = "User",
) -> Callable[[Tokens], Any]:
    """Without an owner it is for who asks."""
    pairs = [("User", one) if isinstance(one, str) else one for one in renewers]
    asked = CreateDelegationTokenRequest(
        None if owner is None else kind,
        owner,
        [CreatableRenewers(*pair) for pair in pairs],
        life_ms,
    )
    return lambda _tokens: asked


def _renew(token: str, period_ms: int = -1) -> Callable[[Tokens], Any]:
    return lambda tokens: RenewDelegationTokenRequest(_hmac(tokens, token), period_ms)


def _expire(token: str, period_ms: int = -1) -> Callable[[Tokens], Any]:
    return lambda tokens: ExpireDelegationTokenRequest(_hmac(tokens, token), period_ms)


def _hmac(tokens: Tokens, name: str) -> bytes:
    return tokens[name].hmac if name in tokens else name.encode()


def _describe(*owners: str | tuple[str, str], everybody: bool = False) -> Callable[[Tokens], Any]:
    pairs = [("User", one) if isinstance(one, str) else one for one in owners]
    named = None if everybody else [DescribeDelegationTokenOwner(*pair) for pair in pairs]
    return lambda _tokens: DescribeDelegationTokenRequest(named)


ALL = _describe(everybody=True)


def cases() -> dict[str, list[Step]]:
    """By the cluster that is asked."""
    return {DISABLED: _disabled(), OPEN: _open(), JUDGED: _judged()}


def _disabled() -> list[Step]:
    asked: list[tuple[str, Callable[[Tokens], Any], int]] = [
        ("create", _create("bob"), 3),
        ("create for bob", _create(owner="bob"), 3),
        ("create, no user renews", _create(("Group", "g")), 3),
        ("create v1", _create(), 1),
        ("renew", _renew("none"), 2),
        ("expire", _expire("none"), 2),
        ("describe", ALL, 3),
        ("describe nobody's", _describe(), 3),
    ]
    return [
        Case(f"{name} as {who}{' at the controller' if there else ''}", who, ask, version, there)
        for there in (False, True)
        for who in ("alice", "anonymous")
        for name, ask, version in asked
        if not (there and who == "alice")
    ]


def _open() -> list[Step]:
    return [
        Case("alice's", "alice", _create("carol"), 3),
        Case("bob's by alice", "alice", _create(owner="bob"), 3),
        Case("anonymous", "anonymous", _create(), 3),
        Case("anonymous for bob", "anonymous", _create(owner="bob"), 3),
        Case("alice renews what she asked for", "alice", _renew("bob's by alice"), 2),
        Case("mallory sees all", "mallory", ALL, 3),
        Case("mallory asks for bob's", "mallory", _describe("bob"), 3),
        Case("anonymous describes", "anonymous", ALL, 3),
        Case("anonymous creates at the controller", "anonymous", _create("bob"), 3, True),
        Case("anonymous creates there for bob", "anonymous", _create(owner="bob"), 3, True),
        Case("anonymous renews there", "anonymous", _renew("alice's"), 2, True),
        Case("anonymous expires there", "anonymous", _expire("alice's", HOUR_MS), 2, True),
        Case("anonymous describes there", "anonymous", ALL, 3, True),
    ]


def _judged() -> list[Step]:
    return [
        *_made(),
        *_seen(),
        *_not_allowed(),
        *_renewed(),
        *_ended(),
        *_asked_at_the_controller(),
    ]


def _made() -> list[Step]:
    both = ("bob", "carol")
    return [
        Case("v3", "alice", _create("bob"), 3),
        Case("v2", "alice", _create(*both), 2),
        Case("v1", "alice", _create(), 1),
        Case("no life given", "alice", _create(life_ms=0), 3),
        Case("a negative life", "alice", _create(life_ms=-5), 3),
        Case("an hour", "alice", _create(life_ms=HOUR_MS), 3),
        Case("ten hours", "alice", _create(life_ms=10 * HOUR_MS), 3),
        Case("a year", "alice", _create(life_ms=365 * 24 * HOUR_MS), 3),
        Case("the longest life", "alice", _create(life_ms=2**63 - 1), 3),
        Case("renewed by a group", "alice", _create("bob", ("Group", "g")), 3),
        Case("renewed by a user in small letters", "alice", _create(("user", "bob")), 3),
        Case("renewed by nobody", "alice", _create(("User", "")), 3),
        Case("renewed twice by one", "alice", _create("bob", "bob"), 3),
        Case("renewed by its owner", "alice", _create("alice"), 3),
        Case("alice names herself", "alice", _create(owner="alice"), 3),
        Case("an empty owner", "alice", _create(owner=""), 3),
        Case("an owner without a kind", "alice", _create(owner="alice", kind=None), 3),
        Case("an owner of an empty kind", "alice", _create(owner="alice", kind=""), 3),
        Case("a group's", "alice", _create(owner="g", kind="Group"), 3),
        Case("bob's by mallory", "mallory", _create(owner="bob"), 3),
        Case("bob's by mallory, renewed by a group", "mallory",
             _create(("Group", "g"), owner="bob"), 3),
        Case("bob's by erin", "erin", _create("dave", owner="bob"), 3),
        Case("bob's by erin, v2", "erin", _create(owner="bob"), 2),
        Case("a group's by admin", "admin", _create(owner="g", kind="Group"), 3),
        Case("bob's by admin", "admin", _create(owner="bob"), 3),
        Case("with a certificate", "certificate", _create("bob"), 3),
    ]  # fmt: skip


def _seen() -> list[Step]:
    steps: list[Step] = [
        Case(f"{who} describes all", who, ALL, 3)
        for who in ("alice", "bob", "carol", "dave", "erin", "mallory", "admin", "certificate")
    ]
    for version in (1, 2):
        steps.append(Case(f"erin describes all v{version}", "erin", ALL, version))
    owners: list[tuple[str, ...]] = [(), ("bob",), ("alice",), ("erin",), ("bob", "carol"), ("no",)]
    for who in ("alice", "bob", "erin", "carol", "admin", "mallory"):
        steps += [
            Case(f"{who} describes {' and '.join(names) or 'nobody'}'s", who, _describe(*names), 3)
            for names in owners
        ]
    steps.append(Case("admin describes a group's", "admin", _describe(("Group", "g")), 3))
    steps.append(Case("admin describes bob's twice", "admin", _describe("bob", "bob"), 3))
    return steps


def _not_allowed() -> list[Step]:
    asked: list[tuple[str, Callable[[Tokens], Any], int]] = [
        ("create", _create("bob"), 3),
        ("create v1", _create("bob"), 1),
        ("create for bob", _create(owner="bob"), 3),
        ("create, renewed by a group", _create(("Group", "g")), 3),
        ("renew", _renew("v3"), 2),
        ("renew what is not", _renew("none"), 2),
        ("expire", _expire("v3"), 2),
        ("describe", ALL, 3),
        ("describe nobody's", _describe(), 3),
    ]
    return [
        Case(f"{name} as {who}", who, ask, version)
        for who in ("anonymous", "tls", "alice by token v3", "erin by token bob's by erin")
        for name, ask, version in asked
    ]


def _renewed() -> list[Step]:
    far_ms = 2**63 - 1
    return [
        Case("renewed by default", "alice", _renew("v3"), 2),
        Case("renewed v1", "alice", _renew("v3"), 1),
        Case("renewed for an hour", "alice", _renew("v3", HOUR_MS), 2),
        Case("renewed for zero", "alice", _renew("v3", 0), 2),
        Case("renewed for a negative time", "alice", _renew("v3", -5), 2),
        Case("renewed for ten hours", "alice", _renew("v3", 10 * HOUR_MS), 2),
        Case("renewed for a year", "alice", _renew("v3", 365 * 24 * HOUR_MS), 2),
        Case("renewed for ever", "alice", _renew("v3", far_ms), 2),
        Case("a short one is renewed", "alice", _renew("an hour", 10 * HOUR_MS), 2),
        Case("renewed by its renewer", "bob", _renew("v3"), 2),
        Case("renewed by another", "carol", _renew("v3"), 2),
        Case("renewed by the super user", "admin", _renew("v3"), 2),
        Case("renewed by who asked for it", "erin", _renew("bob's by erin"), 2),
        Case("renewed by its owner, who did not ask", "bob", _renew("bob's by erin"), 2),
        Case("renewed, an unknown one", "alice", _renew("none"), 2),
        Case("renewed, an empty one", "alice", _renew(""), 2),
        Case("renewed with a certificate", "certificate", _renew("with a certificate"), 2),
    ]


def _ended() -> list[Step]:
    far_ms = 2**63 - 1
    return [
        Case("expires in an hour", "alice", _expire("v3", HOUR_MS), 2),
        Case("expires v1", "alice", _expire("v3", 2 * HOUR_MS), 1),
        Case("expires in a year", "alice", _expire("v3", 365 * 24 * HOUR_MS), 2),
        Case("expires never", "alice", _expire("v3", far_ms), 2),
        Case("expires, says its renewer", "bob", _expire("v3", HOUR_MS), 2),
        Case("expires, says another", "carol", _expire("v3", HOUR_MS), 2),
        Case("expires, says the super user", "admin", _expire("v3"), 2),
        Case("expires, says who asked for it", "erin", _expire("bob's by erin"), 2),
        Case("expires, an unknown one", "alice", _expire("none"), 2),
        Case("expires, an empty one", "alice", _expire(""), 2),
        Case("removed", "alice", _expire("v2"), 2),
        Case("removed again", "alice", _expire("v2"), 2),
        Case("renewed after it was removed", "alice", _renew("v2"), 2),
        Case("removed by its renewer", "dave", _expire("bob's by erin"), 2),
        Case("short", "alice", _create("bob", life_ms=SHORT_MS), 3),
        Case("expires now", "alice", _expire("an hour", 0), 2),
        Pause(2 * SHORT_MS),
        Case("renewed after it expired", "alice", _renew("short"), 2),
        Case("renewed after it expired by another", "mallory", _renew("short"), 2),
        Case("expires after it expired", "alice", _expire("short", HOUR_MS), 2),
        Case("renewed after it expired now", "alice", _renew("an hour"), 2),
        Case("what has expired is seen", "alice", _describe("alice"), 3),
        Case("removed after it expired", "alice", _expire("short"), 2),
        Case("removed after it expired now", "bob", _expire("an hour"), 2),
        Case("what is left", "alice", _describe("alice"), 3),
    ]


def _asked_at_the_controller() -> list[Step]:
    asked: list[tuple[str, str, Callable[[Tokens], Any], int]] = [
        ("there", "alice", _create("bob"), 3),
        ("there for bob", "alice", _create(owner="bob"), 3),
        ("there for bob by erin", "erin", _create(owner="bob"), 3),
        ("there, renewed by a group", "alice", _create(("Group", "g")), 3),
        ("renewed there", "bob", _renew("there"), 2),
        ("renewed there by another", "mallory", _renew("there"), 2),
        ("expires there", "alice", _expire("there", HOUR_MS), 2),
        ("described there", "erin", ALL, 3),
        ("nobody's described there", "admin", _describe(), 3),
    ]
    return [Case(name, who, ask, version, True) for name, who, ask, version in asked]


# --- answers as they are kept ---------------------------------------------------------------------


def made(request: Any, answer: Any) -> Token | None:
    """The token that was made by a request."""
    if not isinstance(request, CreateDelegationTokenRequest) or answer.error_code:
        return None
    return Token(answer.token_id, bytes(answer.hmac))


def comparable(answer: Any, tokens: Tokens, now_ms: float) -> Any:
    """As plain values; see the module. Tokens in the order of their names: Kafka's follows a hash
    map."""
    ids = {token.token_id: name for name, token in tokens.items()}
    hmacs = {token.hmac: name for name, token in tokens.items()}

    def told(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            fields = value.items()
            return {name: told(one, name) for name, one in fields if name != "throttle_time_ms"}
        if isinstance(value, list):
            return [told(one) for one in value]
        if isinstance(value, bytes | memoryview):
            data = bytes(value)
            return f"HMAC of {hmacs[data]}" if data in hmacs else data.hex()
        if field == "token_id" and value in ids:
            return f"id of {ids[value]}"
        if "timestamp" in field and value > 0:
            return f"{round((value - now_ms) / ROUNDED_MS) * ROUNDED_MS // MINUTE_MS} min"
        return value

    plain = told(as_dict(answer))
    if "tokens" in plain:
        plain["tokens"].sort(key=lambda token: token["token_id"])
    return plain
