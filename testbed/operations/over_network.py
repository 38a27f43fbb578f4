"""Requests to a cluster, Ottla's or Apache Kafka's, as a client sends them.

Owns a channel for each node, and one more for requests that the node may hold for long, so that no
other request waits behind them. The addresses of nodes come from the cluster's Metadata, which is
requested again if a node is not in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from client.core.operation import Answer
from ground.ports import Channel, ChannelFailure
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import Request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from testbed.operations.port import NoAnswer, NotServed

CLIENT_ID = "ottla-testing"
TIMEOUT_MS = 30_000.0
METADATA_VERSION = 9
API_VERSIONS_VERSION = 3
_PARKED = (int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP))
_YOUNG = (int(ApiKey.CONSUMER_GROUP_DESCRIBE),)
"""APIs that old brokers lack. Such a broker closes the connection after a request of these APIs."""

Address = tuple[str, int]


class Channels(Protocol):
    """A maker of channels (`broker.network.outgoing.network_client.NetworkClient`)."""

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        """Return a channel to an address, which sends `client_id`."""


class OverNetwork:
    """Sends requests (`port.SendRequest`) over the network."""

    def __init__(self, network: Channels, bootstrap: Sequence[Address]) -> None:
        """Use `network` for channels. `bootstrap` is the addresses for requests to any node, tried
        in this order."""
        self._network = network
        self._bootstrap = list(bootstrap)
        self._addresses: dict[int, Address] = {}
        self._channels: dict[tuple[Address, bool], Channel] = {}

    async def __call__(self, node_id: int | None, message: Request, version: int) -> Answer:
        """Return the response of that node or, with `node_id` None, of the first bootstrap address
        that answers within 30 s. Raises NoAnswer, NotServed."""
        if message.API_KEY in _YOUNG:
            version = min(version, await self._newest_version(node_id, message))
        tried = self._bootstrap if node_id is None else [await self._address_of(node_id)]
        failure = ChannelFailure.REFUSED
        for address in tried:
            response = await self._send(address, message, version)
            if not isinstance(response, ChannelFailure):
                return response
            failure = response
        where = ", ".join(f"{host}:{port}" for host, port in tried)
        raise NoAnswer(
            f"no answer from {where} ({failure.value})",
            was_sent=failure is not ChannelFailure.REFUSED,
        )

    def close(self) -> None:
        """Close all channels."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    async def _newest_version(self, node_id: int | None, message: Request) -> int:
        """Return the newest version that the node serves of the message's API, which not every
        broker has. Raises NotServed, NoAnswer."""
        served = await self(node_id, ApiVersionsRequest(CLIENT_ID, "1"), API_VERSIONS_VERSION)
        newest = {api.api_key: api.max_version for api in served.api_keys}
        if message.API_KEY not in newest:
            raise NotServed(type(message).__name__)
        return int(newest[message.API_KEY])

    async def _address_of(self, node_id: int) -> Address:
        """Return a node's address; ask for the cluster's nodes if it is not known.

        Raises NoAnswer if the cluster lacks the node.
        """
        if node_id not in self._addresses:
            view = await self(None, MetadataRequest([], False), METADATA_VERSION)
            self._addresses = {
                broker.node_id: (broker.host, broker.port) for broker in view.brokers
            }
        address = self._addresses.get(node_id)
        if address is None:
            raise NoAnswer(f"node {node_id} is not in the cluster now", was_sent=False)
        return address

    async def _send(self, address: Address, message: Request, version: int) -> Answer:
        """Return the response, or the ChannelFailure. If a channel that was used before has lost
        its connection, send Metadata once more: the node may have been restarted. After a failure,
        forget the addresses of nodes."""
        key = (address, message.API_KEY in _PARKED)
        channel = self._channels.get(key)
        was_used = channel is not None
        if channel is None:
            channel = self._channels[key] = self._network.channel(*address, CLIENT_ID)
        response = await _answer_or_failure(channel, message, version)
        if response is ChannelFailure.LOST and was_used and message.API_KEY == ApiKey.METADATA:
            response = await _answer_or_failure(channel, message, version)
        if isinstance(response, ChannelFailure):
            self._addresses.clear()
        return response


async def _answer_or_failure(channel: Channel, message: Request, version: int) -> Answer:
    """Send a request and return its response, or the failure as a value, after 30 s at the
    latest."""
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def done(response: Answer, failure: ChannelFailure | None) -> None:
        """Complete the answer, with the failure as its value if there is one. A second call does
        nothing."""
        if not answer.done():
            answer.set_result(response if failure is None else failure)

    channel.send(message, done, TIMEOUT_MS, version)
    return await answer
