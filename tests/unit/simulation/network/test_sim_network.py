"""A client's connections: answers, time-outs, and what the weather does to them."""

from __future__ import annotations

from ground.sim_scheduler import SimScheduler
from protocol.frames.message_codec import response_parts
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from simulation.network.sim_network import (
    LOST,
    TIMED_OUT,
    Exchange,
    SimNetwork,
    Weather,
)
from tests.unit.simulation.network.stub_server import StubServer


class RecordingWatcher:
    """A watcher."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def sent(self, exchange: Exchange) -> None:
        self.lines.append("sent")

    def handled(self, exchange: Exchange) -> None:
        self.lines.append("handled")

    def answered(self, exchange: Exchange) -> None:
        self.lines.append("answered")

    def received(self, exchange: Exchange) -> None:
        self.lines.append("received")

    def unanswered(self, exchange: Exchange) -> None:
        self.lines.append("given up")


class World:
    def __init__(self, weather: Weather | None = None) -> None:
        self.world = SimScheduler()
        self.network = SimNetwork(self.world, "1", weather or Weather())
        self.server = StubServer(self.world)
        self.network.add("broker-1", self.server, clients=True)
        self.seen = RecordingWatcher()
        self.network.watch(self.seen)

    def ask(self) -> Exchange:
        connection = self.network.connect("client", "broker-1")
        assert connection is not None
        return connection.send(ApiVersionsRequest(), 2, 1_000.0)

    def answer(self) -> None:
        _, reply = self.server.asked.pop()
        reply(response_parts(ApiVersionsResponse(), 2, 1))


def test_a_request_and_its_answer() -> None:
    one = World()
    exchange = one.ask()
    one.world.run_for(500.0)
    assert exchange.handled_ms is not None and exchange.outcome is None
    one.answer()
    one.world.run_for(450.0)
    assert exchange.ok and exchange.response.error_code == 0 and exchange.digest
    assert one.seen.lines == ["sent", "handled", "answered", "received"]
    assert one.network.client_addresses == ["broker-1"]


def test_who_is_not_answered_in_time_gives_up_and_hangs_up() -> None:
    one = World()
    exchange, told = one.ask(), []
    exchange.waiters.append(lambda settled: told.append(settled.outcome))
    one.world.run_for(1_500.0)
    assert told == [TIMED_OUT] and one.seen.lines[-1] == "given up"
    one.world.run_for(500.0)
    assert len(one.server.closed) == 1


def test_a_connection_that_is_cut_loses_its_requests() -> None:
    one = World(Weather(cut_chance=1.0))
    exchange = one.ask()
    one.world.run_for(100.0)
    assert exchange.outcome == LOST


def test_a_dumb_connection_loses_answers() -> None:
    one = World(Weather(dumb_chance=1.0))
    exchange = one.ask()
    one.world.run_for(500.0)
    one.answer()
    one.world.run_for(1_000.0)
    assert exchange.outcome == TIMED_OUT and exchange.answered_ms is not None
    one.network.set_weather(Weather())
    assert one.network.weather.dumb_chance == 0.0


def test_nobody_listens_there_is_no_connection() -> None:
    one = World()
    one.server.is_listening = False
    assert one.network.connect("client", "broker-1") is None
    one.network.links.cut("client", "broker-1")
    assert one.network.connect("client", "broker-1") is not None, "nobody can tell it that"


def test_what_was_given_up_before_the_connection_was_made_never_arrives() -> None:
    one = World()
    one.network.links.cut("broker-1", "client")
    exchange = one.ask()
    one.world.run_for(1_500.0)
    assert exchange.outcome == TIMED_OUT and exchange.handled_ms is None
    one.network.links.heal()
    one.world.run_for(1_000.0)
    assert one.server.asked == [] and one.server.closed == []
