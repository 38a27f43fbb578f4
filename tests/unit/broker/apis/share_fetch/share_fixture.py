"""A partition leader's share groups on a folder, with a share coordinator whose answers a test
gives, and members that fetch and acknowledge.

`leader.fetch("m", 0)` opens a session for partition 0 of the topic `t`, and the transcript of the
answers is `leader.seen`, a line for each: who got what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from broker.apis.share_fetch.acknowledge_api import ShareAcknowledgeApi
from broker.apis.share_fetch.api import ShareFetchApi
from broker.requests.context import RequestContext, RequestQuota
from broker.share.delivery.settings import GroupDeliverySettings
from broker.share.delivery.share_partition import DeadLetter
from broker.share.share_partition_manager import ShareOutside, SharePartitionManager
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatches
from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import ResourceType
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, response_parts
from protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from tests.clients.share_talk import Acks, Batch, acknowledge_request, fetch_request, shown
from tests.unit.broker.apis.api_fixture import through_the_wire
from tests.unit.broker.fake_connection import Connection
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns

Reply = Callable[[ErrorCode, StateAnswer], None]


class Coordinator:
    """The share coordinator of all groups (`StateStore`); it may be slow, or fail."""

    def __init__(self) -> None:
        self.states: dict[SharePartitionKey, StateAnswer] = {}
        self.writes: list[WriteRequest] = []
        self.errors: list[ErrorCode] = []
        """The errors of the next calls."""
        self.held: list[Callable[[], None]] | None = None
        """The calls that are not answered yet; None: each is answered at once."""

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Reply) -> None:
        """Answer a read, at once or when the test says so."""
        self._answer(lambda: self._read(key, done))

    def write(self, key: SharePartitionKey, request: WriteRequest, done: Reply) -> None:
        """Answer a write, at once or when the test says so."""
        self._answer(lambda: self._write(key, request, done))

    def _answer(self, answer: Callable[[], None]) -> None:
        if self.held is None:
            answer()
        else:
            self.held.append(answer)

    def go_on(self) -> None:
        """Answer the held calls, and those to come at once."""
        held, self.held = self.held or [], None
        for answer in held:
            answer()

    def _read(self, key: SharePartitionKey, done: Reply) -> None:
        if self.errors:
            done(self.errors.pop(0), StateAnswer(message="as the test says"))
        else:
            done(ErrorCode.NONE, self.states.get(key, StateAnswer(1)))

    def _write(self, key: SharePartitionKey, request: WriteRequest, done: Reply) -> None:
        if self.errors:
            done(self.errors.pop(0), StateAnswer(message="as the test says"))
            return
        self.writes.append(request)
        batches = StateBatches([*self.states.get(key, StateAnswer()).batches, *request.batches])
        batches.drop_before(request.start_offset)
        self.states[key] = StateAnswer(
            1, 0, request.start_offset, request.final_count, list(batches)
        )
        done(ErrorCode.NONE, StateAnswer())


class ShareLeader:
    """A broker that leads the topic `t` with its share groups. Groups begin at the earliest
    offset."""

    def __init__(
        self, folder: Path, partitions: int = 1, rights: Rights = UNLIMITED, **overrides: str
    ) -> None:
        self.replicas = Replicas(str(folder), **overrides)
        self.scheduler = self.replicas.scheduler
        self.rights = rights
        self.version = 2
        self.quota: RequestQuota | None = None
        self.connection: Connection | None = None
        """The connection of requests, if a test needs more than its name."""
        self.coordinator = Coordinator()
        self.letters: list[tuple[DeadLetter, Callable[[], None]]] = []
        config, replicas = self.replicas.config, self.replicas.manager
        self.manager = SharePartitionManager(
            ShareOutside(
                replicas,
                self.coordinator,
                GroupDeliverySettings(config, lambda: self.replicas.image).of,
                lambda _, letter, done: self.letters.append((letter, done)),
                lambda: self.replicas.image.features.get("share.version", 0),
                config.group_share_max_share_sessions,
            )
        )
        answers = Turns().answers
        (fetch_api,) = ShareFetchApi(config, self.manager, replicas, answers).apis()
        (acknowledge_api,) = ShareAcknowledgeApi(self.manager, replicas, answers).apis()
        self.apis = {api.key: api for api in (fetch_api, acknowledge_api)}
        self.seen: list[str] = []
        self.set_share_version(2)
        self.configure(**{"share.auto.offset.reset": "earliest"})
        self.replicas.register(1)
        self.replicas.create("t", partitions=partitions)

    def set_share_version(self, level: int) -> None:
        """Finalize a level of `share.version`."""
        self.replicas.replay(FeatureLevelRecord("share.version", level))
        self.manager.metadata_changed()

    def configure(self, group: str = "g", **configs: str) -> None:
        """Set configs of a group, with dots as they are."""
        self.replicas.replay(
            *(ConfigRecord(ResourceType.GROUP, group, key, value) for key, value in configs.items())
        )

    def append(self, *batches: int, index: int = 0) -> None:
        """Append batches of so many records each."""
        for records in batches:
            self.replicas.append("t", *[b"v"] * records, index=index)

    # -- requests --------------------------------------------------------------------------------

    def fetch(
        self,
        member: str,
        epoch: int,
        partitions: Iterable[int] = (),
        acks: Acks | None = None,
        *,
        topic: str = "t",
        forgotten: Iterable[int] = (),
        connection: str | None = None,
        group: str = "g",
        **options: Any,
    ) -> None:
        """Send a ShareFetch; with epoch 0 for partition 0, unless `partitions` names others."""
        request = fetch_request(
            topic_id_of(topic), group, member, epoch, partitions, acks, forgotten, **options
        )
        self._send(ApiKey.SHARE_FETCH, request, member, connection or member)

    def acknowledge(
        self, member: str, epoch: int, *batches: Batch, index: int = 0, **options: Any
    ) -> None:
        """Send a ShareAcknowledge for a partition of `t`."""
        topic_id = topic_id_of(options.pop("topic", "t"))
        group = options.pop("group", "g")
        request = acknowledge_request(topic_id, group, member, epoch, batches, index, **options)
        self._send(ApiKey.SHARE_ACKNOWLEDGE, request, member, member)

    def _send(self, key: ApiKey, request: Any, member: str, connection: str) -> None:
        """Send a request as a client of `self.version` does."""
        context = RequestContext(
            key, self.version, 7, "test", "127.0.0.1", "PLAINTEXT", connection, self.rights
        )
        context.quota = self.quota
        context.connection = self.connection
        self.apis[key].handle(
            context,
            through_the_wire(request, self.version),
            partial(self._take, key, member),
        )

    def _take(self, key: ApiKey, member: str, response: Any) -> None:
        """Read an answer as the client does."""
        parts: Any = response_parts(response, self.version, 7)
        frame = (
            bytes(parts.joined())
            if hasattr(parts, "joined")
            else b"".join(p.read() if hasattr(p, "read") else bytes(p) for p in parts)
        )
        self.answer = decode_response(key, memoryview(frame)[4:], self.version)[1]
        self.seen.append(f"{member}: {shown(self.answer)}")

    # -- what the test sees ----------------------------------------------------------------------

    def told(self) -> list[str]:
        """Return the answers since the last call."""
        seen, self.seen = self.seen, []
        return seen

    def one(self) -> Any:
        """Return the only partition of the last answer."""
        ((partition,),) = [topic.partitions for topic in self.answer.responses]
        return partition
