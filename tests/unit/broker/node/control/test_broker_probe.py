from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker.node.control.broker_probe import BrokerProbe
from controller.metadata.image import BrokerRegistration, Endpoint
from ground.ports import Answered, ChannelFailure, Probed
from ground.sim_scheduler import SimScheduler
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

ME, OTHER = 1, 2
EPOCH = 40


class Channel:
    def __init__(self) -> None:
        self.done: Answered | None = None
        self.closed = False

    def send(self, _: Any, done: Answered, timeout_ms: float, version: int | None = None) -> None:
        self.done = done

    def close(self) -> None:
        self.closed = True


class World:
    """A controller that sees one other broker."""

    def __init__(
        self, *, active: bool = True, fenced: bool = False, looks: bool = False, secured: int = 0
    ) -> None:
        self.scheduler = SimScheduler()
        self.probed: list[tuple[str, int]] = []
        self.channels: list[Channel] = []
        self.looks: list[tuple[str, int, Probed]] = []
        self.gone: list[tuple[int, int]] = []
        broker = BrokerRegistration(
            OTHER,
            EPOCH,
            b"",
            {"IN": Endpoint("IN", "host", 9, secured)},
            {},
            None,
            fenced,
            False,
            (),
        )
        self.brokers = {OTHER: broker, ME: broker._replace(id=ME)}
        controller = SimpleNamespace(
            is_active=active,
            broker_gone=lambda *broker: self.gone.append(broker),
            add_claim_listener=self._listen,
        )
        config: Any = SimpleNamespace(node_id=ME, inter_broker_listener_name="IN")
        ports: Any = SimpleNamespace(
            network=self, scheduler=self.scheduler, probe_address=self._look if looks else None
        )
        node: Any = SimpleNamespace(image=self, controller=controller)
        self.probe = BrokerProbe(config, ports, node)

    def _listen(self, listener: Any) -> None:
        self.claimed = listener

    def channel(self, host: str, port: int, _: str) -> Channel:
        self.probed.append((host, port))
        self.channels.append(Channel())
        return self.channels[-1]

    def _look(self, host: str, port: int, done: Probed, timeout_ms: float) -> None:
        self.looks.append((host, port, done))

    def seen(self, failure: ChannelFailure | None) -> None:
        channel = self.channels[-1]
        assert channel.done is not None
        channel.done(None if failure else object(), failure)
        assert channel.closed

    def heartbeat_then_close(self, epoch: int = EPOCH) -> None:
        self.probe.note_heartbeat("c", BrokerHeartbeatRequest(OTHER, epoch))
        self.probe.connection_closed("c")


def test_a_refused_connection_is_the_proof() -> None:
    world = World()
    world.heartbeat_then_close()
    assert world.probed == [("host", 9)]
    world.seen(ChannelFailure.REFUSED)
    assert world.gone == [(OTHER, EPOCH)]


def test_a_broker_that_answers_or_is_slow_keeps_its_session() -> None:
    for failure in (None, ChannelFailure.TIMED_OUT):
        world = World()
        world.heartbeat_then_close()
        world.seen(failure)
        world.scheduler.run_for(10_000)
        assert (world.gone, len(world.probed)) == ([], 1)


def test_a_process_that_is_about_to_end_is_looked_at_again() -> None:
    world = World()
    world.heartbeat_then_close()
    world.seen(ChannelFailure.LOST)
    world.scheduler.run_for(200)
    world.seen(ChannelFailure.REFUSED)
    assert world.gone == [(OTHER, EPOCH)]


def test_nobody_is_looked_at_without_need() -> None:
    for world in (World(active=False), World(fenced=True)):
        world.heartbeat_then_close()
        assert world.probed == []
    world = World()
    world.heartbeat_then_close(epoch=EPOCH - 1)
    world.probe.connection_closed("another connection")
    assert world.probed == []


def test_a_new_controller_looks_at_all_that_are_not_fenced_but_itself() -> None:
    world = World()
    world.claimed(list(world.brokers.values()))
    assert world.probed == [("host", 9)]
    world.seen(ChannelFailure.REFUSED)
    assert world.gone == [(OTHER, EPOCH)]


def test_into_a_secured_listener_without_a_way_in_it_only_looks() -> None:
    world = World(looks=True, secured=3)
    world.heartbeat_then_close()
    # A process that ends may let somebody connect for a moment.
    for outcome in (None, ChannelFailure.LOST, ChannelFailure.REFUSED):
        host, port, done = world.looks.pop()
        assert (host, port, world.probed, world.gone) == ("host", 9, [], [])
        done(outcome)
        world.scheduler.run_for(200)
    assert world.gone == [(OTHER, EPOCH)]
    plain = World(looks=True)
    plain.heartbeat_then_close()
    assert (plain.probed, plain.looks) == ([("host", 9)], [])


def test_a_broker_that_lets_one_connect_keeps_its_session() -> None:
    for outcomes in ((None, None, None), (ChannelFailure.TIMED_OUT,)):
        world = World(looks=True, secured=1)
        world.heartbeat_then_close()
        for outcome in outcomes:
            world.looks.pop()[2](outcome)
            world.scheduler.run_for(200)
        assert (world.gone, world.looks) == ([], [])
