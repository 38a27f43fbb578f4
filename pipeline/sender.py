"""The producer of records with keys, headers and timestamps, acknowledged by all in-sync replicas.

Uses confluent-kafka, because Spark's Kafka sink cannot set a record's timestamp. Idempotent:
a record that the client sends again after a broker died is stored once. Owns a producer; never
reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import confluent_kafka as client  # by its name: executors get this module by value

from pipeline.errors import PipelineError

Header = tuple[str, bytes | None]
NO_TIMESTAMP = 0
_FULL_WAIT_S = 0.5
_DELIVERY_TIMEOUT_MS = 120_000


class Sender:
    """A producer for a topic. `flush()` returns after all records are acknowledged, or raises.

    `settings` are those of `Connection.client()`.
    """

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        self._topic = topic
        self._servers = settings["bootstrap.servers"]
        self._refused: client.KafkaError | None = None
        self.acknowledged = 0
        self._producer = client.Producer(
            {
                **settings,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "compression.type": "lz4",
                "delivery.timeout.ms": _DELIVERY_TIMEOUT_MS,
                # A key's partition is the same as with Spark's and Java's producers.
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int = NO_TIMESTAMP,
        headers: Sequence[Header] = (),
        partition: int = -1,
    ) -> None:
        """Queue a record; wait while the queue is full. `NO_TIMESTAMP` stands for the present.

        Raises PipelineError if the client rejects the record.
        """
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    value,
                    key,
                    partition=partition,
                    timestamp=timestamp_ms,
                    headers=list(headers),
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(_FULL_WAIT_S)
            except client.KafkaException as error:
                raise self._error(error.args[0]) from error
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait for all records. Raises PipelineError if a record was not stored."""
        while self._producer.flush(_FULL_WAIT_S):
            self._check()
        self._check()

    def _delivered(self, error: client.KafkaError | None, _: client.Message) -> None:
        if error is None:
            self.acknowledged += 1
        elif self._refused is None:
            self._refused = error

    def _check(self) -> None:
        if self._refused is not None:
            raise self._error(self._refused)

    def _error(self, error: client.KafkaError) -> PipelineError:
        if error.code() == client.KafkaError.INVALID_TIMESTAMP:
            return PipelineError(
                f"{self._topic} does not take the time of a record: raise its "
                "message.timestamp.after.max.ms (or before.max.ms) and send again"
            )
        return PipelineError(
            f"a record was not stored in {self._topic} ({error.str()}): see ottla status "
            f"--bootstrap-server {self._servers}"
        )
