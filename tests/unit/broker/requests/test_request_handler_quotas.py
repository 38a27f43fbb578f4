"""Quotas at the request handler: who is asked about them, and what becomes of the answer."""

from __future__ import annotations

from typing import Any

from broker.requests.context import Api, RequestContext, Respond
from broker.requests.interference import Meeting
from broker.requests.request_handler import RequestHandler
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.broker.fake_connection import Connection, Reply


class Quota:
    """One request's: it has to wait, and notes what it is told."""

    def __init__(self, wait_ms: int) -> None:
        self.wait_ms = wait_ms
        self.noted: list[str] = []

    def exempt(self) -> None:
        raise AssertionError

    def most_fetched(self) -> float:
        raise AssertionError

    def fetched(self, size: int) -> int:
        raise AssertionError

    def take_partitions(self, count: int) -> bool:
        raise AssertionError

    def answered(self, response: Any) -> int:
        self.noted.append("answered")
        if response is not None:
            response.throttle_time_ms = self.wait_ms
        return self.wait_ms

    def handled(self) -> None:
        self.noted.append("handled")


class Quotas:
    """Of a node; `me` has one. Counts each time that it is looked at."""

    def __init__(self, enabled: bool = True, wait_ms: int = 70) -> None:
        self._enabled = enabled
        self._wait_ms = wait_ms
        self.looks = 0
        self.asked: list[tuple[Any, ...]] = []
        self.given: list[Quota] = []

    @property
    def enabled(self) -> bool:
        self.looks += 1
        return self._enabled

    def of(self, asker: Any, client_id: Any, key: int, version: int, size: int) -> Quota | None:
        self.asked.append((asker.principal, client_id, key, version, size))
        if client_id != "me":
            return None
        self.given.append(Quota(self._wait_ms))
        return self.given[-1]


class Server:
    def __init__(self, quotas: Quotas) -> None:
        self.connection = Connection()
        self.contexts: list[RequestContext] = []
        self.parked: list[Respond] = []
        self.behave: Any = lambda respond: respond(HeartbeatResponse())
        self.handler = RequestHandler([Api(ApiKey.HEARTBEAT, 0, 4, self.heartbeat)])
        epoch = self.handler.admission.epoch
        self.handler.limit_by(quotas)
        assert self.handler.admission.epoch > epoch

    def heartbeat(self, context: RequestContext, request: Any, respond: Respond) -> None:
        self.contexts.append(context)
        self.behave(respond)

    def send(self, client_id: str = "me") -> Reply:
        request = HeartbeatRequest("g", 1, "m")
        frame = memoryview(bytearray(encode_request(request, 4, 7, client_id)))[4:]
        reply = Reply()
        self.handler.handle(self.connection, frame, reply)
        return reply


def told(reply: Reply) -> int:
    (frame,) = reply
    time_ms: int = decode_response(ApiKey.HEARTBEAT, memoryview(frame)[4:], 4)[1].throttle_time_ms
    return time_ms


def test_where_nothing_is_limited_there_is_one_look_and_no_call() -> None:
    quotas = Quotas(enabled=False)
    server = Server(quotas)
    for count in (1, 2, 3):
        assert told(server.send()) == 0
        assert (quotas.looks, quotas.asked) == (count, [])
    assert server.contexts[0].quota is None


def test_who_is_limited_is_told_and_its_connection_waits() -> None:
    quotas = Quotas()
    server = Server(quotas)
    assert told(server.send()) == 70
    assert server.connection.take_mute_ms() == 70
    (quota,) = quotas.given
    assert server.contexts[0].quota is quota
    assert quota.noted == ["answered", "handled"]
    ((principal, client_id, key, version, size),) = quotas.asked
    assert (principal, client_id, key, version) == ("User:ANONYMOUS", "me", 12, 4)
    assert size == len(encode_request(HeartbeatRequest("g", 1, "m"), 4, 7, "me")) - 4


def test_others_are_not() -> None:
    server = Server(Quotas())
    assert told(server.send("other")) == 0
    assert server.connection.take_mute_ms() == 0


def test_who_need_not_wait_does_not() -> None:
    server = Server(Quotas(wait_ms=0))
    assert told(server.send()) == 0
    assert server.connection.take_mute_ms() == 0


def test_an_answer_that_comes_later_and_one_that_there_is_not() -> None:
    quotas = Quotas()
    server = Server(quotas)
    server.behave = server.parked.append
    reply = server.send()
    assert (reply, quotas.given[0].noted, server.connection.mute_ms) == ([], ["handled"], 0)
    server.parked[0](HeartbeatResponse())
    assert told(reply) == server.connection.take_mute_ms() == 70
    assert server.send() == []
    server.parked[1](None)  # as a Produce with acks=0
    assert server.connection.take_mute_ms() == 70


def test_a_request_that_fails_counts_too() -> None:
    server = Server(Quotas())

    def fail(_respond: Respond) -> None:
        raise RuntimeError("a bug")

    server.behave = fail
    assert told(server.send()) == server.connection.take_mute_ms() == 70


class Delaying:
    """An interference that answers when it is told to."""

    def __init__(self) -> None:
        self.late: list[Any] = []

    def meet(self, meeting: Meeting) -> None:
        meeting.carry_out(
            meeting.request,
            lambda response: self.late.append(lambda: meeting.answer(meeting.reply, response)),
        )


def test_a_request_that_somebody_comes_between_counts_too() -> None:
    quotas, between = Quotas(), Delaying()
    server = Server(quotas)
    server.handler.interfere_by(between)
    reply, other = server.send(), server.send("other")
    assert [one.noted for one in quotas.given] == [["handled"]]
    assert (reply, other, server.connection.mute_ms) == ([], [], 0)
    for answer in between.late:
        answer()
    assert [one.noted for one in quotas.given] == [["handled", "answered"]]
    assert (told(reply), told(other)) == (70, 0)
    assert server.connection.take_mute_ms() == 70
