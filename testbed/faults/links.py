"""The links of a node to others, which a test can cut: what is sent over such a link gets nowhere.

Owns which ports are behind a cut link: nodes of a cluster of ours are on one machine, so a port is
enough. What was under way when the link was cut is LOST; what is sent afterwards is TIMED_OUT when
its time is up, as with packets that are dropped, or LOST as soon as the link is whole again: so
nobody goes on waiting then. A link is cut in one direction: that of requests. Clients are on no
link.

Never opens a connection: what is not cut goes to the real network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from ground.ports import Answered, Channel, ChannelFailure, Network, Scheduler, Timer


class Links:
    """Those of one node; `ground.ports.Network` by `over`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cut: set[int] = set()
        self._channels: dict[CuttableChannel, None] = {}
        self._swallowed: dict[_Swallowed, Timer] = {}
        """Requests that got nowhere, with the end of their time."""

    def over(self, network: Network) -> CuttableNetwork:
        """This network, as far as links are whole."""
        return CuttableNetwork(network, self)

    def cut(self, ports: Iterable[int]) -> None:
        """Nothing that is sent to these ports arrives any more."""
        cut = set(ports) - self._cut
        self._cut |= cut
        for channel in list(self._channels):
            if channel.port in cut:
                channel.break_off()

    def heal(self, ports: Iterable[int] | None = None) -> None:
        """The links to these ports are whole; None: all."""
        healed = set(self._cut) if ports is None else self._cut & set(ports)
        self._cut -= healed
        for one in [one for one in self._swallowed if one.port in healed]:
            self._swallowed.pop(one).cancel()
            one.done(None, ChannelFailure.LOST)

    def is_cut(self, port: int) -> bool:
        """Whether nothing arrives there."""
        return port in self._cut

    def swallow(self, port: int, done: Answered, timeout_ms: float) -> None:
        """Tell that there was no answer: in time, or before the link was whole again."""

        one = _Swallowed(port, done)
        self._swallowed[one] = self._scheduler.call_later(
            timeout_ms, partial(self._out_of_time, one)
        )

    def _out_of_time(self, one: _Swallowed) -> None:
        del self._swallowed[one]
        one.done(None, ChannelFailure.TIMED_OUT)

    def opened(self, channel: CuttableChannel) -> None:
        """A channel that a cut may break."""
        self._channels[channel] = None

    def closed(self, channel: CuttableChannel) -> None:
        """It is not used any more."""
        self._channels.pop(channel, None)


@dataclass(frozen=True, slots=True, eq=False)
class _Swallowed:
    """A request that got nowhere."""

    port: int
    done: Answered


class CuttableNetwork:
    """A network whose links a test can cut (`ground.ports.Network`)."""

    def __init__(self, network: Network, links: Links) -> None:
        self._network = network
        self._links = links

    def channel(self, host: str, port: int, client_id: str) -> CuttableChannel:
        """See `Network.channel`."""
        channel = CuttableChannel(self._network, self._links, (host, port, client_id))
        self._links.opened(channel)
        return channel


class CuttableChannel:
    """A channel that sends nothing while its link is cut (`ground.ports.Channel`)."""

    def __init__(self, network: Network, links: Links, where: tuple[str, int, str]) -> None:
        self._network = network
        self._links = links
        self._where = where
        self._channel: Channel | None = None

    @property
    def port(self) -> int:
        """To which it leads."""
        return self._where[1]

    def send(
        self, request: object, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """See `Channel.send`."""
        if self._links.is_cut(self.port):
            self._links.swallow(self.port, done, timeout_ms)
            return
        if self._channel is None:
            self._channel = self._network.channel(*self._where)
        self._channel.send(request, done, timeout_ms, version)

    def break_off(self) -> None:
        """The link is cut: what is under way is lost."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def close(self) -> None:
        """See `Channel.close`."""
        self._links.closed(self)
        self.break_off()
