from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl.scram import ScramServer
from broker.security.sasl.server_mechanism import SaslRefused
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from tests.unit.broker.security.sasl.scram_fixture import (
    ITERATIONS,
    SALT,
    SERVER_NONCE,
    SHA_256,
    credentials,
    final_message,
    salt_of,
    salted_of,
)

BARE = b"n=alice,r=abc"


def server_of(mechanism: ScramMechanism = SHA_256) -> ScramServer:
    return ScramServer(mechanism, credentials, lambda: SERVER_NONCE)


def final(
    server_first: bytes, mechanism: ScramMechanism = SHA_256, bare: bytes = BARE, **wrong: bytes
) -> bytes:
    name = "a,b=c" if b"=2C" in bare else "alice"
    return final_message(mechanism, salted_of(mechanism, name), bare, server_first, **wrong)


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize(
    ("bare", "name"), [(BARE, "alice"), (b"n=a=2Cb=3Dc,r=abc", "a,b=c"), (BARE + b",x=y", "alice")]
)
def test_a_user_is_let_in(mechanism: ScramMechanism, bare: bytes, name: str) -> None:
    server = server_of(mechanism)
    server_first = server.evaluate(b"n,," + bare, 0)
    assert server_first.startswith(b"r=abcserver-nonce,s=")
    assert server_first.endswith(b",i=%d" % ITERATIONS)
    assert salt_of(server_first) == SALT
    assert not server.complete
    assert server.evaluate(final(server_first, mechanism, bare), 0).startswith(b"v=")
    assert (server.complete, server.principal_name) == (True, name)
    assert server.expires_at_ms is None


def test_its_own_name_is_an_authorization_id() -> None:
    server = server_of()
    server_first = server.evaluate(b"n,a=alice," + BARE, 0)
    server.evaluate(final(server_first, channel=b"n,a=alice,"), 0)
    assert server.complete


@pytest.mark.parametrize(
    ("channel", "nonce"),
    [
        (b"y,,", None),
        (b"", None),
        (b"n,a=alice,", None),
        (b"n,,", b"abc"),
        (b"n,,", b"server-nonce"),
        (b"n,,", b"xabcserver-nonce"),
        (b"n,,", b"abcserver-noncex"),
    ],
)
def test_the_last_message_belongs_to_the_first(channel: bytes, nonce: bytes | None) -> None:
    server = server_of()
    server_first = server.evaluate(b"n,," + BARE, 0)
    wrong = {"channel": channel} if nonce is None else {"channel": channel, "nonce": nonce}
    with pytest.raises(SaslRefused) as refused:
        server.evaluate(final(server_first, **wrong), 0)
    assert not refused.value.text and not server.complete


def test_a_login_cannot_be_replayed() -> None:
    nonces = iter(["first", "second"])
    servers = [ScramServer(SHA_256, credentials, lambda: next(nonces)) for _ in range(2)]
    proof = final(servers[0].evaluate(b"n,," + BARE, 0))
    servers[1].evaluate(b"n,," + BARE, 0)
    servers[0].evaluate(proof, 0)
    with pytest.raises(SaslRefused):
        servers[1].evaluate(proof, 0)


@pytest.mark.parametrize(
    "first",
    [
        b"n,,n=nobody,r=abc",
        b"n,a=bob,n=nobody,r=abc",
        b"n,,n=alice,r=abc,tokenauth=true",
        b"n,,n=alice,r=abc,tokenauth=True",
        b"n,,m=x,n=alice,r=abc",
        b"y,,n=alice,r=abc",
        b"p=tls-unique,,n=alice,r=abc",
        b"",
        b"n,,n=" + b"x" * 5_000 + b",r=abc",
        b"n,,n=" + b"=2C" * 150_000 + b",r=abc",
        b"n,,n=alice,r=" + b"x" * 500_000 + b"\0",
        b"n,,n=alice,r=abc" + b",a=b" * 100_000 + b",",
    ],
)
def test_what_is_wrong_is_not_told(first: bytes) -> None:
    with pytest.raises(SaslRefused) as refused:
        server_of().evaluate(first, 0)
    assert refused.value.text == ""


def test_another_authorization_id_is_told() -> None:
    with pytest.raises(SaslRefused, match="different from username"):
        server_of().evaluate(b"n,a=bob," + BARE, 0)


def test_too_few_iterations_let_nobody_in() -> None:
    weak = ScramCredential(b"salt", b"stored", b"server", 4095)
    with pytest.raises(SaslRefused):
        ScramServer(SHA_256, lambda *_: weak, lambda: "x").evaluate(b"n,," + BARE, 0)


def test_a_wrong_password_is_refused() -> None:
    server = server_of()
    server_first = server.evaluate(b"n,," + BARE, 0)
    with pytest.raises(SaslRefused):
        server.evaluate(final_message(SHA_256, b"other salted password", BARE, server_first), 0)
    assert not server.complete


_MUTATED = st.tuples(st.integers(0, 200), st.binary(max_size=4))


@given(st.binary(max_size=300), _MUTATED, _MUTATED)
def test_garbage_is_refused_or_is_no_login(
    garbage: bytes, first: tuple[int, bytes], last: tuple[int, bytes]
) -> None:
    def changed(message: bytes, change: tuple[int, bytes]) -> bytes:
        at = change[0] % (len(message) + 1)
        return message[:at] + change[1] + message[at + len(change[1]) :]

    with pytest.raises(SaslRefused):
        server_of().evaluate(garbage, 0)
    server = server_of()
    try:
        server_first = server.evaluate(changed(b"n,," + BARE, first), 0)
        good = final(server_first)
        server.evaluate(changed(good, last), 0)
    except SaslRefused:
        assert not server.complete
    else:
        assert server.principal_name == "alice"
