"""Credentials of delegation tokens; and logins by token as Apache Kafka had them."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.security_settings import MechanismSettings, SaslSettings
from broker.security.sasl.authenticator import SaslAuthenticator
from broker.security.sasl.mechanism_factory import server_mechanisms
from broker.security.sasl.scram import ScramServer
from broker.security.sasl.server_mechanism import BlockingCall, SaslRefused
from broker.security.sasl.token_credentials import (
    SALT_BYTES,
    Salting,
    TokenCredentials,
    TokenLogin,
)
from controller.metadata.delegation_token import DelegationToken, TokenKey
from controller.metadata.scram_credential import (
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response
from tests.golden import token_cases as given
from tests.golden.sasl_talk import CLOSED, ITERATIONS, SALT, salted
from tests.golden.token_logins import LOGINS, ORDINARY, REAUTH_MS
from tests.unit.broker.security.sasl.replay_fixture import (
    START_MS,
    STEP_MS,
    Replay,
    nonces_of,
)
from tests.unit.broker.security.sasl.scram_fixture import SERVER_NONCE, final_message

KEY = TokenKey(given.SECRET_KEY)
SHA_256, SHA_512 = ScramMechanism
TOKEN = DelegationToken("id", "User:alice", "User:erin", (), 0, 9_000, 5_000)


# --- as Kafka has them ----------------------------------------------------------------------------

CONVERSATIONS: dict[str, Any] = json.loads(given.RECORDED.read_text())["logins"]
GONE = "removed before"
EXPIRED = "expired before"
"""Apache Kafka lets the client in, and closes at its first request."""
USERS = {name: salted("SCRAM-SHA-256", f"{name}-secret") for name in ORDINARY}


class Login:
    """One conversation, in which one token is there."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._conversation = CONVERSATIONS[name]
        self._steps = self._conversation["steps"]
        self.replay = Replay(self._steps, self._core)

    def _core(self, versions: Callable[[memoryview], bytes]) -> SaslAuthenticator:
        nonces = nonces_of(self._steps)
        reauth_ms = REAUTH_MS if self._conversation["listener"] == "REAUTH" else 0
        # In the order of Java's set.
        names = ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256")
        sasl = SaslSettings(
            tuple(MechanismSettings(one, None, max_reauth_ms=reauth_ms) for one in names)
        )
        new = server_mechanisms(sasl, self._user, lambda: next(nonces), tokens=self._token)
        return SaslAuthenticator(sasl, new, versions, lambda *_: None)

    def _user(self, mechanism: ScramMechanism, name: str) -> ScramCredential | None:
        if mechanism is not SHA_256 or name not in USERS:
            return None
        return credential_of(mechanism, USERS[name], SALT, ITERATIONS)

    def _token(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | None:
        if token_id != self._conversation["token_id"] or self._name == GONE:
            return None
        expiry_ms = self._expiry_ms()
        token = DelegationToken(token_id, "User:alice", "User:alice", (), 0, expiry_ms, expiry_ms)
        password = b64encode(KEY.hmac_of(token_id)).decode()
        salt = self._salt()
        hashed = salted_password(mechanism, password, salt, ITERATIONS)
        return TokenLogin(token, credential_of(mechanism, hashed, salt, ITERATIONS))

    def _salt(self) -> bytes:
        """Of the first answer that has one, if there is one: Kafka's is random."""
        for step in self._steps:
            answer = step.get("answer", CLOSED)
            found = re.search(
                rb",s=([^,]+),i=4096", b"" if answer == CLOSED else bytes.fromhex(answer)
            )
            if found:
                return b64decode(found[1])
        return SALT

    def _expiry_ms(self) -> int:
        """So that as much is left of the token as there was with Kafka."""
        now_ms, life_ms = START_MS, LOGINS[self._name][1]
        longest_ms = given.EXPIRY_MS if life_ms < 0 else life_ms
        for step in self._steps:
            now_ms += step.get("wait_ms", STEP_MS)
            if "wait_ms" in step and self._name == EXPIRED:
                return now_ms - 1
            left_ms = _left_ms(step)
            if left_ms and left_ms != REAUTH_MS:
                assert longest_ms - 20_000 < left_ms <= longest_ms
                return now_ms + left_ms
        return now_ms + longest_ms


def _left_ms(step: dict[str, Any]) -> int:
    """What the answer tells of the session's end."""
    sent, answer = bytes.fromhex(step.get("sent", "")), step.get("answer", CLOSED)
    if answer == CLOSED or sent[:2] != b"\0\x24":
        return 0
    version = int.from_bytes(sent[2:4])
    _, told = decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(bytes.fromhex(answer)), version)
    return int(told.session_lifetime_ms)


@pytest.mark.parametrize("name", [name for name in LOGINS if name != EXPIRED])
def test_it_goes_as_with_kafka(name: str) -> None:
    login = Login(name)
    login.replay.run()
    core = login.replay.core
    if core.complete:
        assert core.principal == ("User:ordinary" if "user" in name else "User:alice")
        by_password = "user" in name or name == "again by password"
        assert core.token_authenticated is not by_password


def test_logins_were_recorded_that_go_and_that_do_not() -> None:
    logins = [Login(name) for name in LOGINS if name != EXPIRED]
    for login in logins:
        login.replay.run()
    complete = {name for name, one in zip(LOGINS, logins, strict=False) if one.replay.core.complete}
    assert 10 < len(complete) < len(logins) - 8


def test_who_has_a_token_that_expired_is_told_at_once() -> None:
    with pytest.raises(AssertionError):
        Login(EXPIRED).replay.run()
    expired = TOKEN._replace(expiry_ms=1_000)
    server = server_of(expired)
    with pytest.raises(SaslRefused) as refused:
        server.evaluate(b"n,,n=id,r=abc,tokenauth=true", 4_000)
    assert (refused.value.text, refused.value.reason) == (
        "",
        "the delegation token expired 3 s ago",
    )


# --- ours -----------------------------------------------------------------------------------------


class Node:
    def __init__(self, *tokens: DelegationToken) -> None:
        self.tokens = {one.token_id: one for one in tokens}
        self.scheduler = SimScheduler()
        self.drawn = 0
        self.credentials = TokenCredentials(
            KEY, lambda: self.tokens, [SHA_512, SHA_256], self._draw
        )

    def _draw(self, size: int) -> bytes:
        self.drawn += 1
        return self.drawn.to_bytes(size)

    def start(self) -> Node:
        self.credentials.start(SimBlocking(self.scheduler))
        return self

    def change(self, token_id: str, token: DelegationToken | None) -> None:
        if token is None:
            del self.tokens[token_id]
        else:
            self.tokens[token_id] = token
        self.credentials.changed({token_id: token})

    def login(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | None:
        """After the salting that it may need."""
        found = self.credentials.login(mechanism, token_id)
        if isinstance(found, Salting):
            found.keep(found.job())
            found = self.credentials.login(mechanism, token_id)
            assert not isinstance(found, Salting)
        return found


def server_of(token: DelegationToken) -> ScramServer:
    return ScramServer(SHA_256, lambda *_: None, lambda: SERVER_NONCE, Node(token).login)


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_token_logs_in_as_its_owner(mechanism: ScramMechanism) -> None:
    node = Node(TOKEN)
    server = ScramServer(mechanism, lambda *_: None, lambda: SERVER_NONCE, node.login)
    bare = b"n=id,r=abc,tokenauth=true"
    first = server.evaluate(b"n,," + bare, 0)
    assert isinstance(first, bytes)
    found = node.login(mechanism, "id")
    assert found is not None
    password = b64encode(KEY.hmac_of("id")).decode()
    hashed = salted_password(mechanism, password, found.credential.salt, 4096)
    server.evaluate(final_message(mechanism, hashed, bare, first), 0)
    assert server.complete
    assert (server.principal_name, server.by_token, server.expires_at_ms) == ("alice", True, 5_000)


def test_who_is_no_user_has_no_login() -> None:
    server = server_of(TOKEN._replace(owner="Group:alice"))
    with pytest.raises(SaslRefused, match="not a user's"):
        server.evaluate(b"n,,n=id,r=abc,tokenauth=true", 0)


def test_each_mechanism_has_a_salt_of_its_own_which_stays() -> None:
    node = Node(TOKEN, TOKEN._replace(token_id="other")).start()
    node.scheduler.run_for(1_000)
    logins = [
        node.login(mechanism, token)
        for _ in range(2)
        for token in ("id", "other")
        for mechanism in ScramMechanism
    ]
    salts = [one.credential.salt for one in logins if one is not None]
    assert salts[:4] == salts[4:]
    assert len(set(salts)) == 4 and {len(salt) for salt in salts} == {SALT_BYTES}


def test_tokens_are_salted_in_the_background_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    node = Node(*(TOKEN._replace(token_id=str(index)) for index in range(3)))
    make = TokenCredentials._made

    def counted(self: TokenCredentials, token_id: str, salts: Any) -> Any:
        made.append(token_id)
        return make(self, token_id, salts)

    monkeypatch.setattr(TokenCredentials, "_made", counted)
    node.start()
    assert not made, "a start waits for none"
    assert node.login(SHA_256, "0") is not None
    assert made == ["0"], "a login waits for its own alone"
    node.change("3", TOKEN._replace(token_id="3"))
    node.change("1", None)
    node.scheduler.run_for(1_000)
    assert sorted(made) == ["0", "2", "3"]
    node.change("3", TOKEN._replace(token_id="3", expiry_ms=6_000))
    node.scheduler.run_for(1_000)
    for token_id in "023":
        assert node.login(SHA_512, token_id) is not None
    assert len(made) == 3
    assert node.login(SHA_256, "1") is None
    again = node.login(SHA_256, "3")
    assert again is not None and again.token.expiry_ms == 6_000


def test_a_token_that_goes_while_it_is_salted_leaves_nothing() -> None:
    node = Node(TOKEN).start()
    node.change("id", None)
    node.scheduler.run_for(1_000)
    assert node.login(SHA_256, "id") is None
    assert not node.credentials._salted


def test_nothing_is_salted_after_the_end() -> None:
    node = Node(TOKEN)
    node.start()
    node.credentials.close()
    node.change("other", TOKEN._replace(token_id="other"))
    node.scheduler.run_for(1_000)
    assert node.drawn <= 2


def begun(node: Node) -> tuple[ScramServer, BlockingCall]:
    server = ScramServer(SHA_512, lambda *_: None, lambda: SERVER_NONCE, node.credentials.login)
    asked = server.evaluate(b"n,,n=id,r=abc,tokenauth=true", 0)
    assert isinstance(asked, BlockingCall)
    return server, asked


def test_a_login_that_is_quick_waits_for_a_thread() -> None:
    node = Node(TOKEN)
    (_, one), (_, other) = begun(node), begun(node)
    answers = [one.resume(one.job(), 0), other.resume(other.job(), 0)]
    assert all(isinstance(answer, bytes) for answer in answers)
    assert answers[0] == answers[1], "both by the salt that was kept first"


def test_a_token_that_goes_before_it_is_salted_lets_nobody_in() -> None:
    node = Node(TOKEN)
    _, asked = begun(node)
    made = asked.job()
    node.change("id", None)
    with pytest.raises(SaslRefused):
        asked.resume(made, 0)


def test_a_salting_that_fails_is_told_in_the_log_alone() -> None:
    _, asked = begun(Node(TOKEN))
    with pytest.raises(SaslRefused) as refused:
        asked.resume(MemoryError("no room"), 0)
    assert refused.value.text == "" and "no room" in refused.value.reason
