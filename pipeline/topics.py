"""The cluster as a job's driver uses it: which topics there are, their ids and their offsets.

Owns the creation of topics, and the look-ups that Spark's connector does not offer or that make
errors clear before a JVM starts. Uses confluent-kafka; moves no records.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec
from confluent_kafka.cimpl import NewTopic

from pipeline.errors import PipelineError, Unreachable
from pipeline.spark.connection import ISOLATION, Connection
from pipeline.tables.progress import is_another

REPLICAS_WANTED = 3
# The config of a topic whose records keep their own timestamps: they may be older than any
# retention, and would be deleted for their age at once.
KEPT_FOR_EVER = {"retention.ms": "-1"}
_TIMEOUT_S = 10.0
_FIRST_LOOK_S = 1.0
_RETRY_S = 0.5
_LIST_MAX = 8
_URL_SAFE = str.maketrans("+/", "-_")
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_NO_ID = 22 * "A"
# The broker answers, and rejects this client.
_REFUSALS = (KafkaError._AUTHENTICATION, KafkaError._SSL)
_NO_RIGHT = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
# A broker is away, is starting, or is not yet the leader: the same request succeeds later.
_AWAY = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._NOENT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets between which a partition can be read."""

    start: int
    end: int
    """The offset after the last record that can be read: the last stable offset, or the high
    watermark for a reader of uncommitted records."""
    high_watermark: int | None = field(default=None, compare=False)
    """Greater than `end` while an open transaction holds records back. None if not known."""
    leader_epoch: int | None = field(default=None, compare=False)
    """The epoch of the leader that gave `end`. None if not known (before Kafka 2.1; a folder)."""


class Position(NamedTuple):
    """An offset up to which records were read, and the epoch of the leader that gave them."""

    offset: int
    leader_epoch: int


class Cluster:
    """A cluster by its address. Every method raises Unreachable if no broker answers, and
    PipelineError for other errors.

    `timeout_s` bounds each request; ten seconds if None.
    """

    def __init__(self, connection: Connection, timeout_s: float | None = None) -> None:
        self.servers = connection.servers
        self._timeout_s = _TIMEOUT_S if timeout_s is None else timeout_s
        self._refusal: str | None = None
        self._reads_uncommitted = connection.options.get(ISOLATION) == "read_uncommitted"
        # The client's own log has a line for each rejected connection; the job prints one line.
        self._quiet: dict[str, Any] = {**connection.client(), "log_level": 0}
        try:
            callback: dict[str, Any] = {"error_cb": self._on_error}
            self._admin = AdminClient({**self._quiet, **callback})
        except KafkaException as error:
            raise PipelineError(
                f"these settings of the cluster do not fit: {error.args[0].str()}"
            ) from error

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        return str(self._metadata().cluster_id)

    def brokers(self) -> int:
        """Return the number of brokers that are alive."""
        return len(self._metadata().brokers)

    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic. Raises PipelineError if there is no such topic."""
        topics = self._metadata().topics
        if topic not in topics:
            there = sorted(name for name in topics if not name.startswith("__"))
            listed = ", ".join(there[:_LIST_MAX]) + (" …" if len(there) > _LIST_MAX else "")
            raise PipelineError(
                f"there is no topic {topic} at {self.servers} (there: {listed or 'none'}): "
                f"name another, or fill it first (ottla-pipeline generate --topic {topic})"
            )
        return sorted(topics[topic].partitions)

    def topic_id(self, topic: str) -> str | None:
        """Return a topic's id; None if the brokers give none (before Kafka 2.8).

        A topic that is made again under its name has another id. Raises PipelineError if there is
        no such topic.
        """
        deadline = time.monotonic() + self._timeout_s
        while True:
            (described,) = self._admin.describe_topics(
                TopicCollection([topic]), request_timeout=self._timeout_s
            ).values()
            try:
                return id_text(described.result().topic_id)
            except KafkaException as error:
                self.partitions(topic)
                if time.monotonic() > deadline:
                    raise self._failed(f"topic {topic} is not described", error) from error
            time.sleep(_RETRY_S)

    def check_kept(self, topic: str, topic_id: str | None) -> None:
        """Raise PipelineError if a topic that was written has another id now."""
        if is_another(topic_id, self.topic_id(topic)):
            raise PipelineError(
                f"topic {topic} was deleted and made again while it was written: what was sent "
                "before is gone; send all of it again"
            )

    def ensure(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> bool:
        """Create a topic, with three replicas if there are three brokers, unless the topic exists.

        Returns whether the topic is new. Raises PipelineError if it cannot be created.
        """
        if topic in self._metadata().topics:
            return False
        replicas = min(REPLICAS_WANTED, self.brokers())
        new = NewTopic(topic, partitions, replicas, config=dict(config or {}))
        (made,) = self._admin.create_topics([new]).values()
        try:
            made.result(self._timeout_s)
        except KafkaException as error:
            raise PipelineError(f"topic {topic} was not made: {error.args[0].str()}") from error
        deadline = time.monotonic() + self._timeout_s
        while not self._is_led(topic, partitions):
            if time.monotonic() > deadline:
                raise PipelineError(f"topic {topic} was made but has no leaders yet: try again")
            time.sleep(_RETRY_S / 10)
        return True

    def offsets(self, topic: str) -> dict[int, Offsets]:
        """Return the offsets of each partition. Waits during an election."""
        partitions = self.partitions(topic)
        deadline = time.monotonic() + 3 * self._timeout_s
        starts = self._listed(topic, partitions, _EARLIEST, deadline)
        # The high watermark first: records that arrive in between do not count as held back.
        high = self._listed(topic, partitions, _LATEST, deadline)
        ends = high
        if not self._reads_uncommitted:
            ends = self._listed(topic, partitions, _LATEST, deadline, committed=True)
        return {
            index: Offsets(
                starts[index].offset, ends[index].offset, high[index].offset, _epoch(ends[index])
            )
            for index in partitions
        }

    def ends(self, topic: str) -> dict[int, int]:
        """Return the offset after the last readable record of each partition."""
        return {partition: there.end for partition, there in self.offsets(topic).items()}

    def first_from(self, topic: str, time_ms: int) -> dict[int, int]:
        """Return the first offset with this time (ms since the epoch) or a later one, of each
        partition that has one."""
        asked = [TopicPartition(topic, index, time_ms) for index in self.partitions(topic)]
        consumer = Consumer({**self._quiet, "group.id": "ottla-pipeline-looks-only"})
        try:
            places = consumer.offsets_for_times(asked, self._timeout_s)
        except KafkaException as error:
            what = f"no broker says when the records of {topic} were written"
            raise self._failed(what, error) from error
        finally:
            consumer.close()
        return {at.partition: at.offset for at in places if at.offset >= 0 and not at.error}

    def cut_off(self, topic: str, positions: Mapping[int, Position]) -> list[int]:
        """Return the partitions whose log ended before its position at some time since then, so
        that the records before the position may be others now. Follows KIP-320.

        librdkafka asks the leader where the epoch of each position ends (OffsetForLeaderEpoch).
        """
        consumer = Consumer(
            {
                **self._quiet,
                "group.id": "ottla-pipeline-looks-only",
                "auto.offset.reset": "error",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_uncommitted",
                "fetch.message.max.bytes": 1024,
            }
        )
        try:
            consumer.assign(
                [
                    TopicPartition(topic, partition, at.offset, leader_epoch=at.leader_epoch)
                    for partition, at in positions.items()
                ]
            )
            failed = self._validated(consumer, topic, set(positions))
        finally:
            consumer.close()
        if not failed:
            return []
        # Retention may have deleted records meanwhile, for which the client has the same error.
        deadline = time.monotonic() + 3 * self._timeout_s
        starts = self._listed(topic, failed, _EARLIEST, deadline)
        return [index for index in failed if starts[index].offset <= positions[index].offset]

    def _validated(self, consumer: Consumer, topic: str, waiting: set[int]) -> list[int]:
        """Return the partitions whose position the client rejects, as soon as it has read from all
        others or has seen their end."""
        failed = []
        deadline = time.monotonic() + 3 * self._timeout_s
        while waiting:
            message = consumer.poll(_RETRY_S)
            error = None if message is None else message.error()
            partition = None if message is None else message.partition()
            if partition in waiting:
                if error is None or error.code() == KafkaError._PARTITION_EOF:
                    waiting.discard(partition)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    waiting.discard(partition)
                    failed.append(partition)
            if error is not None and error.code() in _NO_RIGHT:
                raise self._failed(f"topic {topic} cannot be read", KafkaException(error))
            if waiting and time.monotonic() > deadline:
                raise Unreachable(
                    f"partition {topic}-{min(waiting)} does not answer: see ottla status "
                    f"--bootstrap-server {self.servers}"
                )
        return sorted(failed)

    def _listed(
        self,
        topic: str,
        partitions: Sequence[int],
        spec: OffsetSpec,
        deadline: float,
        *,
        committed: bool = False,
    ) -> dict[int, ListOffsetsResultInfo]:
        """Return the answer to ListOffsets of each partition. Asks again, until `deadline`, for
        those whose leader does not answer."""
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        listed: dict[int, ListOffsetsResultInfo] = {}
        while True:
            missing = [index for index in partitions if index not in listed]
            if not missing:
                return listed
            asked = {TopicPartition(topic, index): spec for index in missing}
            answers = self._admin.list_offsets(
                asked, isolation_level=isolation, request_timeout=self._timeout_s
            )
            failures = {}
            for place, answer in answers.items():
                try:
                    listed[place.partition] = answer.result()
                except KafkaException as error:
                    failures[place.partition] = error
            for partition, failure in failures.items():
                is_refused = failure.args[0].code() in _NO_RIGHT
                if is_refused or time.monotonic() > deadline:
                    what = f"partition {topic}-{partition} does not answer"
                    raise self._failed(what, failure) from failure
            if failures:
                time.sleep(_RETRY_S)

    def _failed(self, what: str, error: KafkaException) -> PipelineError:
        """Return the error of a request: Unreachable if the same request may succeed later."""
        kind = Unreachable if error.args[0].code() in _AWAY else PipelineError
        return kind(
            f"{what} ({error.args[0].str()}): see ottla status --bootstrap-server {self.servers}"
        )

    def _is_led(self, topic: str, partitions: int) -> bool:
        metadata = self._metadata().topics.get(topic)
        if metadata is None or len(metadata.partitions) != partitions:
            return False
        return all(partition.leader >= 0 for partition in metadata.partitions.values())

    def _metadata(self) -> Any:
        # A short look first: the client learns only between two requests that it is rejected, and
        # a rejected job ends at once.
        first = min(_FIRST_LOOK_S, self._timeout_s)
        try:
            return self._admin.list_topics(timeout=first)
        except KafkaException as error:
            self._check_not_rejected(error)
        try:
            return self._admin.list_topics(timeout=self._timeout_s - first)
        except KafkaException as error:
            self._check_not_rejected(error)
            raise Unreachable(
                f"no broker answers at {self.servers}: is it running (ottla serve, "
                "ottla cluster)? Name another with --bootstrap-server"
            ) from error

    def _check_not_rejected(self, error: KafkaException) -> None:
        self._admin.poll(0)  # calls `_on_error` for errors since then
        if self._refusal is not None:
            raise PipelineError(
                f"{self.servers} lets nobody in with these settings ({self._refusal}): check "
                "--option kafka.security.protocol and what belongs to it, or --command-config"
            ) from error

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _REFUSALS:
            self._refusal = error.str()


def _epoch(listed: ListOffsetsResultInfo) -> int | None:
    """Return the leader epoch of an answer to ListOffsets; None if the broker gives none."""
    epoch = listed.leader_epoch
    return epoch if epoch is not None and epoch >= 0 else None


def id_text(topic_id: Uuid) -> str | None:
    """Return a topic id as Kafka writes ids, also in `partition.metadata`; None for zeros alone."""
    text = str(topic_id).translate(_URL_SAFE)  # librdkafka has + and / instead
    return None if text == _NO_ID else text
