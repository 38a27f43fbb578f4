"""What stops a job and is not a bug: one sentence that says what to do.

Owns the exception, and how errors of Spark and its connector are told in one line. Never prints.
"""

from __future__ import annotations

import re


class PipelineError(Exception):
    """A job cannot run, or go on, as it was asked to; `str()` says why and what to do."""


# Words in the errors of Spark and its connector, and what a person does about them.
_KNOWN = (
    (
        "Some data may have been lost",
        "records that the checkpoint or the table still needed are gone from the topic "
        "(retention, DeleteRecords, or the topic was made anew): begin again with a new "
        "--checkpoint or --table",
    ),
    (
        "UnknownTopicOrPartition",
        "the topic went away while the job ran: does somebody delete it?",
    ),
    (
        "Failed to construct kafka",
        "the broker's address does not resolve: check --bootstrap-server",
    ),
    (
        "No module named 'confluent_kafka'",
        "the executors' Python has no confluent-kafka, with which replay sends: set PYSPARK_PYTHON "
        "to one that has it",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "the executors run another version of Python than this job: set PYSPARK_PYTHON to the same",
    ),
    (
        "Could not find a 'KafkaClient' entry",
        "Spark's Kafka client has no login: give kafka.sasl.jaas.config with --option or "
        "--command-config",
    ),
    (
        "SaslAuthenticationException",
        "the broker refuses this login: check --option kafka.sasl.jaas.config, or --command-config",
    ),
    (
        "All masters are unresponsive",
        "no master of Spark answers: check --master",
    ),
    (
        "Failed to find data source: kafka",
        "Spark has no Kafka connector: give spark-submit --packages "
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    ),
    (
        "JAVA_GATEWAY_EXITED",
        "Spark's Java process ended at its start; its own lines above say why (usually jars that "
        "could not be fetched, or --conf spark.driver.memory above this machine's)",
    ),
    (
        "PATH_NOT_FOUND",
        "there are no such files: check the path",
    ),
    (
        "UNABLE_TO_INFER_SCHEMA",
        "no rows are in these files, or they are not in this --format",
    ),
    (
        "Concurrent update to the log",
        "another stream job uses this checkpoint: stop it, or name another --checkpoint",
    ),
    (
        "org.apache.kafka.common.errors.TimeoutException",
        "the broker stopped answering: see ottla status --bootstrap-server HOST:PORT",
    ),
)


def told(error: BaseException) -> str:
    """An error of Spark in one line; the sentence of a PipelineError as it is."""
    text = str(error)
    if isinstance(error, PipelineError):
        return text
    # Raised in an executor, or by the reader of folders.
    own = re.search(r"(?:PipelineError|log_format\.damage\.\w+): (.+)", text)
    if own is not None:
        return own[1].strip()
    for words, sentence in _KNOWN:
        if words in text:
            return sentence
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return f"Spark stopped the job: {first} (--debug shows all of it)"
