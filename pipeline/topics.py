"""The cluster as a job's driver asks it: is it there, which topics, from where to where.

Owns the look-ups that Spark's connector does not offer and that make errors clear before a JVM is
started. Through confluent-kafka; moves no records.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pipeline.errors import PipelineError
from pipeline.spark.connection import Connection
from pipeline.tables.progress import is_another

REPLICAS_WANTED = 3
# Of a topic whose records keep timestamps of their own: they may be older than any retention, and
# would be deleted for their age as soon as they are there.
KEPT_FOR_EVER = {"retention.ms": "-1"}
_TIMEOUT_S = 10.0
_FIRST_LOOK_S = 1.0
_RETRY_S = 0.5
_LIST_MAX = 8
_URL_SAFE = str.maketrans("+/", "-_")
_NO_ID = 22 * "A"
# The broker is there, and does not want this client.
_REFUSALS = (KafkaError._AUTHENTICATION, KafkaError._SSL)


@dataclass(frozen=True, slots=True)
class Offsets:
    """From where to where a partition can be read."""

    start: int
    end: int
    """The high watermark: one past the last record that can be read."""


class Cluster:
    """A cluster by its address; every method raises PipelineError where nobody answers.

    `timeout_s` bounds each question: ten seconds without it.
    """

    def __init__(self, connection: Connection, timeout_s: float | None = None) -> None:
        self.servers = connection.servers
        self._timeout_s = _TIMEOUT_S if timeout_s is None else timeout_s
        self._refusal: str | None = None
        # Its own log would tell each refused connection; the one line of the job says it once.
        self._quiet: dict[str, Any] = {**connection.client(), "log_level": 0}
        try:
            heard: dict[str, Any] = {"error_cb": self._heard}
            self._admin = AdminClient({**self._quiet, **heard})
        except KafkaException as error:
            raise PipelineError(
                f"these settings of the cluster do not fit: {error.args[0].str()}"
            ) from error

    def cluster_id(self) -> str:
        """Its id, as every node tells it."""
        return str(self._metadata().cluster_id)

    def brokers(self) -> int:
        """How many are alive."""
        return len(self._metadata().brokers)

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic; PipelineError if there is none of this name."""
        found = self._metadata().topics
        if topic not in found:
            there = sorted(name for name in found if not name.startswith("__"))
            listed = ", ".join(there[:_LIST_MAX]) + (" …" if len(there) > _LIST_MAX else "")
            raise PipelineError(
                f"there is no topic {topic} at {self.servers} (there: {listed or 'none'}): "
                f"name another, or fill it first (ottla-pipeline generate --topic {topic})"
            )
        return sorted(found[topic].partitions)

    def topic_id(self, topic: str) -> str | None:
        """A topic's id, which one that is made again under its name does not have; None where the
        brokers give none (before Kafka 2.8). PipelineError if there is no topic of this name."""
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
                    raise PipelineError(
                        f"topic {topic} is not described ({error.args[0].str()}): see ottla status "
                        f"--bootstrap-server {self.servers}"
                    ) from error
            time.sleep(_RETRY_S)

    def check_kept(self, topic: str, topic_id: str | None) -> None:
        """PipelineError where a topic that was written into is not the one of this id any more."""
        if is_another(topic_id, self.topic_id(topic)):
            raise PipelineError(
                f"topic {topic} was deleted and made again while it was written: what was sent "
                "before is gone; send all of it again"
            )

    def ensure(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> bool:
        """Make a topic, with three replicas where there are three brokers; whether it is new."""
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
        """Of each partition. Waits out an election."""
        partitions = self.partitions(topic)
        consumer = Consumer({**self._quiet, "group.id": "ottla-pipeline-looks-only"})
        deadline = time.monotonic() + 3 * self._timeout_s
        try:
            return {one: self._offsets(consumer, topic, one, deadline) for one in partitions}
        finally:
            consumer.close()

    def ends(self, topic: str) -> dict[int, int]:
        """One past the last readable record of each partition."""
        return {partition: found.end for partition, found in self.offsets(topic).items()}

    def first_from(self, topic: str, time_ms: int) -> dict[int, int]:
        """The first offset with this time or a later one, of each partition that has some."""
        asked = [TopicPartition(topic, one, time_ms) for one in self.partitions(topic)]
        consumer = Consumer({**self._quiet, "group.id": "ottla-pipeline-looks-only"})
        try:
            found = consumer.offsets_for_times(asked, self._timeout_s)
        except KafkaException as error:
            raise PipelineError(
                f"no broker says when the records of {topic} were written "
                f"({error.args[0].str()}): see ottla status --bootstrap-server {self.servers}"
            ) from error
        finally:
            consumer.close()
        return {one.partition: one.offset for one in found if one.offset >= 0 and not one.error}

    def _offsets(self, consumer: Consumer, topic: str, partition: int, deadline: float) -> Offsets:
        while True:
            try:
                start, end = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), self._timeout_s
                )
                return Offsets(start, end)
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise PipelineError(
                        f"partition {topic}-{partition} does not answer "
                        f"({error.args[0].str()}): see ottla status "
                        f"--bootstrap-server {self.servers}"
                    ) from error
            time.sleep(_RETRY_S)

    def _is_led(self, topic: str, partitions: int) -> bool:
        found = self._metadata().topics.get(topic)
        if found is None or len(found.partitions) != partitions:
            return False
        return all(one.leader >= 0 for one in found.partitions.values())

    def _metadata(self) -> Any:
        # A short look first: whoever is refused is told so at once, as the client hears of it
        # only between two questions.
        first = min(_FIRST_LOOK_S, self._timeout_s)
        try:
            return self._admin.list_topics(timeout=first)
        except KafkaException as error:
            self._check_let_in(error)
        try:
            return self._admin.list_topics(timeout=self._timeout_s - first)
        except KafkaException as error:
            self._check_let_in(error)
            raise PipelineError(
                f"no broker answers at {self.servers}: is it running (ottla serve, "
                "ottla cluster)? Name another with --bootstrap-server"
            ) from error

    def _check_let_in(self, error: KafkaException) -> None:
        self._admin.poll(0)  # what the client has heard meanwhile
        if self._refusal is not None:
            raise PipelineError(
                f"{self.servers} lets nobody in with these settings ({self._refusal}): check "
                "--option kafka.security.protocol and what belongs to it, or --command-config"
            ) from error

    def _heard(self, error: KafkaError) -> None:
        if error.code() in _REFUSALS:
            self._refusal = error.str()


def id_text(topic_id: Uuid) -> str | None:
    """An id as Kafka writes it, in `partition.metadata` too; None for the one of zeros alone."""
    text = str(topic_id).translate(_URL_SAFE)  # librdkafka's is the other base64
    return None if text == _NO_ID else text
