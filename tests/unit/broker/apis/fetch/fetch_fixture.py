"""A node's Fetch on a folder, with what is prepared or without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broker.apis.fetch.api import FetchApi
from broker.requests.context import RequestContext
from broker.requests.request_handler import RequestHandler
from controller.authorization.rights import UNLIMITED, Rights
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from protocol.record_batch import iterate_batches
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns

PREPARED_BYTES = 1 << 20
REMEMBERED = (
    "key",
    "fetch_offset",
    "max_bytes",
    "current_leader_epoch",
    "last_fetched_epoch",
    "log_start_offset",
    "sent_high_watermark",
    "sent_log_start_offset",
    "turn",
)


class Broker:
    """A request handler on a folder, with what is prepared or without it, and how often it
    helped."""

    def __init__(
        self,
        folder: Path,
        prepares: bool = True,
        replicas: Sequence[int] = (1,),
        **overrides: str,
    ) -> None:
        self.replicas = Replicas(str(folder), **overrides)
        self.replicas.create("t", partitions=3, replicas=replicas)
        (api,) = FetchApi(self.replicas.config, self.replicas.manager, Turns().answers).apis()
        handle = api.handle
        self.handled = 0

        def counted_handle(*args: Any) -> None:
            self.handled += 1
            handle(*args)

        object.__setattr__(api, "handle", counted_handle)
        self.handler = RequestHandler([api], PREPARED_BYTES if prepares else 0)
        self.replies: list[Reply] = []
        self.connections = [Connection(), Connection()]
        self.at_once = 0

    def send(self, frame: bytes, connection: int = 0) -> Reply:
        """One request, as `broker.network.server.connection` has it handled."""
        reply = Reply()
        self.replies.append(reply)
        view, by = memoryview(bytearray(frame))[4:], self.connections[connection]
        later: list[Reply] = []

        def ask_later() -> Reply:
            later.append(reply)
            return reply

        answer = self.handler.handle_at_once(by, view, ask_later)
        if answer is None:
            self.handler.handle(by, view, reply)
            return reply
        self.at_once += 1
        if answer:
            reply.append(answer)
        assert len(later) == (not answer), "it comes now or later"
        return reply

    def frames(self) -> list[list[bytes]]:
        """All answers so far, request by request, as they go on the wire."""
        return [[joined(parts) for parts in reply] for reply in self.replies]

    def fetch(self, frame: bytes, version: int) -> FetchResponse:
        (parts,) = self.send(frame)
        response = decode_response(ApiKey.FETCH, memoryview(joined(parts))[4:], version)[1]
        assert isinstance(response, FetchResponse)
        return response

    def requests(self) -> list[int]:
        """What is counted of consumers and of followers."""
        followers = self.handler.follower_fetches
        assert followers is not None
        return [self.handler.metrics[1].requests, followers.requests]

    def counts(self) -> list[Any]:
        partitions = [self.replicas.manager.partition("t", index) for index in range(3)]
        return [one.counts for one in partitions if one is not None]

    def sessions(self) -> list[Any]:
        """What the sessions remember, in the order in which they would be given up."""
        return [
            (
                session.session_id,
                session.epoch,
                session.last_used_ms,
                list(session.changed),
                [
                    [getattr(one, name, None) for name in REMEMBERED]
                    for one in session.partitions.values()
                ],
            )
            for session in self.replicas.manager.sessions
        ]


def joined(parts: Any) -> bytes:
    if isinstance(parts, (bytes, bytearray)):
        return bytes(parts)
    return b"".join(p.read() if hasattr(p, "read") else bytes(p) for p in parts)


MIB = 1 << 20


class Fetch:
    """The API on a folder, and what it answered."""

    def __init__(self, folder: Path, rights: Rights = UNLIMITED) -> None:
        self.replicas = Replicas(str(folder))
        self.rights = rights
        self.api = FetchApi(self.replicas.config, self.replicas.manager, Turns().answers)
        self.answers: list[FetchResponse] = []

    def send(
        self,
        wanted: dict[tuple[str, int], int],
        *,
        version: int = 12,
        session: tuple[int, int] = (0, -1),
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = MIB,
        partition_max_bytes: int = MIB,
        isolation: int = 0,
        forgotten: tuple[tuple[str, int], ...] = (),
        listener: str = "PLAINTEXT",
        **options: Any,
    ) -> list[FetchResponse]:
        """Fetch `{(topic, partition): offset}`; all answers so far."""
        by_id = version >= 13
        topics: dict[str, list[FetchPartition]] = {}
        for (name, index), offset in wanted.items():
            asked = FetchPartition(
                index, fetch_offset=offset, partition_max_bytes=partition_max_bytes
            )
            topics.setdefault(name, []).append(asked)
        named = [
            FetchTopic("" if by_id else name, topic_id_of(name) if by_id else bytes(16), asked)
            for name, asked in topics.items()
        ]
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation,
            session_id=session[0],
            session_epoch=session[1],
            topics=named,
            forgotten_topics_data=[
                ForgottenTopic("" if by_id else name, topic_id_of(name), [index])
                for name, index in forgotten
            ],
            **options,
        )
        context = RequestContext(1, version, 1, "me", "here", listener, "c", self.rights)
        self.api.handle(context, request, self.answers.append)
        return self.answers

    def partitions(self) -> dict[tuple[str, int], PartitionData]:
        """What the last answer names."""
        named = {}
        for topic in self.answers[-1].responses:
            for partition in topic.partitions:
                name = topic.topic or topic.topic_id.rstrip(b"_").decode()
                named[(name, partition.partition_index)] = partition
        return named

    def one(self) -> PartitionData:
        (partition,) = self.partitions().values()
        return partition


def offsets(partition: PartitionData) -> list[int]:
    records: Any = partition.records
    data = records if isinstance(records, bytes) else records.read()
    return [h.base_offset for _, h in iterate_batches(memoryview(data), allow_partial_tail=True)]
