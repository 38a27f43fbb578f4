"""The links of a node to other nodes, which a test can cut: requests over a cut link are not sent.

Owns the ports of cut links: the nodes of a test's cluster are on one machine, so a port is enough.
Requests that are under way when a link is cut fail as LOST. A later request fails as TIMED_OUT
after its time-out, as with dropped packets. If the link is restored earlier, the request fails as
LOST, so that nothing waits longer. A cut concerns one direction: the requests of this node. Clients
use no link.

Never opens a connection: requests over whole links go to the real network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from ground.ports import Answered, Channel, ChannelFailure, Network, Scheduler, Timer


class NodeLinks:
    """The links of one node; `over` makes a network (`ground.ports.Network`) of them."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cut: set[int] = set()
        self._channels: dict[CuttableChannel, None] = {}
        self._held: dict[_HeldRequest, Timer] = {}
        """The held requests, each with the timer of its time-out."""

    def over(self, network: Network) -> CuttableNetwork:
        """Return a network that sends through `network`, except over links that are cut."""
        return CuttableNetwork(network, self)

    def cut(self, ports: Iterable[int]) -> None:
        """Cut the links to these ports, and close their channels' connections: requests under way
        fail as LOST. Later requests are held."""
        cut = set(ports) - self._cut
        self._cut |= cut
        for channel in list(self._channels):
            if channel.port in cut:
                channel.break_off()

    def heal(self, ports: Iterable[int] | None = None) -> None:
        """Restore the links to these ports, or all links if None. Requests that are held for them
        fail as LOST."""
        healed = set(self._cut) if ports is None else self._cut & set(ports)
        self._cut -= healed
        for held in [held for held in self._held if held.port in healed]:
            self._held.pop(held).cancel()
            held.done(None, ChannelFailure.LOST)

    def is_cut(self, port: int) -> bool:
        """Return whether the link to this port is cut."""
        return port in self._cut

    def hold(self, port: int, done: Answered, timeout_ms: float) -> None:
        """Hold a request without sending it: `done` gets TIMED_OUT after `timeout_ms`, or LOST when
        the link is restored."""

        held = _HeldRequest(port, done)
        self._held[held] = self._scheduler.call_later(timeout_ms, partial(self._time_out, held))

    def _time_out(self, held: _HeldRequest) -> None:
        """End a held request: its `done` gets TIMED_OUT."""
        del self._held[held]
        held.done(None, ChannelFailure.TIMED_OUT)

    def opened(self, channel: CuttableChannel) -> None:
        """Add a channel to those whose connection `cut` closes."""
        self._channels[channel] = None

    def closed(self, channel: CuttableChannel) -> None:
        """Remove a channel that is closed from those whose connection `cut` closes."""
        self._channels.pop(channel, None)


@dataclass(frozen=True, slots=True, eq=False)
class _HeldRequest:
    """A request over a cut link."""

    port: int
    done: Answered


class CuttableNetwork:
    """A network whose links a test can cut (`ground.ports.Network`)."""

    def __init__(self, network: Network, links: NodeLinks) -> None:
        self._network = network
        self._links = links

    def channel(self, host: str, port: int, client_id: str) -> CuttableChannel:
        """Return a channel to an address, which connects at the first request; see
        `Network.channel`."""
        channel = CuttableChannel(self._network, self._links, (host, port, client_id))
        self._links.opened(channel)
        return channel


class CuttableChannel:
    """A channel that sends nothing while its link is cut (`ground.ports.Channel`)."""

    def __init__(self, network: Network, links: NodeLinks, where: tuple[str, int, str]) -> None:
        """Create a channel without a connection; `where` is the host, the port and the client
        id."""
        self._network = network
        self._links = links
        self._where = where
        self._channel: Channel | None = None

    @property
    def port(self) -> int:
        """The port of the node at the other end."""
        return self._where[1]

    def send(
        self, request: object, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send a request, or hold it without sending if the link is cut; see `Channel.send`. A held
        request ends as `NodeLinks.hold` says."""
        if self._links.is_cut(self.port):
            self._links.hold(self.port, done, timeout_ms)
            return
        if self._channel is None:
            self._channel = self._network.channel(*self._where)
        self._channel.send(request, done, timeout_ms, version)

    def break_off(self) -> None:
        """Close the connection, if there is one: requests under way are lost. The next request
        opens another."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def close(self) -> None:
        """Close the channel for good, with its connection; see `Channel.close`."""
        self._links.closed(self)
        self.break_off()
