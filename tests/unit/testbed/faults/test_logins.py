"""What faults do to the frames of a login that is under way."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from broker.network.server.login import LoginRefusal, ReplyOrRefusal
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from testbed.faults.faults import FaultRules
from testbed.faults.logins import LoginFaults
from testbed.faults.rule import Aim, Deed, Rule

HANDSHAKE = encode_request(SaslHandshakeRequest("PLAIN"), 1, 5, "me")[4:]
TOKEN = encode_request(SaslAuthenticateRequest(b"secret"), 2, 6, "me")[4:]
VERSIONS = encode_request(ApiVersionsRequest("c", "1"), 3, 4, "me")[4:]
ANSWER = b"\0\0\0\4real"


class Login:
    """One that answers each frame at once, or later."""

    is_bare = False
    context: Any = SimpleNamespace(client_host="h", listener_name="SASL", connection_id="c")

    def __init__(self) -> None:
        self.carried_out: list[bytes] = []
        self.asks: list[Callable[[ReplyOrRefusal], None]] = []
        self.says: ReplyOrRefusal | None = ANSWER

    def carry_out(
        self, frame: memoryview, later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        self.carried_out.append(bytes(frame))
        if self.says is None:
            self.asks.append(later)
        return self.says


class Bench:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        nothing: Any = SimpleNamespace(topics=lambda _id: ())
        self.faults = FaultRules(self.scheduler, lambda _id: None, nothing, [])
        self.ranges: list[ApiKey] = []
        self.login = Login()
        self.later: list[ReplyOrRefusal] = []
        self.met = LoginFaults(self.faults, self)

    def say_range(self, _connection: Any, _frame: memoryview, reply: Any) -> None:
        reply(b"range")

    def send(self, frame: bytes) -> ReplyOrRefusal | None:
        return self.met.intercept(self.login, memoryview(frame), self.later.append)

    def do(self, api: ApiKey | None, deed: Deed, **settings: Any) -> Rule:
        rule = Rule(Aim(api), deed, **settings)
        self.faults.add("k", rule)
        return rule


@pytest.fixture
def bench() -> Bench:
    return Bench()


def error_of(api: ApiKey, said: ReplyOrRefusal | None, version: int) -> int:
    answer = said.answer if isinstance(said, LoginRefusal) else said
    assert answer
    _, response = decode_response(api, memoryview(answer)[4:], version)
    return int(response.error_code)


@pytest.mark.parametrize(
    ("api", "error", "frame", "version"),
    [
        (ApiKey.SASL_HANDSHAKE, ErrorCode.UNSUPPORTED_SASL_MECHANISM, HANDSHAKE, 1),
        (ApiKey.SASL_AUTHENTICATE, ErrorCode.SASL_AUTHENTICATION_FAILED, TOKEN, 2),
    ],
)
def test_a_login_is_refused_with_an_answer(
    bench: Bench, api: ApiKey, error: ErrorCode, frame: bytes, version: int
) -> None:
    rule = bench.do(api, Deed.ERROR, error=error, times=1)
    said = bench.send(frame)
    assert isinstance(said, LoginRefusal) and said.delayed, "as with a wrong password"
    assert error_of(api, said, version) == error
    assert bench.login.carried_out == [] and rule.applied == 1
    assert bench.send(frame) == ANSWER


def test_after_an_error_of_its_versions_a_login_goes_on(bench: Bench) -> None:
    bench.do(ApiKey.API_VERSIONS, Deed.ERROR, error=ErrorCode.INVALID_REQUEST)
    said = bench.send(VERSIONS)
    assert error_of(ApiKey.API_VERSIONS, said, 3) == ErrorCode.INVALID_REQUEST
    assert isinstance(said, bytes)


def test_a_version_that_is_refused_is_told_the_range(bench: Bench) -> None:
    bench.do(ApiKey.API_VERSIONS, Deed.ERROR, error=ErrorCode.UNSUPPORTED_VERSION)
    assert bench.send(VERSIONS) == b"range"


def test_latency(bench: Bench) -> None:
    bench.do(ApiKey.SASL_AUTHENTICATE, Deed.DELAY, delay_ms=300.0)
    assert bench.send(TOKEN) is None and bench.login.carried_out == [TOKEN]
    bench.scheduler.run_for(299)
    assert bench.later == []
    bench.scheduler.run_for(1)
    assert bench.later == [ANSWER]


def test_what_a_login_says_later_is_delayed_too(bench: Bench) -> None:
    bench.login.says = None
    bench.do(None, Deed.DELAY, delay_ms=300.0)
    assert bench.send(TOKEN) is None
    refused = LoginRefusal("a wrong password", b"frame")
    bench.login.asks[0](refused)
    bench.scheduler.run_for(300)
    assert bench.later == [refused]


@pytest.mark.parametrize(("deed", "carried_out"), [(Deed.UNANSWERED, 1), (Deed.LOST, 0)])
def test_no_answer_until_it_is_lifted(bench: Bench, deed: Deed, carried_out: int) -> None:
    bench.do(ApiKey.SASL_HANDSHAKE, deed)
    assert bench.send(HANDSHAKE) is None
    assert len(bench.login.carried_out) == carried_out and bench.later == []
    bench.faults.clear()
    (end,) = bench.later
    assert isinstance(end, LoginRefusal) and not end.answer and not end.delayed


def test_a_connection_ends_with_a_part_of_the_answer_or_with_nothing(bench: Bench) -> None:
    bench.do(ApiKey.SASL_HANDSHAKE, Deed.CUT, cut_at=0.75)
    said = bench.send(HANDSHAKE)
    assert isinstance(said, LoginRefusal) and said.answer == ANSWER[:6] and not said.delayed
    bench.login.says = LoginRefusal("a wrong password", ANSWER)
    said = bench.send(HANDSHAKE)
    assert isinstance(said, LoginRefusal) and said.answer == ANSWER[:6]
    bench.faults.clear()
    bench.do(ApiKey.SASL_HANDSHAKE, Deed.DISCONNECT)
    said = bench.send(HANDSHAKE)
    assert isinstance(said, LoginRefusal) and not said.answer


def test_what_is_no_request_of_a_login_goes_its_way(bench: Bench) -> None:
    rule = bench.do(None, Deed.LOST)
    metadata = encode_request(MetadataRequest(), 9, 7, "me")[4:]
    newer = b"\x00\x12\x00\x63" + VERSIONS[4:]
    for frame in (b"\0\x11", metadata, newer):
        assert bench.send(frame) == ANSWER
    bench.login.is_bare = True
    assert bench.send(HANDSHAKE) == ANSWER
    assert rule.matched == 0


def test_what_a_login_asks_the_apis_is_not_met_again(bench: Bench) -> None:
    rule = bench.do(None, Deed.DELAY, delay_ms=1.0)

    def carry_out(_frame: memoryview, _later: Any) -> ReplyOrRefusal:
        answers: list[object] = []
        context = SimpleNamespace(client_id="me")
        bench.faults.meet(
            SimpleNamespace(  # type: ignore[arg-type]
                context=context,
                request=None,
                reply=answers.append,
                carry_out=lambda _request, respond: respond("inner"),
                answer=lambda reply, response: reply(response),
            )
        )
        assert answers == ["inner"], "at once"
        return ANSWER

    bench.login.carry_out = carry_out  # type: ignore[method-assign]
    assert bench.send(VERSIONS) is None
    assert rule.matched == 1
