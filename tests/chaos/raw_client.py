"""A client of a whole cluster that does nothing by itself: every request and its outcome is exact.

`RawClient` keeps one connection a node and what Metadata said of leaders. It never retries. What
can become of a request is three exceptions apart from its answer: it was not sent, its connection
ended, nobody answered in time; after the last two nobody knows whether it was carried out.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Sequence
from typing import Any

from client.core.fetching import fetch_request, visible_records
from client.core.offsets import LATEST, offsets_request
from client.core.operation import metadata_request
from client.core.producing import ACKS_OF_ALL, produce_request
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.records import Record
from tests.batches import build_batch
from tests.tools.cluster_security import ClusterLogin

ANSWER_TIMEOUT_S = 8.0
CONNECT_TIMEOUT_S = 3.0
PRODUCE_TIMEOUT_MS = 3_000
FETCH_WAIT_MS = 200
FETCH_BYTES = 64 * 1024
PRODUCE_VERSION = 9
UNCOMMITTED, COMMITTED = 0, 1
"""Isolation levels on the wire."""
METADATA_TOPIC = "__cluster_metadata"

Address = tuple[str, int] | tuple[str, int, ClusterLogin | None]
"""Host, port, and how to log in there."""


class NotSent(Exception):
    """The node could not be reached: nothing was carried out."""


class Hung(Exception):
    """The connection ended before the answer."""


class Silent(Hung):
    """No answer within its time; the connection is closed."""


def key_of(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def topic_of(key: str) -> tuple[str, int]:
    topic, _, partition = key.rpartition("-")
    return topic, int(partition)


class Connection:
    """One connection, one request at a time."""

    def __init__(self, address: Address, client_id: str) -> None:
        self.address = address
        self._client_id = client_id
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._correlation = 0

    async def call(self, request: Any, version: int, timeout_s: float) -> Any:
        """The answer. NotSent, Hung or Silent without one."""
        if self._streams is None:
            try:
                self._streams = await asyncio.wait_for(self._connect(), CONNECT_TIMEOUT_S)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                raise NotSent(str(error)) from error
        reader, writer = self._streams
        self._correlation += 1
        try:
            writer.write(encode_request(request, version, self._correlation, self._client_id))
            async with asyncio.timeout(timeout_s):
                await writer.drain()
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(size)
        except TimeoutError as error:
            self.close()
            raise Silent(type(request).__name__) from error
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Hung(str(error)) from error
        except asyncio.CancelledError:
            self.close()
            raise
        correlation, answer = decode_response(ApiKey(request.API_KEY), memoryview(frame), version)
        assert correlation == self._correlation
        return answer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port, *logins = self.address
        login = logins[0] if logins else None
        if login is None:
            return await asyncio.open_connection(host, port)
        streams = await asyncio.open_connection(host, port, ssl=login.tls, server_hostname=host)
        try:
            await login.log_in(*streams)
        except BaseException:
            streams[1].transport.abort()
            raise
        return streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class RawClient:
    """Connections to the nodes that `addresses` names, and who leads what."""

    def __init__(self, name: str, addresses: dict[int, Address], rng: random.Random) -> None:
        self.name = name
        self.rng = rng
        self.leaders: dict[str, tuple[int, int]] = {}
        """Leader (-1 for none) and leader epoch of each key."""
        self.isr: dict[str, list[int]] = {}
        self.replicas: dict[str, list[int]] = {}
        self._addresses = addresses
        self._connections: dict[int, Connection] = {}

    async def call(
        self, node: int, request: Any, version: int, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> Any:
        """The node's answer; NotSent, Hung or Silent."""
        if node not in self._addresses:
            raise NotSent(f"node {node} is unknown")
        connection = self._connections.get(node)
        if connection is None:
            connection = Connection(self._addresses[node], self.name)
            self._connections[node] = connection
        return await connection.call(request, version, timeout_s)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    # --- who is who ------------------------------------------------------------------------------

    async def metadata(self, node: int | None = None, timeout_s: float = 2.0) -> Any:
        """Metadata of all topics from `node`, or any; takes in what is newer. None without it."""
        nodes = list(self._addresses) if node is None else [node]
        self.rng.shuffle(nodes)
        for one in nodes:
            try:
                answer = await self.call(one, metadata_request(None), 9, timeout_s)
            except (NotSent, Hung):
                continue
            self._take_in(answer)
            return answer
        return None

    def _take_in(self, answer: Any) -> None:
        for topic in answer.topics:
            for part in topic.partitions:
                key = key_of(topic.name, part.partition_index)
                if part.leader_epoch >= self.leaders.get(key, (-1, -1))[1]:
                    self.leaders[key] = (part.leader_id, part.leader_epoch)
                    self.isr[key] = part.isr_nodes
                    self.replicas[key] = part.replica_nodes

    def leader(self, key: str) -> int | None:
        """Who leads `key`, as far as is known."""
        node = self.leaders.get(key, (-1, -1))[0]
        return node if node >= 0 else None

    async def coordinator(self, group: str, key_type: int = 0) -> int | None:
        """The node that coordinates `group` (type 1: a transactional id), by any that tells."""
        nodes = list(self._addresses)
        self.rng.shuffle(nodes)
        for node in nodes:
            try:
                answer = await self.call(node, FindCoordinatorRequest(group, key_type), 2, 2.0)
            except (NotSent, Hung):
                continue
            if answer.error_code == ErrorCode.NONE:
                return int(answer.node_id)
        return None

    async def quorum(self, node: int) -> tuple[int, int] | None:
        """Leader and epoch of the metadata quorum, as `node` or who it asks says."""
        topic = DescribeQuorumRequestTopicData(
            METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)]
        )
        try:
            answer = await self.call(node, DescribeQuorumRequest([topic]), 1, 2.0)
        except (NotSent, Hung):
            return None
        if answer.error_code != ErrorCode.NONE or not answer.topics:
            return None
        part = answer.topics[0].partitions[0]
        if part.error_code != ErrorCode.NONE:
            return None
        return part.leader_id, part.leader_epoch

    # --- records ---------------------------------------------------------------------------------

    async def produce(
        self,
        node: int,
        key: str,
        batch: bytes,
        transactional_id: str | None = None,
        version: int = PRODUCE_VERSION,
    ) -> Any:
        """The partition's part of the answer, with acks=all."""
        request = produce_request(topic_of(key), batch, ACKS_OF_ALL, PRODUCE_TIMEOUT_MS)
        request.transactional_id = transactional_id
        answer = await self.call(node, request, version)
        return answer.responses[0].partition_responses[0]

    async def fetch(
        self, node: int, key: str, offset: int, epoch: int, isolation: int = UNCOMMITTED
    ) -> Any:
        """The partition's part of the answer."""
        request = fetch_request(
            {topic_of(key): offset}, FETCH_WAIT_MS, FETCH_BYTES, FETCH_BYTES, isolation, epoch
        )
        answer = await self.call(node, request, 12)
        if not answer.responses:
            raise Hung(f"fetch: error {answer.error_code}")
        return answer.responses[0].partitions[0]

    async def end_offset(self, node: int, key: str, isolation: int = UNCOMMITTED) -> int | None:
        """The high watermark (or last stable offset) by ListOffsets, None with an error."""
        request = offsets_request({topic_of(key): LATEST}, isolation)
        answer = (await self.call(node, request, 5)).topics[0].partitions[0]
        return int(answer.offset) if answer.error_code == ErrorCode.NONE else None


def batch_of(
    values: Sequence[int],
    producer_id: int,
    sequence: int,
    now_ms: int,
    epoch: int = 0,
    is_transactional: bool = False,
) -> bytes:
    """An idempotent batch of whole numbers."""
    return bytes(
        build_batch(
            [Record(-1, now_ms, None, b"%d" % value) for value in values],
            producer_id=producer_id,
            producer_epoch=epoch if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
    )


def records_of(data: Any, position: int) -> list[tuple[int, int]]:
    """Offset and value of what a fetch from `position` gave."""
    return read_of(data, position)[0]


def read_of(data: Any, position: int) -> tuple[list[tuple[int, int]], int]:
    """Offset and value of what a fetch from `position` gave, and where the next one begins.

    Where the answer names aborted transactions (read_committed), their records are left out as a
    consumer leaves them out: from a transaction's first offset up to its marker.
    """
    records, position = visible_records(data.records or b"", data.aborted_transactions, position)
    return [(one.offset, int(one.value or b"-1")) for one in records], position
