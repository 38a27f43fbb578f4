"""The outcome of each record that confluent-kafka sends."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException, Producer


def produce_outcomes(
    producer: Producer, topic: str, *values: str | bytes, timeout_s: float
) -> list[KafkaError | None]:
    """Send records, and return the error of each, None if it was acknowledged.

    librdkafka reports an error by the callback, or by `produce` itself if the metadata with the
    error has already come; on a busy machine it may have.
    """
    outcomes: list[KafkaError | None] = []
    for value in values:
        try:
            producer.produce(topic, value, callback=lambda error, _: outcomes.append(error))
        except KafkaException as error:
            outcomes.append(error.args[0])
    assert producer.flush(timeout_s) == 0
    return outcomes
