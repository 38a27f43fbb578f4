"""A node's Fetch on a folder, with or without the short ways; it tells which way was taken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broker.apis.fetch import FetchApi
from broker.requests.request_handler import RequestHandler
from protocol.api_keys import ApiKey
from protocol.message_codec import decode_response
from protocol.messages.fetch import FetchResponse
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import Replicas

REMEMBERED = (
    "key",
    "fetch_offset",
    "max_bytes",
    "current_leader_epoch",
    "last_fetched_epoch",
    "log_start_offset",
    "told_high_watermark",
    "told_log_start_offset",
    "turn",
)


class Broker:
    """A request handler on a folder, with the short way or without it, and how often it helped."""

    def __init__(
        self,
        folder: Path,
        quick: bool = True,
        replicas: Sequence[int] = (1,),
        **overrides: str,
    ) -> None:
        self.replicas = Replicas(str(folder), **overrides)
        self.replicas.create("t", partitions=3, replicas=replicas)
        fetch = FetchApi(self.replicas.config, self.replicas.manager)
        self.single = fetch.single
        (api,) = fetch.apis()
        handle, short = api.handle, api.quick
        assert short is not None
        self.long_way = 0
        self.short_way = 0
        self.after_waiting = 0
        """Of those that went the long way: how many had waited the short way first."""

        def counted_handle(*args: Any) -> None:
            self.long_way += 1
            handle(*args)

        def counted_quick(*args: Any) -> Any:
            *given, the_long_way, listener = args
            waits = False

            def after_waiting(frame: memoryview) -> None:
                self.after_waiting += waits
                the_long_way(frame)

            done = short(*given, after_waiting, listener)
            waits = True
            self.short_way += bool(done)
            return done

        object.__setattr__(api, "handle", counted_handle)
        object.__setattr__(api, "quick", counted_quick if quick else None)
        self.handler = RequestHandler([api])
        self.replies: list[Reply] = []
        self.connections = [Connection(), Connection()]
        self.at_once = 0

    def send(self, frame: bytes, connection: int = 0) -> Reply:
        """One request, as `broker.network.connection` has it handled."""
        reply = Reply()
        self.replies.append(reply)
        view, by = memoryview(bytearray(frame))[4:], self.connections[connection]
        if by.at_once is not None:
            later: list[Reply] = []

            def ask_later() -> Reply:
                later.append(reply)
                return reply

            answer = self.handler.handle_at_once(by, view, ask_later)
            if answer is not None:
                self.at_once += 1
                if answer:
                    reply.append(answer)
                assert len(later) == (not answer), "it comes now or later"
                return reply
        self.handler.handle(by, view, reply)
        return reply

    def frames(self) -> list[list[bytes]]:
        """All answers so far, request by request, as they go on the wire."""
        return [[joined(parts) for parts in reply] for reply in self.replies]

    def fetch(self, frame: bytes, version: int) -> FetchResponse:
        (parts,) = self.send(frame)
        response = decode_response(ApiKey.FETCH, memoryview(joined(parts))[4:], version)[1]
        assert isinstance(response, FetchResponse)
        return response

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
