"""What a broker answers to OAUTHBEARER: first messages with the answers of Apache Kafka.

`python -m tests.golden.oauth_cases` makes keys and tokens, sends them to a real broker (Java 17 and
the jars of `tests/java/pom.xml`; `cryptography`) and writes `oauth_answers_kafka.json`: the
public keys, and for each case the message, the time at which it was sent and the answers. The
private keys are thrown away. `tests/unit/broker/security/sasl/test_oauthbearer_as_kafka.py` gives
the same messages, at the same times, to Ottla's mechanism and compares.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.golden.oauth_issuer import Keys, base64url
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "oauth_answers_kafka.json"
AUDIENCE = "kafka"
ISSUER = "https://issuer.example/"
SPACE = "\x01"
GO_ON = b"\x01"
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
_VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"

_ANY_AUDIENCE = {"sasl.oauthbearer.allow.unverified.audience": "true"}
_ANY_ISSUER = {"sasl.oauthbearer.allow.unverified.issuer": "true"}
_AUDIENCE = {"sasl.oauthbearer.expected.audience": AUDIENCE}
_ISSUER = {"sasl.oauthbearer.expected.issuer": ISSUER}

# Listener, its JAAS options, its settings. "file" has the defaults and takes any audience and
# issuer, "bare" has a key without an id besides. "strict" asks for all that can be asked for.
# "addressed" asks for an audience alone, "issued" for an issuer. "unsecured" takes tokens that
# nobody signed, "scoped" those of them that have a scope.
LISTENERS: dict[str, tuple[str, dict[str, str]]] = {
    "file": ("", {**_ANY_AUDIENCE, **_ANY_ISSUER}),
    "addressed": ("", {**_AUDIENCE, **_ANY_AUDIENCE, **_ANY_ISSUER}),
    "issued": ("", {**_ISSUER, **_ANY_AUDIENCE, **_ANY_ISSUER}),
    "strict": (
        "",
        {
            "sasl.oauthbearer.expected.audience": f"other,{AUDIENCE}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.scope.claim.name": "scp",
            "sasl.oauthbearer.sub.claim.name": "user",
            "sasl.oauthbearer.clock.skew.seconds": "0",
        },
    ),
    "bare": ("", {**_ANY_AUDIENCE, **_ANY_ISSUER}),
    "unsecured": ("", {}),
    "scoped": (
        'unsecuredValidatorPrincipalClaimName="user" unsecuredValidatorScopeClaimName="scp" '
        'unsecuredValidatorRequiredScope="kafka other" '
        'unsecuredValidatorAllowableClockSkewMs="30000" unsecuredLoginStringClaim_sub="node"',
        {},
    ),
}

STARTS: dict[str, dict[str, str]] = {
    "nothing": {},
    "an audience": _AUDIENCE,
    "an issuer": _ISSUER,
    "an audience and an issuer": {**_AUDIENCE, **_ISSUER},
    "any audience": _ANY_AUDIENCE,
    "any issuer": _ANY_ISSUER,
    "any of both": {**_ANY_AUDIENCE, **_ANY_ISSUER},
    "an audience and any issuer": {**_AUDIENCE, **_ANY_ISSUER},
    "an issuer and any audience": {**_ISSUER, **_ANY_AUDIENCE},
    "an empty audience": {"sasl.oauthbearer.expected.audience": "", **_ISSUER},
    "an empty issuer": {"sasl.oauthbearer.expected.issuer": "", **_AUDIENCE},
}
"""Settings of a listener, of which some stop a broker's start."""


def first(token: str, header: str = "n,,", *pairs: str) -> bytes:
    """A client's first message."""
    parts = [header, f"auth=Bearer {token}", *pairs, "", ""]
    return SPACE.join(parts).encode("utf-8")


def good(now_s: float, **changed: Any) -> dict[str, Any]:
    """Claims that are taken; a changed one of None is left out."""
    claims = {"sub": "alice", "iat": now_s, "exp": now_s + 600, **changed}
    return {name: value for name, value in claims.items() if value is not None}


def signed_cases(keys: Keys, now: int) -> Iterator[tuple[str, bytes]]:
    """Algorithms, keys and headers."""
    claims = good(now)
    for alg in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
        yield f"alg {alg}", first(keys.token(claims, "rsa", alg))
    for alg, key in (("ES256", "p256"), ("ES384", "p384"), ("ES512", "p521")):
        yield f"alg {alg}", first(keys.token(claims, key, alg))
    yield "alg ES256 with a key of P-384", first(keys.token(claims, "p384", "ES256"))
    yield "alg ES256K", first(keys.token(claims, "k1", "ES256K"))
    yield "alg EdDSA", first(keys.token(claims, "ed", "EdDSA"))
    yield "alg none", first(keys.token(claims, made="none"))
    yield "alg None", first(keys.token(claims, "rsa", "RS256", alg="None"))
    yield "alg rs256", first(keys.token(claims, "rsa", "RS256", alg="rs256"))
    yield "alg HS256 with a secret of the set", first(keys.token(claims, "oct", "HS256"))
    yield "alg HS256 with an RSA key", first(keys.token(claims, "rsa", "HS256"))
    yield "alg missing", first(keys.token(claims, alg=None))
    yield "alg RS512 said, RS256 made", first(_renamed(keys, claims, "RS512"))
    yield "RSA key of 1024 bits", first(keys.token(claims, "weak"))
    yield "signature of another key", first(keys.token(claims, "foreign", kid="rsa"))
    yield "kid unknown", first(keys.token(claims, "foreign"))
    yield "kid missing", first(keys.token(claims, kid=None))
    yield "kid missing, key of the second", first(keys.token(claims, "second", kid=None))
    yield "kid missing, ES256", first(keys.token(claims, "p256", "ES256", kid=None))
    yield "kid missing, ES384", first(keys.token(claims, "p384", "ES384", kid=None))
    yield "kid a number", first(keys.token(claims, kid=5))
    yield "kid empty", first(keys.token(claims, kid=""))
    yield "kid of another type of key", first(keys.token(claims, "rsa", kid="p256"))
    for key in ("enc", "sig", "rs512", "ops"):
        yield f"key with a condition: {key}", first(keys.token(claims, key))
    yield "typ missing", first(keys.token(claims, typ=None))
    yield "typ at+jwt", first(keys.token(claims, typ="at+jwt"))
    yield "typ a number", first(keys.token(claims, typ=5))
    yield "crit of what is not known", first(keys.token(claims, crit=["x"], x=1))
    yield "crit empty", first(keys.token(claims, crit=[]))
    yield "b64 false", first(keys.token(claims, crit=["b64"], b64=False))
    yield "cty JWT", first(keys.token(claims, cty="JWT"))
    yield "zip", first(keys.token(claims, zip="DEF"))


def _renamed(keys: Keys, claims: Any, alg: str) -> str:
    head, rest = base64url(json.dumps({"alg": alg, "kid": "rsa"}).encode()), json.dumps(claims)
    signed = f"{head}.{base64url(rest.encode())}"
    return f"{signed}.{base64url(keys.sign('rsa', 'RS256', signed.encode()))}"


def claim_cases(now: int) -> Iterator[tuple[str, Any]]:
    """Claims, of signed and of unsecured tokens alike."""
    yield "good", good(now)
    for name in ("exp", "iat", "sub"):
        yield f"{name} missing", good(now, **{name: None})
        yield f"{name} null", {**good(now), name: None}
        yield f"{name} a list", good(now, **{name: ["x"]})
        yield f"{name} a truth", good(now, **{name: True})
        yield f"{name} empty", good(now, **{name: ""})
    yield "sub a number", good(now, sub=5)
    yield "sub blank", good(now, sub="  ")
    yield "sub with blanks around", good(now, sub=" alice ")
    yield "sub not ASCII", good(now, sub="älice")
    yield "sub with a comma", good(now, sub="a,b=c")
    yield "exp a text", good(now, exp=str(now + 600))
    yield "exp a fraction", good(now, exp=now + 600.5)
    yield "exp 1e3 in the exponent", good(now, exp=1e12)
    yield "exp huge", good(now, exp=10**18)
    yield "exp beyond 64 bits", good(now, exp=10**30)
    yield "exp negative", good(now, exp=-5)
    yield "exp 0", good(now, exp=0)
    yield "exp 10 s ago", good(now, iat=now - 700, exp=now - 10)
    yield "exp 40 s ago", good(now, iat=now - 700, exp=now - 40)
    yield "exp before iat", good(now, iat=now + 900)
    yield "iat in a minute", good(now, iat=now + 60)
    yield "iat in 10 s", good(now, iat=now + 10)
    yield "iat a text", good(now, iat=str(now))
    yield "iat a fraction", good(now, iat=now - 0.5)
    yield "iat negative", good(now, iat=-1)
    yield "iat years ago", good(now, iat=now - 10**8)
    yield "nbf a minute ago", good(now, nbf=now - 60)
    yield "nbf in 10 s", good(now, nbf=now + 10)
    yield "nbf in 40 s", good(now, nbf=now + 40)
    yield "nbf after exp", good(now, exp=now + 10, nbf=now + 20)
    yield "nbf a text", good(now, nbf="x")
    for shown, scope in (
        ("a text", "kafka"),
        ("two words", "kafka other"),
        ("empty", ""),
        ("blank", "  "),
        ("a list", ["kafka", "other"]),
        ("an empty list", []),
        ("a list with an empty one", ["kafka", ""]),
        ("a list with a twin", ["kafka", "kafka"]),
        ("a list of numbers", [1, 2]),
        ("a number", 5),
        ("an object", {"a": 1}),
    ):
        yield f"scope {shown}", good(now, scope=scope)
    for shown, audience in (("", "kafka"), (" list", ["kafka"]), (" number", 5), (" empty", [])):
        yield f"aud{shown}, not asked for", good(now, aud=audience)
    yield "iss, not asked for", good(now, iss=ISSUER)
    yield "iss a number", good(now, iss=5)
    yield "jti a number", good(now, jti=5)
    yield "claims a list", [1]
    yield "claims a number", 5
    yield "claims null", None
    yield "claims empty", {}


def strict_cases(now: int) -> Iterator[tuple[str, Any]]:
    """Audience, issuer, names of claims, no skew."""
    claims = {"user": "bob", "sub": "alice", "iat": now, "exp": now + 600}
    whole = {**claims, "aud": AUDIENCE, "iss": ISSUER, "scp": ["a", "b"]}
    yield "strict good", whole
    yield "strict aud list", {**whole, "aud": ["x", AUDIENCE]}
    yield "strict aud other of the setting", {**whole, "aud": "other"}
    yield "strict aud wrong", {**whole, "aud": "x"}
    yield "strict aud wrong list", {**whole, "aud": ["x", "y"]}
    yield "strict aud empty list", {**whole, "aud": []}
    yield "strict aud in capitals", {**whole, "aud": "KAFKA"}
    yield "strict aud missing", {**claims, "iss": ISSUER}
    yield "strict aud a number", {**whole, "aud": 5}
    yield "strict aud list with a number", {**whole, "aud": [5, AUDIENCE]}
    yield "strict iss wrong", {**whole, "iss": ISSUER + "x"}
    yield "strict iss missing", {**claims, "aud": AUDIENCE}
    yield "strict iss a list", {**whole, "iss": [ISSUER]}
    yield "strict user missing", {k: v for k, v in whole.items() if k != "user"}
    yield "strict sub missing", {k: v for k, v in whole.items() if k != "sub"}
    yield "strict user a number", {**whole, "user": 5}
    yield "strict user empty", {**whole, "user": ""}
    yield "strict scp a number", {**whole, "scp": 5}
    yield "strict scope a number", {**whole, "scope": 5}
    yield "strict exp now", {**whole, "exp": now}
    yield "strict exp 1 s ago", {**whole, "exp": now - 1}
    yield "strict nbf in 5 s", {**whole, "nbf": now + 5}


def addressed_cases(now: int) -> Iterator[tuple[str, Any]]:
    """Audience and issuer, where one of the two is asked for."""
    claims = good(now)
    for shown, changed in (
        ("none", {}),
        ("both", {"aud": AUDIENCE, "iss": ISSUER}),
        ("another audience", {"aud": "x", "iss": ISSUER}),
        ("another issuer", {"aud": AUDIENCE, "iss": ISSUER + "x"}),
        ("an audience alone", {"aud": [AUDIENCE]}),
        ("an issuer alone", {"iss": ISSUER}),
        ("numbers", {"aud": 5, "iss": 5}),
        ("an audience and a number", {"aud": AUDIENCE, "iss": 5}),
        ("an issuer and a number", {"aud": 5, "iss": ISSUER}),
        ("an issuer and a list with a number", {"aud": ["x", 5], "iss": ISSUER}),
        ("an issuer and null", {"aud": None, "iss": ISSUER}),
    ):
        yield shown, {**claims, **changed}


def scoped_cases(now: int) -> Iterator[tuple[str, Any]]:
    """Unsecured, with a required scope and names of claims."""
    claims = {"user": "bob", "exp": now + 600}
    yield "scoped good list", {**claims, "scp": ["kafka", "other", "third"]}
    yield "scoped good text", {**claims, "scp": "kafka other"}
    yield "scoped good, more blanks", {**claims, "scp": "  other   kafka "}
    yield "scoped one of two", {**claims, "scp": "kafka"}
    yield "scoped none", claims
    yield "scoped empty", {**claims, "scp": ""}
    yield "scoped other claim", {**claims, "scope": "kafka other"}
    yield "scoped a number", {**claims, "scp": 5}
    yield "scoped sub only", {"sub": "bob", "exp": now + 600, "scp": "kafka other"}
    yield "scoped exp 10 s ago", {**claims, "exp": now - 10, "scp": "kafka other"}
    yield "scoped exp 40 s ago", {**claims, "exp": now - 40, "scp": "kafka other"}
    yield "scoped iat in 10 s", {**claims, "iat": now + 10, "scp": "kafka other"}
    yield "scoped iat in 40 s", {**claims, "iat": now + 40, "scp": "kafka other"}


def message_cases(keys: Keys, now: int) -> Iterator[tuple[str, bytes]]:
    """The message around the token, and tokens that are none."""
    token = keys.token(good(now))
    yield "header y,,", first(token, "y,,")
    yield "header p=,,", first(token, "p=tls-unique,,")
    yield "header n,", first(token, "n,")
    yield "header empty", first(token, "")
    yield "header N,,", first(token, "N,,")
    yield "authzid of the token", first(token, "n,a=alice,")
    yield "authzid of another", first(token, "n,a=bob,")
    yield "authzid empty", first(token, "n,a=,")
    trimmed = keys.token(good(now, sub=" alice "))
    yield "authzid of a name with blanks around", first(trimmed, "n,a=alice,")
    yield "authzid with blanks around", first(trimmed, "n,a= alice ,")
    yield "authzid in capitals", first(token, "n,a=Alice,")
    yield "authzid with an escape", first(keys.token(good(now, sub="a,b=c")), "n,a=a=2Cb=3Dc,")
    yield "authzid with a bad escape", first(token, "n,a=a=2Fb,")
    yield "authzid not ASCII", first(keys.token(good(now, sub="älice")), "n,a=älice,")
    yield "authzid without a=", first(token, "n,alice,")
    yield from extension_cases(token)
    yield from auth_cases(token)
    yield from text_cases(keys, now)


def extension_cases(token: str) -> Iterator[tuple[str, bytes]]:
    """Pairs beside the token."""
    for name, pair in (
        ("good", "traceId=123"),
        ("with blanks, tab and line end", "a=b c\td\r\ne"),
        ("with an equals sign in the value", "a=b=c"),
        ("with a comma in the value", "a=b,c"),
        ("with an empty value", "a="),
        ("with an empty name", "=b"),
        ("without an equals sign", "a"),
        ("with a digit in the name", "a1=b"),
        ("with an underscore in the name", "a_b=c"),
        ("with a dash in the name", "a-b=c"),
        ("with a value not ASCII", "a=ä"),
        ("with a value of byte 127", "a=\x7f"),
        ("with a value of byte 0", "a=\x00"),
        ("named auth", f"auth=Bearer {token}"),
        ("named auth, other value", "auth=x"),
        ("named Auth", "Auth=x"),
        ("named host", "host=x"),
    ):
        yield f"extension {name}", first(token, "n,,", pair)
    yield "two extensions", first(token, "n,,", "a=1", "b=2")
    yield "two extensions of a name", first(token, "n,,", "a=1", "a=2")
    yield "extension before the token", f"n,,\x01a=1\x01auth=Bearer {token}\x01\x01".encode()


def auth_cases(token: str) -> Iterator[tuple[str, bytes]]:
    """What stands around the token, and messages that have none."""
    yield "scheme bearer", f"n,,\x01auth=bearer {token}\x01\x01".encode()
    yield "scheme BEARER", f"n,,\x01auth=BEARER {token}\x01\x01".encode()
    yield "scheme Basic", f"n,,\x01auth=Basic {token}\x01\x01".encode()
    yield "scheme missing", f"n,,\x01auth={token}\x01\x01".encode()
    yield "two blanks before the token", f"n,,\x01auth=Bearer  {token}\x01\x01".encode()
    yield "a tab before the token", f"n,,\x01auth=Bearer\t{token}\x01\x01".encode()
    yield "a blank before the scheme", f"n,,\x01auth= Bearer {token}\x01\x01".encode()
    yield "a blank behind the token", f"n,,\x01auth=Bearer {token} \x01\x01".encode()
    yield "AUTH=", f"n,,\x01AUTH=Bearer {token}\x01\x01".encode()
    yield "auth missing", b"n,,\x01a=b\x01\x01"
    yield "no pairs", b"n,,\x01\x01"
    yield "one byte 1 at the end", f"n,,\x01auth=Bearer {token}\x01".encode()
    yield "three bytes 1 at the end", f"n,,\x01auth=Bearer {token}\x01\x01\x01".encode()
    yield "no byte 1 at the end", f"n,,\x01auth=Bearer {token}".encode()
    yield "something behind the end", f"n,,\x01auth=Bearer {token}\x01\x01x".encode()
    yield "a byte 0 behind the end", f"n,,\x01auth=Bearer {token}\x01\x01\0".encode()
    yield "empty message", b""
    yield "byte 1 alone", GO_ON
    yield "not UTF-8", b"n,,\x01auth=Bearer \xff\x01\x01"
    yield "a PLAIN message", b"\0alice\0secret"


def text_cases(keys: Keys, now: int) -> Iterator[tuple[str, bytes]]:
    """Tokens that are none."""
    token = keys.token(good(now))
    head, claims, signature = token.split(".")
    for name, text in (
        ("empty", ""),
        ("one part", "abc"),
        ("two parts", f"{head}.{claims}"),
        ("four parts", f"{token}.x"),
        ("five parts", f"{token}.x.y"),
        ("no signature", f"{head}.{claims}."),
        ("no claims", f"{head}..{signature}"),
        ("no header", f".{claims}.{signature}"),
        ("dots alone", ".."),
        ("padded at the end", f"{token}="),
        ("with a tilde", f"{token}~"),
        ("with a slash", f"{token}/"),
        ("with a star", f"{token}*"),
        ("padded", f"{head}=.{claims}.{signature}"),
        ("with a plus", f"{head}.{claims}.+{signature[1:]}"),
        ("header not JSON", f"abc.{claims}.{signature}"),
        ("header a list", f"{base64url(b'[]')}.{claims}.{signature}"),
        ("claims changed", f"{head}.{claims[:-2]}.{signature}"),
        ("signature cut", f"{head}.{claims}.{signature[:-4]}"),
    ):
        yield f"token {name}", first(text)
    twice = '{"alg":"none","alg":"RS256","kid":"rsa"}'
    yield "header with alg twice", first(_raw(keys, twice, json.dumps(good(now))))
    twice = f'{{"sub":"bob","sub":"alice","iat":{now},"exp":{now + 600}}}'
    yield "claims with sub twice", first(_raw(keys, '{"alg":"RS256","kid":"rsa"}', twice))


def _raw(keys: Keys, head: str, claims: str) -> str:
    signed = f"{base64url(head.encode())}.{base64url(claims.encode())}"
    return f"{signed}.{base64url(keys.sign('rsa', 'RS256', signed.encode()))}"


def _unsecured(claims: Any, **header: Any) -> str:
    head = json.dumps({"alg": "none", **header})
    return f"{base64url(head.encode())}.{base64url(json.dumps(claims).encode())}."


def unsecured_cases(keys: Keys, now: int) -> Iterator[tuple[str, bytes]]:
    """Headers of tokens that nobody signed, on a listener that takes them."""
    claims = good(now)
    yield "unsecured", first(_unsecured(claims))
    yield "unsecured with typ and kid", first(_unsecured(claims, typ="JWT", kid="x"))
    yield "unsecured, alg None", first(_unsecured(claims, alg="None"))
    yield "unsecured, alg NONE", first(_unsecured(claims, alg="NONE"))
    yield "unsecured, alg null", first(_unsecured(claims, alg=None))
    yield "unsecured, alg RS256, no signature", first(_unsecured(claims, alg="RS256"))
    yield "unsecured with a signature", first(_unsecured(claims) + "abcd")
    yield "unsecured in two parts", first(_unsecured(claims)[:-1])
    yield "unsecured in four parts", first(_unsecured(claims) + ".")
    yield "unsecured, signed", first(keys.token(claims))
    yield "unsecured, not JSON", first(f"{base64url(b'{}')}.abc.")
    yield "unsecured, no claims", first(f"{base64url(b'{}')}..")
    yield "unsecured, iat missing", first(_unsecured(good(now, iat=None)))


def cases(keys: Keys, now: Callable[[], int]) -> Iterator[tuple[str, str, bytes]]:
    """(name, listener, first message), each made when it is asked for; `now` in seconds."""
    for name, message in signed_cases(keys, now()):
        yield name, "file", message
    for name, claims in claim_cases(now()):
        yield f"claims: {name}", "file", first(keys.token(claims))
    for name, claims in claim_cases(now()):
        yield f"unsecured claims: {name}", "unsecured", first(_unsecured(claims))
    for name, claims in strict_cases(now()):
        yield name, "strict", first(keys.token(claims))
    for listener in ("addressed", "issued"):
        for name, claims in addressed_cases(now()):
            yield f"{listener}: {name}", listener, first(keys.token(claims))
    for name, claims in scoped_cases(now()):
        yield name, "scoped", first(_unsecured(claims))
    for name, message in message_cases(keys, now()):
        yield name, "file", message
    for name, message in unsecured_cases(keys, now()):
        yield name, "unsecured", message


def second_messages(keys: Keys, now: int) -> dict[str, bytes]:
    """What a client may say in place of the one byte after it was refused."""
    return {
        "empty": b"",
        "two bytes 1": GO_ON * 2,
        "another byte": b"x",
        "a good token": first(keys.token(good(now))),
        "a bad token": first("x.y.z"),
    }


def _answers(port: int, message: bytes, second: bytes = GO_ON) -> list[Any]:
    """[error code, text, challenge, whether there is a lifetime] of each SaslAuthenticate."""
    from broker.network.outgoing.blocking_client import BlockingClient
    from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
    from protocol.messages.sasl_handshake import SaslHandshakeRequest

    got: list[Any] = []
    with BlockingClient("127.0.0.1", port, 10) as client:
        client.call(SaslHandshakeRequest("OAUTHBEARER"))
        for token in (message, second):
            try:
                answer = client.call(SaslAuthenticateRequest(token))
            except OSError as error:
                return [*got, type(error).__name__]
            challenge = bytes(answer.auth_bytes).decode()
            lifetime = answer.session_lifetime_ms
            got.append([answer.error_code, answer.error_message, challenge, lifetime])
            if answer.error_code or not challenge:
                break
    return got


def _properties(
    own: dict[str, int],
    ports: dict[str, int],
    urls: list[str],
    settings_of: dict[str, tuple[str, dict[str, str]]],
) -> dict[str, str]:
    listeners = {**own, **{name.upper(): port for name, port in ports.items()}}
    protocols = {name: name for name in own if name != "CONTROLLER"} | {"CONTROLLER": "PLAINTEXT"}
    protocols |= {name.upper(): "SASL_PLAINTEXT" for name in ports}
    shown = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    properties = {
        "listeners": shown,
        "advertised.listeners": shown,
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "0",
    }
    for name, (options, settings) in settings_of.items():
        prefix = f"listener.name.{name}.oauthbearer."
        properties[f"{prefix}sasl.jaas.config"] = f"{_MODULE} {options};"
        if "unsecured" not in name + options:
            properties[f"{prefix}sasl.server.callback.handler.class"] = _VALIDATOR
            properties[f"{prefix}sasl.oauthbearer.jwks.endpoint.url"] = urls[name == "bare"]
        for key, value in settings.items():
            properties[f"{prefix}{key}"] = value
    return properties


def bare(jwks: dict[str, Any]) -> dict[str, Any]:
    """The set of one key, the first, without its id."""
    return {"keys": [{name: value for name, value in jwks["keys"][0].items() if name != "kid"}]}


def _rows(keys: Keys, ports: dict[str, int]) -> Iterator[dict[str, Any]]:
    def row(name: str, listener: str, message: bytes, second: bytes) -> dict[str, Any]:
        asked = {"name": name, "listener": listener, "now_ms": time.time_ns() // 1_000_000}
        texts = {"message": message.decode("latin-1"), "second": second.decode("latin-1")}
        return {**asked, "answers": _answers(ports[listener], message, second), **texts}

    def now() -> int:
        return int(time.time())

    for name, listener, message in cases(keys, now):
        yield row(name, listener, message, GO_ON)
    for name, second in second_messages(keys, now()).items():
        yield row(f"refused, then {name}", "file", first("a.b.c"), second)
    for kid in (None, "rsa"):
        message = first(keys.token(good(now()), "rsa", kid=kid))
        yield row(f"key without an id, kid {kid}", "bare", message, GO_ON)


_REQUIRED = re.compile(r'requires \\?"([a-z.]+)\\?" to be configured')


def _missing_at_start(settings: dict[str, str], folder: Path, url: str) -> str | None:
    """The key that a broker with this listener names when it refuses to start; None: it starts."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    ports = {"PLAINTEXT": free_port(), "CONTROLLER": free_port()}
    properties = _properties(ports, {"file": free_port()}, [url], {"file": ("", settings)})
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}"
    log = folder / "start.log"
    log.unlink(missing_ok=True)
    try:
        with ApacheKafka(
            port=ports["PLAINTEXT"],
            controller_port=ports["CONTROLLER"],
            properties=properties,
            jvm_options=(*FAST_START, allowed),
            heap="512m",
            log_file=log,
        ):
            return None
    except RuntimeError:
        missing = _REQUIRED.search(log.read_text())
        assert missing is not None, log
        return missing[1]


def record() -> None:
    """Ask a real Apache Kafka, and write its answers down."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    keys = Keys()
    jwks = keys.jwks()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "jwks.json", Path(folder) / "bare.json"]
        for file, shown in zip(files, (jwks, bare(jwks)), strict=True):
            file.write_text(json.dumps(shown))
        urls = [file.as_uri() for file in files]
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={','.join(urls)}"
        ports = {name: free_port() for name in LISTENERS}
        own, controller = free_port(), free_port()
        with ApacheKafka(
            port=own,
            controller_port=controller,
            properties=_properties(
                {"PLAINTEXT": own, "CONTROLLER": controller}, ports, urls, LISTENERS
            ),
            jvm_options=(*FAST_START, allowed),
            heap="512m",
        ):
            rows = list(_rows(keys, ports))
        starts = {
            name: _missing_at_start(settings, Path(folder), urls[0])
            for name, settings in STARTS.items()
        }
    write_json(RECORDED, {"jwks": jwks, "cases": rows, "starts": starts})


if __name__ == "__main__":
    record()
