"""A writer of dead letters on broker 1, and its world in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from broker.config.parse import single_node_config, with_overrides
from broker.share.dead_letters.dead_letter_writer import DeadLetterWriter, WriterPorts
from broker.share.dead_letters.destinations import Destinations
from broker.share.dead_letters.letter_sender import SenderPorts
from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from controller.metadata.image import (
    MetadataImage,
    PartitionRegistration,
    ResourceType,
    TopicImage,
    TopicsImage,
)
from ground.ports import ChannelFailure
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.records import Record, iterate_records
from storage.log_config import LogConfig

SOURCE_ID, LETTERS_ID = b"s" * 16, b"d" * 16
KEY = SharePartitionKey("g", SOURCE_ID, 4)
REJECTED = DeadLetter(7, 7, 2, is_rejected=True)
HERE, THERE, ELSEWHERE = 1, 2, 3

Done = Callable[[Any, ChannelFailure | None], None]


class Sent(NamedTuple):
    """A Produce that waits for its answer."""

    broker: int
    request: ProduceRequest
    done: Done

    def records(self, partition: int = 0) -> list[Record]:
        """The dead letters for a partition."""
        (data,) = [
            one
            for topic in self.request.topic_data
            for one in topic.partition_data
            if one.index == partition
        ]
        assert data.records is not None
        return list(iterate_records(data.records))  # type: ignore[arg-type]

    def sizes(self) -> list[int]:
        """The sizes of the batches."""
        return [
            len(one.records or b"")
            for topic in self.request.topic_data
            for one in topic.partition_data
        ]

    def offsets(self, partition: int = 0) -> list[int]:
        """The offsets that the letters are about."""
        headers = [dict(record.headers) for record in self.records(partition)]
        return [int(header["__dlq.errors.offset"] or b"") for header in headers]

    def answer(self, error: ErrorCode = ErrorCode.NONE, message: str | None = None) -> None:
        """Answer every partition with this error."""
        topics = [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(one.index, int(error), error_message=message)
                    for one in topic.partition_data
                ],
            )
            for topic in self.request.topic_data
        ]
        self.done(ProduceResponse(topics), None)

    def fail(self, failure: ChannelFailure = ChannelFailure.LOST) -> None:
        self.done(None, failure)


class _Channel:
    """A connection to another broker."""

    def __init__(self, stage: Stage, broker: int) -> None:
        self._stage = stage
        self._broker = broker

    def send(self, request: Any, done: Done, timeout_ms: float, version: int | None = None) -> None:
        self._stage.sent.append(Sent(self._broker, request, done))

    def close(self) -> None:
        self._stage.closed.append(self._broker)


class Stage:
    """The writer, with the topics `source` (8 partitions, led here) and `dlq.t` (led by
    `leaders`)."""

    def __init__(self, leaders: Sequence[int] = (HERE,), **group: str) -> None:
        """`leaders` None: there is no topic `dlq.t`. `group` are further configs of the group, with
        `_` for a dot."""
        self.scheduler = SimScheduler()
        self.config = single_node_config({"node.id": "1"})
        self.image = MetadataImage()
        self.topic_configs = LogConfig(errors_deadletterqueue_group_enable=True)
        self.sent: list[Sent] = []
        self.closed: list[int] = []
        self.creations: list[tuple[CreateTopicsRequest, Callable[[Any], None]]] = []
        self.done: list[int] = []
        self.log: dict[int, bytes] = {}
        """The batches of `source-4` by their last offset."""
        self.read_error = ErrorCode.NONE
        self.reads = 0
        self.topic("source", SOURCE_ID, [HERE] * 8)
        if leaders:
            self.topic("dlq.t", LETTERS_ID, leaders)
        self.configure(**{"errors_deadletterqueue_topic_name": "dlq.t", **group})
        blocking = SimBlocking(self.scheduler)
        self.writer = DeadLetterWriter(
            WriterPorts(
                lambda: self.image,
                Destinations(
                    lambda: self.image, lambda: self.config, self._topic_config, self._address
                ),
                lambda request, done: self.creations.append((request, done)),
                SenderPorts(
                    HERE,
                    self.scheduler,
                    self.scheduler.wall_ms,
                    SlicedWork(self.scheduler, blocking, 1 << 30),
                    self,
                    self._address,
                    self._produce_here,
                    self,
                    bytearray,
                    30_000,
                ),
            )
        )

    # -- the world -------------------------------------------------------------------------------

    def topic(self, name: str, topic_id: bytes, leaders: Sequence[int]) -> None:
        """Create or replace a topic, with the leader of each partition."""
        partitions = {
            index: PartitionRegistration((1, 2, 3), (), (1, 2, 3), leader, 0, 0)
            for index, leader in enumerate(leaders)
        }
        topic, old = TopicImage(name, topic_id, partitions), self.image.topics
        topics = TopicsImage({**old.by_name, name: topic}, {**old.by_id, topic_id: topic})
        self.image = self.image._replace(topics=topics)

    def lead(self, *leaders: int) -> None:
        """Give `dlq.t` other leaders, and tell the writer."""
        self.topic("dlq.t", LETTERS_ID, leaders)
        self.writer.metadata_changed()

    def configure(self, **configs: str) -> None:
        """Set configs of the group."""
        group = (ResourceType.GROUP, "g")
        changed = {name.replace("_", "."): text for name, text in configs.items()}
        configs_of = {**self.image.configs, group: {**self.image.configs.get(group, {}), **changed}}
        self.image = self.image._replace(configs=configs_of)

    def configure_broker(self, **configs: str) -> None:
        """Set configs of the broker."""
        texts = {name.replace("_", "."): text for name, text in configs.items()}
        self.config = with_overrides(self.config, texts)

    def limit(self, max_bytes: int) -> None:
        """Set `max.message.bytes` of `dlq.t`."""
        self.topic_configs = replace(self.topic_configs, max_message_bytes=max_bytes)

    def _topic_config(self, _name: str) -> LogConfig:
        return self.topic_configs

    def _address(self, broker: int) -> tuple[str, int] | None:
        return None if broker == ELSEWHERE else (f"host-{broker}", 9092)

    def channel(self, host: str, port: int, client_id: str) -> _Channel:
        assert (port, client_id) == (9092, "broker-1-dead-letter-sender")
        return _Channel(self, int(host.removeprefix("host-")))

    def _produce_here(
        self, request: ProduceRequest, respond: Callable[[ProduceResponse], None]
    ) -> None:
        self.sent.append(Sent(HERE, request, lambda response, _: respond(response)))

    def read(self, key: SharePartitionKey, offset: int, max_bytes: int) -> bytes | ErrorCode:
        """`SourceLog`: what fits, but the first batch whole."""
        assert key.topic_id == SOURCE_ID
        self.reads += 1
        if self.read_error:
            return self.read_error
        data = b""
        for last, batch in sorted(self.log.items()):
            if last >= offset and (not data or len(data) + len(batch) <= max_bytes):
                data += batch
        return data

    # -- what happens ----------------------------------------------------------------------------

    def bury(self, first: int, last: int | None = None, key: SharePartitionKey = KEY) -> None:
        """Bury rejected records; `done` gets the first offset."""
        letter = DeadLetter(first, first if last is None else last, 2, is_rejected=True)
        self.writer.bury(key, letter, lambda: self.done.append(first))

    def settle(self) -> None:
        """Do all that happens at once."""
        self.scheduler.run_for(0)

    def next_sent(self) -> Sent:
        """The next Produce, without waiting for a timer."""
        self.settle()
        return self.sent.pop(0)

    def create(self, error: ErrorCode = ErrorCode.NONE, message: str | None = None) -> list[str]:
        """Answer the next CreateTopics; return the topic's name and configs."""
        self.settle()
        request, done = self.creations.pop(0)
        (topic,) = request.topics
        result = CreatableTopicResult(topic.name, error_code=int(error), error_message=message)
        done(CreateTopicsResponse(topics=[result]))
        return [topic.name, *(f"{config.name}={config.value}" for config in topic.configs)]
