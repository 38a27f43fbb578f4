"""The links of a node to others, which a test can cut: what is sent over such a link gets nowhere.

Owns which ports are behind a cut link: nodes of a cluster of ours are on one machine, so a port is
enough. What was under way when the link was cut is LOST; what is sent afterwards is TIMED_OUT when
its time is up, as with packets that are dropped. A link is cut in one direction: that of requests.
Clients are on no link.

Never opens a connection: what is not cut goes to the real network.
"""

from __future__ import annotations

from collections.abc import Iterable

from storage.ports import Answered, Channel, ChannelFailure, Network, Scheduler


class Links:
    """Those of one node; `storage.ports.Network` by `over`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cut: set[int] = set()
        self._channels: dict[CuttableChannel, None] = {}

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

    def heal(self) -> None:
        """All links are whole."""
        self._cut.clear()

    def is_cut(self, port: int) -> bool:
        """Whether nothing arrives there."""
        return port in self._cut

    def swallow(self, done: Answered, timeout_ms: float) -> None:
        """Tell that there was no answer in time, when it is up."""
        self._scheduler.call_later(timeout_ms, lambda: done(None, ChannelFailure.TIMED_OUT))

    def opened(self, channel: CuttableChannel) -> None:
        """A channel that a cut may break."""
        self._channels[channel] = None

    def closed(self, channel: CuttableChannel) -> None:
        """It is not used any more."""
        self._channels.pop(channel, None)


class CuttableNetwork:
    """See the module; `storage.ports.Network`."""

    def __init__(self, network: Network, links: Links) -> None:
        self._network = network
        self._links = links

    def channel(self, host: str, port: int, client_id: str) -> CuttableChannel:
        """See `Network.channel`."""
        channel = CuttableChannel(self._network, self._links, (host, port, client_id))
        self._links.opened(channel)
        return channel


class CuttableChannel:
    """See the module; `storage.ports.Channel`."""

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
            self._links.swallow(done, timeout_ms)
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
