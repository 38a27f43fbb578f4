from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.config.security_settings import JaasEntry, MechanismSettings, SaslSettings, Secret
from broker.security.sasl.authenticator import (
    TRANSITIONS,
    LoginEvent,
    LoginState,
    PrincipalOf,
    SaslAuthenticator,
    SaslFailed,
)
from broker.security.sasl.mechanism_factory import server_mechanisms
from broker.security.sasl.server_mechanism import BlockingCall, SaslRefused, ServerMechanism
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.message import Message
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.unit.broker.security.sasl.scram_fixture import SERVER_NONCE, credentials

NOW = 1_700_000_000_000
USERS = {"user_alice": Secret("alice-secret"), "user_bob": Secret("bob-secret")}
GOOD = b"\0alice\0alice-secret"
VERSIONS_ANSWER = bytes(10)


class Token:
    """A mechanism whose login ends: the token says when. It refuses `no`, and `hardly` by a
    challenge."""

    complete = False
    principal_name = "alice"
    expires_at_ms: int | None = None
    refusal = ""
    by_token = False

    def evaluate(self, token: bytes, now_ms: int) -> bytes:
        if token == b"no":
            raise SaslRefused("refused", "the token expired 5 s ago")
        if token == b"hardly":
            self.refusal = "nobody knows the key"
            return b"no"
        self.complete, self.expires_at_ms = True, int(token)
        return b""


def core_of(
    max_reauth_ms: int = 0, versions: bytes = VERSIONS_ANSWER, refuses: bool = True
) -> SaslAuthenticator:
    sasl = SaslSettings(
        tuple(
            MechanismSettings(name, JaasEntry("", USERS), max_reauth_ms=max_reauth_ms)
            for name in ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")
        )
    )
    others: dict[str, Any] = {"OAUTHBEARER": Token}
    new = server_mechanisms(sasl, credentials, lambda: SERVER_NONCE, others)

    def refusal(key: int, request: Message, error: ErrorCode) -> Message | None:
        if not refuses:
            raise ProtocolError("no way to say it")
        return MetadataResponse(error_code=int(error))

    return SaslAuthenticator(sasl, new, lambda frame: versions, refusal)


def frame_of(request: Any, version: int) -> memoryview:
    return memoryview(encode_request(request, version, 7, "me"))[4:]


def handshake(mechanism: str = "PLAIN", version: int = 1) -> memoryview:
    return frame_of(SaslHandshakeRequest(mechanism), version)


def authenticate(token: bytes = GOOD, version: int = 2) -> memoryview:
    return frame_of(SaslAuthenticateRequest(token), version)


def handshake_answer(frame: bytes | None) -> SaslHandshakeResponse:
    assert frame is not None
    correlation_id, response = decode_response(ApiKey.SASL_HANDSHAKE, memoryview(frame), 1)
    assert correlation_id == 7
    return response


def answer(frame: bytes | None, version: int = 2) -> SaslAuthenticateResponse:
    assert frame is not None
    correlation_id, response = decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(frame), version)
    assert correlation_id == 7
    return response


def failed(core: SaslAuthenticator, frame: memoryview, now_ms: int = NOW) -> SaslFailed:
    with pytest.raises(SaslFailed) as found:
        core.received(frame, now_ms)
    assert core.state is LoginState.FAILED and not core.complete
    return found.value


def logged_in(max_reauth_ms: int = 0, now_ms: int = NOW) -> SaslAuthenticator:
    core = core_of(max_reauth_ms)
    core.received(handshake(), now_ms)
    core.received(authenticate(), now_ms)
    assert core.complete
    return core


# --- the first login ------------------------------------------------------------------------------


def test_a_login() -> None:
    core = core_of()
    assert (core.complete, core.principal, core.mechanism) == (False, None, None)
    assert core.received(frame_of(ApiVersionsRequest("a", "1"), 3), NOW) == VERSIONS_ANSWER
    names = handshake_answer(core.received(handshake(), NOW)).mechanisms
    assert names == ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]
    assert answer(core.received(authenticate(), NOW)) == SaslAuthenticateResponse()
    assert (core.complete, core.principal, core.mechanism) == (True, "User:alice", "PLAIN")
    assert core.session_end_ms is None and not core.expired(NOW * 2)
    assert not core.takes(handshake(), NOW) and not core.takes(authenticate(), NOW)


def test_a_login_of_old_clients() -> None:
    core = core_of(5_000)
    core.received(handshake(version=0), NOW)
    assert core.received(memoryview(GOOD), NOW) == b""
    assert (core.principal, core.session_end_ms) == ("User:alice", NOW + 5_000)


def test_a_failed_login_of_old_clients_has_no_answer() -> None:
    core = core_of()
    core.received(handshake(version=0), NOW)
    error = failed(core, memoryview(b"\0alice\0wrong"))
    assert (error.answer, error.delayed) == (None, True)
    assert error.reason == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_failed_login_is_told(version: int) -> None:
    core = core_of()
    core.received(handshake(), NOW)
    error = failed(core, authenticate(b"\0alice\0wrong", version))
    told = answer(error.answer, version)
    assert told.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert told.error_message == error.reason
    assert error.delayed and not error.again
    assert "wrong" not in repr(error)
    with pytest.raises(SaslFailed):
        core.received(authenticate(), NOW)


@pytest.mark.parametrize("version", [0, 1])
def test_why_a_token_is_refused_is_for_the_log_alone(version: int) -> None:
    core = core_of()
    core.received(handshake("OAUTHBEARER", version), NOW)
    error = failed(core, authenticate(b"no") if version else memoryview(b"no"))
    assert error.reason == "refused: the token expired 5 s ago"
    assert (answer(error.answer).error_message if version else "refused") == "refused"


def test_a_client_that_is_too_new_may_ask_for_versions_again() -> None:
    core = core_of(versions=b"\0\0\0\7\0\x23")
    for _ in range(3):
        core.received(frame_of(ApiVersionsRequest("a", "1"), 3), NOW)
    core.received(handshake(), NOW)


def test_a_mechanism_that_is_not_enabled() -> None:
    error = failed(core_of(), handshake("x\n" + "y" * 500))
    told = handshake_answer(error.answer)
    assert told.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert told.mechanisms == ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]
    assert error.reason.isprintable() and len(error.reason) < 120


@pytest.mark.parametrize("refuses", [True, False])
def test_another_request_than_a_token(refuses: bool) -> None:
    core = core_of(refuses=refuses)
    core.received(handshake(), NOW)
    error = failed(core, frame_of(MetadataRequest([]), 13))
    if not refuses:
        assert (error.answer, error.delayed) == (None, False)
        return
    assert error.answer is not None and error.delayed
    _, told = decode_response(ApiKey.METADATA, memoryview(error.answer), 13)
    assert told.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert error.reason == "Unexpected Kafka request of type METADATA during SASL authentication."


def test_who_does_not_heed_a_refusal_is_told_by_the_log_why() -> None:
    core = core_of()
    core.received(handshake("OAUTHBEARER"), NOW)
    assert answer(core.received(authenticate(b"hardly"), NOW)).auth_bytes == b"no"
    assert failed(core, frame_of(MetadataRequest([]), 13)).reason.endswith("nobody knows the key")


@pytest.mark.parametrize(
    ("request_", "version"),
    [(ApiVersionsRequest("x" * 9_000), 3), (SaslHandshakeRequest("x" * 9_000), 1)],
)
def test_a_long_request_is_not_looked_into_before_the_login(request_: Any, version: int) -> None:
    error = failed(core_of(), frame_of(request_, version))
    assert "bytes before the login; 8192 may be" in error.reason and error.answer is None


def test_nor_is_one_in_place_of_a_token() -> None:
    core = core_of()
    core.received(handshake(), NOW)
    topics = [MetadataRequestTopic(name=f"topic-{number}") for number in range(1_000)]
    error = failed(core, frame_of(MetadataRequest(topics), 1))
    assert "METADATA of" in error.reason and error.answer is None


def test_a_token_may_be_long() -> None:
    core = core_of()
    core.received(handshake(), NOW)
    error = failed(core, authenticate(b"a" * 20_000 + GOOD))
    assert "an authorization id that is different from username" in error.reason


def test_a_frame_that_is_too_long() -> None:
    core = core_of()
    assert core.frame_bytes_max == 524_288
    error = core.too_long(524_289)
    assert (error.answer, error.delayed, core.state) == (None, True, LoginState.FAILED)


# --- how long it is good --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed_ms", "token_ms", "told_ms"),
    [
        (0, 9_000, 9_000),
        (5_000, 9_000, 5_000),
        (10_000, 9_000, 9_000),
        (0, -5_000, 0),
        (5_000, -5_000, 0),
    ],
)
def test_a_token_ends_a_login(allowed_ms: int, token_ms: int, told_ms: int) -> None:
    core = core_of(allowed_ms)
    core.received(handshake("OAUTHBEARER"), NOW)
    token = str(NOW + token_ms).encode()
    told = answer(core.received(authenticate(token), NOW))
    assert told.session_lifetime_ms == told_ms
    assert core.session_end_ms == NOW + told_ms
    assert not core.expired(NOW + told_ms) and core.expired(NOW + told_ms + 1)


def test_who_logs_in_again_has_its_time_anew() -> None:
    core = logged_in(5_000)
    later = NOW + 6_000
    assert core.expired(later)
    assert core.takes(handshake(), later) and not core.takes(authenticate(), later)
    core.received(handshake(), later)
    assert not core.complete and core.takes(authenticate(), later)
    assert answer(core.received(authenticate(), later)).session_lifetime_ms == 5_000
    assert core.complete and not core.expired(later + 5_000)
    assert not core.takes(handshake(), later + 999)
    assert core.takes(handshake(), later + 1_000)


def test_who_logs_in_again_is_the_same_one() -> None:
    core = logged_in(5_000)
    core.received(handshake(), NOW)
    error = failed(core, authenticate(b"\0bob\0bob-secret"))
    text = "Cannot change principals during re-authentication from User.alice: User.bob"
    assert answer(error.answer).error_message == text
    assert error.again and error.delayed
    assert core.principal == "User:alice"


def test_who_logs_in_again_does_so_in_the_same_way() -> None:
    core = logged_in(5_000)
    assert handshake_answer(core.received(handshake("SCRAM-SHA-256"), NOW)).error_code == 0
    error = failed(core, authenticate())
    assert (error.answer, error.delayed, error.again) == (None, True, True)
    assert "'SCRAM-SHA-256'" in error.reason and "'PLAIN'" in error.reason


def test_a_usual_refusal_says_which_login_it_was() -> None:
    core = core_of(5_000)
    core.received(handshake("SCRAM-SHA-256"), NOW)
    first = failed(core, authenticate(b"garbage"))
    assert first.reason == (
        "Authentication failed during authentication due to invalid credentials "
        "with SASL mechanism SCRAM-SHA-256"
    )


# --- hostile --------------------------------------------------------------------------------------


def test_every_state_has_a_way_to_its_end() -> None:
    ends = {one: ways.get(LoginEvent.FAILURE) for one, ways in TRANSITIONS.items()}
    assert ends == dict.fromkeys(LoginState, LoginState.FAILED)


_FRAMES = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(lambda token: bytes(authenticate(token))),
    st.sampled_from(
        [bytes(handshake(name, v)) for name in ("PLAIN", "SCRAM-SHA-256", "x") for v in (0, 1)]
        + [bytes(frame_of(ApiVersionsRequest("a", "1"), 3))]
        + [bytes(authenticate(b"n,,n=alice,r=abc")), bytes(frame_of(MetadataRequest(None), 1))]
    ),
    st.tuples(st.integers(-1, 95), st.integers(-1, 20), st.binary(max_size=20)).map(
        lambda one: one[0].to_bytes(2, signed=True) + one[1].to_bytes(2, signed=True) + one[2]
    ),
)


@settings(max_examples=300)
@given(st.lists(_FRAMES, max_size=6))
def test_nobody_gets_in_by_garbage(frames: list[bytes]) -> None:
    core = core_of()
    for frame in frames:
        try:
            core.received(memoryview(frame), NOW)
        except SaslFailed as error:
            assert error.reason.isprintable() or "\n" not in error.reason
            assert core.state is LoginState.FAILED
    assert not core.complete and core.principal is None


@pytest.mark.parametrize("size", [0, 1, 2, 9, 10, 100, 32_767, 65_536, 524_288])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("fill", [b"\0", b"\xff", b",", b"n,,n=a", b"=2C"])
def test_tokens_of_every_size(size: int, mechanism: str, fill: bytes) -> None:
    token = (fill * (size // len(fill) + 1))[:size]
    core = core_of()
    core.received(handshake(mechanism), NOW)
    assert answer(failed(core, authenticate(token)).answer).error_code == 58
    bare = core_of()
    bare.received(handshake(mechanism, 0), NOW)
    assert failed(bare, memoryview(token)).answer is None


# --- somebody else is asked ----------------------------------------------------------------------


class Asking:
    """A mechanism that asks about each token: it takes one for which it is told True."""

    complete = False
    principal_name = "alice"
    expires_at_ms: int | None = None
    refusal = ""
    by_token = False

    def evaluate(self, token: bytes, now_ms: int) -> bytes | BlockingCall:
        return BlockingCall(lambda: token == b"good", self.resume)

    def resume(self, outcome: object, now_ms: int) -> bytes | BlockingCall:
        if outcome == "ask again":
            return BlockingCall(lambda: True, self.resume)
        if outcome is not True:
            raise SaslRefused("refused", repr(outcome))
        self.complete = True
        return b"welcome"


def asking(version: int = 1, named: PrincipalOf | None = None) -> SaslAuthenticator:
    sasl = SaslSettings((MechanismSettings("OAUTHBEARER", max_reauth_ms=5_000),))
    new = server_mechanisms(sasl, credentials, str, {"OAUTHBEARER": Asking})
    more = () if named is None else (named,)
    core = SaslAuthenticator(sasl, new, bytes, lambda *_: None, *more)
    core.received(handshake("OAUTHBEARER", version), NOW)
    return core


def test_an_answer_waits_for_who_is_asked() -> None:
    core = asking()
    question = core.received(authenticate(b"good"), NOW)
    assert isinstance(question, BlockingCall)
    assert not core.complete and core.state is LoginState.TOKENS
    told = core.resume("ask again", NOW)
    assert isinstance(told, BlockingCall)
    told = core.resume(told.job(), NOW + 10)
    assert isinstance(told, bytes)
    assert (answer(told).auth_bytes, answer(told).session_lifetime_ms) == (b"welcome", 5_000)
    assert core.complete and core.principal == "User:alice"


def test_who_is_asked_may_refuse() -> None:
    core = asking()
    core.received(authenticate(b"bad"), NOW)
    with pytest.raises(SaslFailed) as refused:
        core.resume(ValueError("x"), NOW)
    assert refused.value.reason == "refused: ValueError('x')"
    assert refused.value.delayed and answer(refused.value.answer).error_code == 58
    assert core.state is LoginState.FAILED


def test_a_bare_token_is_answered_bare() -> None:
    core = asking(0)
    core.received(memoryview(b"good"), NOW)
    assert core.resume(True, NOW) == b"welcome"
    core = asking(0)
    core.received(memoryview(b"bad"), NOW)
    with pytest.raises(SaslFailed) as refused:
        core.resume(False, NOW)
    assert refused.value.answer is None


def test_no_frame_is_taken_while_an_answer_waits() -> None:
    core = asking()
    core.received(authenticate(b"good"), NOW)
    with pytest.raises(AssertionError):
        core.received(authenticate(b"good"), NOW)
    with pytest.raises(AssertionError):
        asking().resume(True, NOW)


def test_somebody_else_may_name_who_logs_in() -> None:
    names = iter(("Team:a", "Team:a", "Team:b"))
    core = asking(named=lambda mechanism, user: f"{next(names)}-{mechanism}-{user}")
    core.received(authenticate(b"good"), NOW)
    core.resume(True, NOW)
    assert core.principal == "Team:a-OAUTHBEARER-alice"
    for now_ms in (NOW + 2_000, NOW + 4_000):
        core.received(handshake("OAUTHBEARER"), now_ms)
        core.received(authenticate(b"good"), now_ms)
        if now_ms == NOW + 2_000:
            core.resume(True, now_ms)
    with pytest.raises(SaslFailed, match="from Team.a-OAUTHBEARER-alice: Team.b-OAUTHBEARER-alice"):
        core.resume(True, NOW + 4_000)


def test_a_mechanism_is_what_the_protocol_says() -> None:
    one: ServerMechanism = Token()
    assert one.evaluate(b"1", NOW) == b""
