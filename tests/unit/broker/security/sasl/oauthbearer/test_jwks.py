"""Sets of keys, and how they are kept fresh."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from broker.security.sasl.oauthbearer.jwks import Jwks, JwksError, JwksTimes, KeySet
from ground.config_def import ConfigError
from ottla.launcher import install_command
from tests.unit.broker.security.sasl.oauthbearer.clock_fixture import HandBlocking, HandScheduler
from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import jwks, private_keys

URL = "https://issuer.example/keys"
TIMES = JwksTimes(refresh_ms=60_000, retry_backoff_ms=100, retry_backoff_max_ms=500)


class Issuer:
    """What lies at the URL."""

    def __init__(self, *names: str) -> None:
        self.shows: bytes | None = jwks(*names)
        self.fails: Exception | None = None
        self.asked = 0

    def fetch(self) -> bytes | None:
        self.asked += 1
        if self.fails is not None:
            raise self.fails
        return self.shows


class Rig:
    """Keys of one issuer that are kept fresh by hand."""

    def __init__(self, *names: str) -> None:
        self.issuer = Issuer(*names)
        self.scheduler = HandScheduler()
        self.blocking = HandBlocking()
        self.jwks = Jwks("jwks.url", URL, self.issuer.fetch, TIMES, self.scheduler)
        self.jwks.start(self.blocking)
        self.issuer.asked = 0

    def kids(self) -> tuple[str | None, ...]:
        return self.jwks.keys.kids


def test_the_usable_keys_of_a_set() -> None:
    keys = KeySet.parse(jwks())
    expected = ("rsa", "second", "p256", "p384", "p521", "ed", "sig", "rs512")
    assert sorted(map(str, keys.kids)) == sorted(expected)
    assert keys.find("p256", "ES256") is not None
    assert keys.find("p256", "ES384") is None
    assert keys.find("rsa", "HS256") is None
    assert keys.find("rsa", "PS512") is not None


def test_the_algorithm_of_a_key_is_the_only_one_that_it_is_good_for() -> None:
    entries = [
        changed("rsa", alg="RS256"),
        changed("p256", alg="ES256"),
        changed("ed", alg="EdDSA"),
    ]
    keys = KeySet.parse(json.dumps({"keys": entries}).encode())
    assert keys.find("rsa", "RS256") is not None
    assert keys.find("rsa", "PS256") is None
    assert keys.find(None, "RS512") is None
    assert keys.find("p256", "ES256") is not None
    assert keys.find("ed", "EdDSA") is not None
    newer = json.dumps({"keys": [changed("ed", alg="Ed25519")]}).encode()
    assert KeySet.parse(newer).find("ed", "EdDSA") is not None


def test_why_a_key_is_of_no_use() -> None:
    keys = KeySet.parse(jwks())
    assert keys.why_not("weak") == "an RSA key has 1024 bits, at least 2048 are needed"
    assert keys.why_not("k1") == "a key is of a curve that is not supported"
    assert keys.why_not("ops") == "a key is not for checking signatures"
    assert keys.why_not("rsa") == "its key is not for this algorithm"
    assert keys.why_not("x") is None


def changed(name: str, **fields: Any) -> dict[str, Any]:
    (key,) = json.loads(jwks(name))["keys"]
    found = {**key, **fields}
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    "entry",
    [
        5,
        None,
        [],
        {},
        {"kty": "RSA"},
        {"kty": ["RSA"]},
        {"kty": "XYZ"},
        {"kty": "oct", "k": "c2VjcmV0"},
        changed("rsa", n=None),
        changed("rsa", n=5),
        changed("rsa", n="!!!"),
        changed("rsa", n="a"),
        changed("rsa", e="AA"),
        changed("rsa", e=""),
        changed("rsa", kid=5),
        changed("rsa", alg="RSA-OAEP"),
        changed("rsa", alg="HS256"),
        changed("rsa", alg=["RS256"]),
        changed("p256", alg="RS256"),
        changed("rsa", use="enc"),
        changed("rsa", use=["sig"]),
        changed("rsa", key_ops="verify"),
        changed("rsa", key_ops=["sign"]),
        changed("p256", crv="P-384"),
        changed("p256", crv="Ed25519"),
        changed("p256", crv=["P-256"]),
        changed("p256", x="AA"),
        changed("p256", y=changed("p384")["y"]),
        changed("p256", y=changed("p256")["x"]),
        changed("ed", crv="P-256"),
        changed("ed", crv="Ed448"),
        changed("ed", x="AA"),
        changed("ed", x="é"),
    ],
)
def test_a_key_that_cannot_be_used_does_no_harm_to_the_others(entry: Any) -> None:
    good = json.loads(jwks("p384"))["keys"][0]
    keys = KeySet.parse(json.dumps({"keys": [entry, good]}).encode())
    assert keys.kids == ("p384",)
    with pytest.raises(JwksError, match="it has no key that can check a token: "):
        KeySet.parse(json.dumps({"keys": [entry]}).encode())


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"5", b"{}", b'{"keys":{}}', b'{"keys":[]}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_set(data: bytes) -> None:
    with pytest.raises(JwksError):
        KeySet.parse(data)


def test_a_private_part_that_an_issuer_shows_by_mistake_is_not_read() -> None:
    keys = KeySet.parse(json.dumps({"keys": [changed("rsa", d="AQAB", p="x")]}).encode())
    assert keys.kids == ("rsa",)


@pytest.mark.parametrize("error", [OSError("no route"), JwksError("it is not a JWK set")])
def test_a_start_without_keys_is_refused(error: Exception) -> None:
    issuer = Issuer()
    issuer.fails = error
    with pytest.raises(ConfigError) as refused:
        Jwks("jwks.url", URL, issuer.fetch, TIMES, HandScheduler())
    assert str(refused.value) == f"jwks.url: the keys of {URL} cannot be read: {error}"
    assert refused.value.name == "jwks.url"


@pytest.mark.parametrize("missing", ["jwt", "jwt.algorithms"])
def test_a_start_without_the_packages_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError) as refused:
        Jwks("jwks.url", URL, Issuer("rsa").fetch, TIMES, HandScheduler())
    assert str(refused.value) == (
        "jwks.url: signed tokens need cryptography and PyJWT: "
        + install_command("cryptography", "PyJWT")
    )


def test_a_start_without_cryptography_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jwt.algorithms.has_crypto", False)
    with pytest.raises(ConfigError, match="-m pip install cryptography PyJWT"):
        Jwks("jwks.url", URL, Issuer("rsa").fetch, TIMES, HandScheduler())


def test_keys_are_read_again_when_it_is_time() -> None:
    rig = Rig("rsa")
    rig.issuer.shows = jwks("p256")
    rig.scheduler.advance(TIMES.refresh_ms - 1)
    assert rig.blocking.run() == 0
    rig.scheduler.advance(1)
    assert rig.kids() == ("rsa",)
    assert rig.blocking.run() == 1
    assert rig.kids() == ("p256",)
    assert rig.scheduler.delays() == [TIMES.refresh_ms]


def test_what_has_not_changed_stays() -> None:
    rig = Rig("rsa")
    keys = rig.jwks.keys
    rig.issuer.shows = None
    rig.scheduler.advance(TIMES.refresh_ms)
    rig.blocking.run()
    assert rig.jwks.keys is keys
    assert rig.scheduler.delays() == [TIMES.refresh_ms]


def test_a_failure_keeps_the_keys_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig("rsa")
    rig.issuer.fails = OSError("no route")
    rig.scheduler.advance(TIMES.refresh_ms)
    delays = []
    for _ in range(6):
        assert rig.blocking.run() == 1
        delays += rig.scheduler.delays()
        rig.scheduler.advance(delays[-1])
    assert delays == [100, 200, 400, 500, 500, 500]
    assert rig.kids() == ("rsa",)
    assert [one.getMessage() for one in caplog.records] == [
        f"The keys of {URL} cannot be read, those read before stay in use: no route"
    ]
    rig.issuer.fails = None
    rig.blocking.run()
    assert caplog.records[-1].getMessage() == f"The keys of {URL} can be read again"
    assert rig.scheduler.delays() == [TIMES.refresh_ms]


@pytest.mark.parametrize("shows", [b"", b'{"keys":[]}'])
def test_what_is_no_set_keeps_the_keys_too(shows: bytes) -> None:
    rig = Rig("rsa")
    rig.issuer.shows = shows
    rig.jwks.refresh_for_unknown_key()
    rig.blocking.run()
    assert rig.kids() == ("rsa",)


def test_an_unknown_key_has_them_read_at_once() -> None:
    rig = Rig("rsa")
    rig.issuer.shows = jwks("rsa", "p256")
    rig.jwks.refresh_for_unknown_key()
    rig.jwks.refresh_for_unknown_key()
    assert rig.blocking.run() == 1
    assert rig.kids() == ("rsa", "p256")


def test_unknown_keys_that_nobody_has_are_asked_for_less_and_less() -> None:
    rig = Rig("rsa")
    asked_at = []
    for now_ms in range(3000):
        rig.jwks.refresh_for_unknown_key()
        if rig.blocking.run():
            asked_at.append(now_ms)
        rig.scheduler.advance(1)
    assert asked_at == [0, 100, 300, 700, 1200, 1700, 2200, 2700]


def test_new_keys_make_the_next_unknown_one_quick_again() -> None:
    rig = Rig("rsa")
    for _ in range(5):
        rig.jwks.refresh_for_unknown_key()
        rig.blocking.run()
        rig.scheduler.advance(500)
    rig.issuer.shows = jwks("p256")
    rig.jwks.refresh_for_unknown_key()
    rig.blocking.run()
    rig.scheduler.advance(100)
    rig.jwks.refresh_for_unknown_key()
    assert rig.blocking.run() == 1


def test_asking_for_keys_while_they_are_read_does_not_read_them_twice() -> None:
    rig = Rig("rsa")
    rig.scheduler.advance(TIMES.refresh_ms)
    rig.jwks.refresh_for_unknown_key()
    assert rig.blocking.run() == 1
    rig.jwks.refresh_for_unknown_key()
    rig.scheduler.advance(TIMES.refresh_ms)
    assert rig.blocking.run() == 1


def test_nothing_is_read_after_the_end() -> None:
    rig = Rig("rsa")
    rig.issuer.shows = jwks("p256")
    rig.jwks.refresh_for_unknown_key()
    rig.jwks.close()
    rig.blocking.run()
    assert rig.kids() == ("rsa",)
    assert rig.scheduler.delays() == []
    rig.jwks.refresh_for_unknown_key()
    rig.scheduler.advance(TIMES.refresh_ms)
    assert rig.blocking.run() == 0


def test_the_foreign_key_of_the_fixtures_is_foreign() -> None:
    assert "foreign" in private_keys().private
    assert KeySet.parse(jwks()).find("foreign", "RS256") is None
