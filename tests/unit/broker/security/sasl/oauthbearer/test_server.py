"""The server half of OAUTHBEARER, beside what Apache Kafka answered to the same messages."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.security_settings import OAuthSettings, Secret
from broker.security.sasl.oauthbearer.jwks import KeySet
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken, TokenRefused
from broker.security.sasl.oauthbearer.jwt_validator import JwtValidator, UnknownKey
from broker.security.sasl.oauthbearer.server import (
    MESSAGE_BYTES_MAX,
    OAuthBearerServer,
    SignedTokens,
    TokenJudge,
)
from broker.security.sasl.oauthbearer.unsecured_tokens import UnsecuredTokens
from broker.security.sasl.server_mechanism import SaslRefused
from tests.golden.oauth_cases import AUDIENCE, GO_ON, ISSUER, RECORDED, bare

# Where Ottla refuses what Apache Kafka takes, or answers where Kafka's own exception cuts the
# connection, and why. Nothing that Kafka refuses is taken.
STRICTER = {
    "alg HS256 with a secret of the set": "who may check a signature could also make one",
    "key with a condition: rs512": "the issuer means the key for RS512 alone",
    "extension named auth": "auth is no name of an extension, whatever it holds",
    "token with a tilde": "that is not base64 of URLs",
    "refused, then a good token": "one connection, one token",
    "refused, then a bad token": "one connection, one token",
    "unsecured claims: sub null": "it is no name",
    "unsecured claims: sub a truth": "it is no name",
    "unsecured claims: scope a list of numbers": "they are no scopes",
    "unsecured claims: scope an object": "it is no scope",
    "claims: scope a list of numbers": "cut by Kafka",
    "claims: exp huge": "cut by Kafka",
    "unsecured claims: exp huge": "cut by Kafka",
    "unsecured claims: exp beyond 64 bits": "cut by Kafka",
    "scheme Basic": "cut by Kafka",
}
# A date beyond the year 9999 makes Kafka cut the connection. It is a date.
TAKEN = ("claims: exp 1e3 in the exponent", "unsecured claims: exp 1e3 in the exponent")

ALL = json.loads(RECORDED.read_text())
STRICT = OAuthSettings(
    expected_audience=("other", AUDIENCE),
    expected_issuer=ISSUER,
    scope_claim_name="scp",
    sub_claim_name="user",
    clock_skew_s=0,
)
SCOPED = {
    "unsecuredValidatorPrincipalClaimName": "user",
    "unsecuredValidatorScopeClaimName": "scp",
    "unsecuredValidatorRequiredScope": "kafka other",
    "unsecuredValidatorAllowableClockSkewMs": "30000",
}
USUAL = (
    "Authentication failed during authentication due to invalid credentials "
    "with SASL mechanism OAUTHBEARER"
)


class Signed:
    """Judges by keys that stay."""

    def __init__(self, jwks: Any, settings: OAuthSettings) -> None:
        self._keys = KeySet.parse(json.dumps(jwks).encode())
        self._validator = JwtValidator(settings)

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        return self._validator.validate(token, self._keys, now_ms)


@pytest.fixture(scope="module")
def judges() -> dict[str, Any]:
    options = {name: Secret(value) for name, value in SCOPED.items()}
    return {
        "file": Signed(ALL["jwks"], OAuthSettings()),
        "bare": Signed(bare(ALL["jwks"]), OAuthSettings()),
        "strict": Signed(ALL["jwks"], STRICT),
        "addressed": Signed(ALL["jwks"], OAuthSettings(expected_audience=(AUDIENCE,))),
        "issued": Signed(ALL["jwks"], OAuthSettings(expected_issuer=ISSUER)),
        "unsecured": UnsecuredTokens("sasl.jaas.config", {}),
        "scoped": UnsecuredTokens("sasl.jaas.config", options),
    }


def answers(judge: TokenJudge, messages: list[bytes], now_ms: int) -> list[Any]:
    """[error code, text, challenge, lifetime] of each message, as a broker would answer."""
    server = OAuthBearerServer(judge)
    got: list[Any] = []
    for message in messages:
        try:
            challenge = server.evaluate(message, now_ms)
        except SaslRefused as refused:
            return [*got, [58, refused.text or USUAL, "", 0]]
        lifetime = max(0, (server.expires_at_ms or 0) - now_ms) if server.complete else 0
        got.append([0, "", challenge.decode(), lifetime])
        if server.complete:
            break
    return got


@pytest.mark.parametrize("case", ALL["cases"], ids=lambda case: case["name"])
def test_it_answers_as_apache_kafka(case: Any, judges: dict[str, Any]) -> None:
    messages = [case["message"].encode("latin-1"), case["second"].encode("latin-1")]
    got = answers(judges[case["listener"]], messages, case["now_ms"])
    wanted = case["answers"]
    if case["name"] in STRICTER:
        assert wanted[-1] == "ConnectionError" or wanted[-1][0] == 0
        assert got[-1][0] == 58
    elif case["name"] in TAKEN:
        assert wanted == ["ConnectionError"]
        assert got[-1][:3] == [0, "", ""]
    else:
        assert [one[:3] for one in got] == [one[:3] for one in wanted]
        for ours, theirs in zip(got, wanted, strict=True):
            # Kafka counted from when it looked, a little after the message was sent.
            assert ours[3] == pytest.approx(theirs[3], abs=1000)


def test_every_difference_is_one_that_was_recorded() -> None:
    assert {*STRICTER, *TAKEN} <= {case["name"] for case in ALL["cases"]}


class Says:
    """A judge of one mind."""

    def __init__(self, verdict: AcceptedToken | TokenRefused) -> None:
        self._verdict = verdict
        self.heard: list[str] = []

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        self.heard.append(token)
        if isinstance(self._verdict, TokenRefused):
            raise self._verdict
        return self._verdict

    def start(self, blocking: Any) -> None: ...

    def close(self) -> None: ...


MESSAGE = b"n,,\x01auth=Bearer abc.def.ghi\x01\x01"


def test_a_token_that_is_taken_ends_the_login() -> None:
    judge = Says(AcceptedToken("alice", 5000))
    server = OAuthBearerServer(judge)
    assert not server.complete
    assert server.evaluate(MESSAGE, 0) == b""
    assert server.complete
    assert (server.principal_name, server.expires_at_ms) == ("alice", 5000)
    assert judge.heard == ["abc.def.ghi"]


@pytest.mark.parametrize(("more", "taken"), [(0, True), (1, False)])
def test_a_message_has_a_limit(more: int, taken: bool) -> None:
    start = b"n,,\x01auth=Bearer a.b.c\x01x="
    message = start + b"y" * (MESSAGE_BYTES_MAX - len(start) - 2 + more) + b"\x01\x01"
    got = answers(Says(AcceptedToken("alice", 5000)), [message], 0)
    assert got == [[0, "", "", 5000]] if taken else got == [[58, USUAL, "", 0]]


def test_a_refusal_takes_two_steps_and_its_reason_is_for_the_log_alone() -> None:
    server = OAuthBearerServer(Says(TokenRefused("the token expired 5 s ago")))
    assert server.evaluate(MESSAGE, 0) == b'{"status":"invalid_token"}'
    assert not server.complete
    with pytest.raises(SaslRefused) as refused:
        server.evaluate(GO_ON, 0)
    assert refused.value.text == '{"status":"invalid_token"}'
    assert refused.value.reason == "the token expired 5 s ago"


def test_a_missing_scope_is_named() -> None:
    server = OAuthBearerServer(Says(TokenRefused("…", ('a"b', "c"))))
    told = server.evaluate(MESSAGE, 0)
    assert json.loads(told) == {"status": "insufficient_scope", "scope": '[a"b, c]'}


def test_an_authorization_id_with_a_line_end_makes_no_line_in_the_log() -> None:
    server = OAuthBearerServer(Says(AcceptedToken("alice", 5000)))
    with pytest.raises(SaslRefused) as refused:
        server.evaluate(b"n,a=x\ny,\x01auth=Bearer a.b.c\x01\x01", 0)
    assert "\n" not in refused.value.text
    assert not server.complete


class MissedKeys:
    """Keys that note when they are missed."""

    def __init__(self, keys: KeySet) -> None:
        self.keys = keys
        self.times = 0

    def refresh_for_unknown_key(self) -> None:
        self.times += 1


@pytest.mark.parametrize(("name", "times"), [("kid unknown", 1), ("alg RS256", 0), ("alg none", 0)])
def test_an_unknown_key_has_the_keys_read_again(name: str, times: int) -> None:
    keys: Any = MissedKeys(KeySet.parse(json.dumps(ALL["jwks"]).encode()))
    tokens = SignedTokens(JwtValidator(OAuthSettings()), keys)
    (case,) = [one for one in ALL["cases"] if one["name"] == name]
    answers(tokens, [case["message"].encode("latin-1")], case["now_ms"])
    assert keys.times == times
    assert issubclass(UnknownKey, TokenRefused)


def damages() -> list[Callable[[random.Random, bytearray], None]]:
    def flip(chance: random.Random, data: bytearray) -> None:
        data[chance.randrange(len(data))] = chance.randrange(256)

    def cut(chance: random.Random, data: bytearray) -> None:
        del data[chance.randrange(len(data)) :]

    def repeat(chance: random.Random, data: bytearray) -> None:
        start = chance.randrange(len(data))
        data[start:start] = data[start : start + 50] * chance.randrange(20)

    return [flip, cut, repeat]


def test_garbage_raises_nothing_but_a_refusal(judges: dict[str, Any]) -> None:
    chance = random.Random(35)
    for case in ALL["cases"]:
        judge = judges[case["listener"]]
        for _ in range(10):
            data = bytearray(case["message"].encode("latin-1")) or bytearray(b"x")
            for _ in range(chance.randrange(1, 4)):
                if data:
                    chance.choice(damages())(chance, data)
            for second in (GO_ON, bytes(data)):
                answers(judge, [bytes(data), second], case["now_ms"])


@pytest.mark.parametrize("size", [0, 1, 2, 100, 65_536, 524_288])
@pytest.mark.parametrize("filler", ["\0", "\x01", "a", ".", "=", "a=b\x01", "[", "{", "eyJ", "é"])
def test_messages_of_every_size_are_refused(size: int, filler: str, judges: dict[str, Any]) -> None:
    text = (filler * size)[:size]
    for message in (
        text.encode(),
        f"n,,\x01auth=Bearer {text}\x01\x01".encode(),
        f"n,,\x01auth=Bearer a.{text}.b\x01\x01".encode(),
        f"n,,\x01auth=Bearer {text}.a.b\x01\x01".encode(),
        f"n,,\x01{text}auth=Bearer a.b.c\x01\x01".encode(),
        f"n,a={text},\x01auth=Bearer a.b.c\x01\x01".encode(),
    ):
        for judge in judges.values():
            got = answers(judge, [message, GO_ON], 0)
            assert got[-1][0] == 58
