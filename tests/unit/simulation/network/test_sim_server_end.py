"""A broker's end of a connection: one request at a time, and no word from a life that is over."""

from __future__ import annotations

import random

from ground.sim_scheduler import SimScheduler
from simulation.network.sim_links import Links, OneWayWire
from simulation.network.sim_server_end import Ends, ServerEnd
from tests.unit.simulation.network.stub_server import StubServer


class Peer:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def arrived(self, item: int) -> None:
        self.heard.append(("arrived", item))

    def handling(self, item: int) -> None:
        self.heard.append(("handling", item))

    def answered(self, item: int, refused: str | None, size: int = 0, mute_ms: int = 0) -> None:
        self.heard.append(("answered", item, refused, size, mute_ms))

    def deliver(self, item: int, frame: bytes) -> None:
        self.heard.append(("answer", item, frame))

    def hears_close(self) -> None:
        self.heard.append(("closed",))

    def hears_refusal(self) -> None:
        self.heard.append(("refused",))


class World:
    """One connection."""

    def __init__(self) -> None:
        self.world = SimScheduler()
        self.server = StubServer(self.world)
        self.peer = Peer()
        self.ends = Ends()
        links = Links(self.world, random.Random(1))
        back = OneWayWire(links, "broker-1", "client")
        self.end: ServerEnd[int] = ServerEnd(
            self.ends, self.server, 9092, self.peer, "c", back, lambda: 1.0, "ANONYMOUS"
        )


def test_the_next_request_is_handled_when_the_one_before_is_answered() -> None:
    one = World()
    one.end.arrive(1, b"first")
    one.end.arrive(2, b"second")
    assert [frame for frame, _ in one.server.asked] == [b"first"]
    assert bytes(one.server.views[0]) == b"\xdd" * 5, "a frame's bytes are good for the call alone"
    reply = one.server.asked[0][1]
    reply([b"an", b"swer"])
    reply([b"again"])
    one.world.run_for(10.0)
    assert [frame for frame, _ in one.server.asked] == [b"first", b"second"]
    assert ("answer", 1, b"answer") in one.peer.heard
    one.server.asked[1][1](None)
    assert one.peer.heard[-1] == ("answered", 2, None, 0, 0)


def test_nobody_listens_the_peer_is_refused_once() -> None:
    one = World()
    one.server.is_listening = False
    one.end.arrive(1, b"x")
    one.end.arrive(2, b"y")
    one.world.run_for(10.0)
    assert one.peer.heard == [("refused",)]


def test_a_process_that_died_closes_its_connections_but_not_from_the_dark() -> None:
    for silently, heard in ((False, ("closed",)), (True, ("handling", 1))):
        one = World()
        one.end.arrive(1, b"x")
        one.ends.process_gone("broker-1", silently=silently)
        one.world.run_for(10.0)
        assert one.peer.heard[-1] == heard


def test_what_is_sent_to_the_next_life_is_reset() -> None:
    one = World()
    one.end.arrive(1, b"x")
    one.server.life = 2
    one.end.arrive(2, b"y")
    one.world.run_for(10.0)
    assert one.peer.heard[-1] == ("closed",) and len(one.server.asked) == 1


def test_a_refusal_and_a_part_of_an_answer_close_the_connection() -> None:
    for close in (lambda reply: reply.close(), lambda reply: reply.last(b"par")):
        one = World()
        one.end.arrive(1, b"x")
        close(one.server.asked[0][1])
        one.world.run_for(10.0)
        assert one.peer.heard[-1] == ("closed",)


def test_a_peer_that_hangs_up_is_told_to_the_process() -> None:
    one = World()
    one.end.arrive(1, b"x")
    one.end.hear_close()
    assert len(one.server.closed) == 1 and one.end.gone


def test_a_client_that_has_to_wait_is_answered_and_then_not_read() -> None:
    one = World()
    one.end.arrive(1, b"first")
    one.end.arrive(2, b"second")
    one.server.contexts[0].throttled(500)
    one.server.asked[0][1]([b"an", b"swer"])
    one.world.run_for(490.0)
    assert ("answered", 1, None, 6, 500) in one.peer.heard
    assert ("answer", 1, b"answer") in one.peer.heard
    assert len(one.server.asked) == 1
    one.world.run_for(11.0)
    assert len(one.server.asked) == 2
    one.server.asked[1][1](None)
    assert one.peer.heard[-1] == ("answered", 2, None, 0, 0), "it has waited"
