"""The errors that stop a job and are no bugs: each is one sentence that says what to do.

Owns the exceptions, and the sentences for errors of Spark and its connector. Never prints.
"""

from __future__ import annotations

import re
from contextlib import suppress


class PipelineError(Exception):
    """The error of a job that cannot run, or go on, as its options say. `str()` says what to do."""

    exit_code = 2
    """The exit code of a job that this error stops."""


class Unreachable(PipelineError):
    """The error for a broker or a schema registry that does not answer at present. A job that
    repeats waits for the server (`pipeline.filling.outages`); every other job ends."""


TWO_STREAMS = (
    "another stream job is at work on this checkpoint: end it, or name another --checkpoint and "
    "--table (one that a lost client left on Spark Connect is ended by --take-over)"
)

_LOST = (
    "records that the checkpoint or the table still needed are gone from the topic (retention, "
    "DeleteRecords, or the topic was made anew): go on behind them with --skip-lost (table, load), "
    "or begin again with a new --checkpoint or --table"
)
_OTHER_PYTHON = (
    "the executors run another version of Python than this job: set PYSPARK_PYTHON to the same"
)
_NO_JAVA = (
    "Spark's Java process ended at its start; its own lines above say why (usually jars that could "
    "not be fetched, or --conf spark.driver.memory above this machine's)"
)
_JAVA_ENDED = (
    "Spark's Java process ended while the job ran: its own lines above say why; if there are none, "
    "the machine has too little memory for it"
)
_NO_MEMORY = (
    "Spark has too little memory: give --conf spark.driver.memory=4g, and for executors on other "
    "machines --conf spark.executor.memory=4g"
)
_NO_FILES = "there are no such files: check the path"
_NO_ROWS = "no rows are in these files, or they are not in this --format"
_SESSION_ENDED = (
    "the server of Spark Connect has ended this session, or was started again: start the job again"
)

# Conditions of Spark's errors, which stand for those below them too, and what to do.
_CONDITIONS = {
    "CONCURRENT_QUERY": TWO_STREAMS,
    "CONCURRENT_STREAM_LOG_UPDATE": TWO_STREAMS,
    "INVALID_HANDLE": _SESSION_ENDED,
    "JAVA_GATEWAY_EXITED": _NO_JAVA,
    "KAFKA_DATA_LOSS": _LOST,
    "PATH_NOT_FOUND": _NO_FILES,
    "PYTHON_VERSION_MISMATCH": _OTHER_PYTHON,
    "UNABLE_TO_INFER_SCHEMA": _NO_ROWS,
}

# What to do after errors without a condition, or that are the cause of another error: by words in
# their texts.
_TEXTS = (
    ("KAFKA_DATA_LOSS", _LOST),
    ("Some data may have been lost", _LOST),
    (
        "UnknownTopicOrPartition",
        "the topic went away while the job ran: does somebody delete it?",
    ),
    (
        "not present in metadata after",
        "the topic that is written went away, or lost partitions, while the job ran: does somebody "
        "delete it?",
    ),
    (
        "Failed to construct kafka",
        "the broker's address does not resolve: check --bootstrap-server",
    ),
    (
        "No module named 'confluent_kafka'",
        "the executors' Python has no confluent-kafka, with which replay sends and records "
        "are read whose times Spark cannot read: set PYSPARK_PYTHON to one that has it",
    ),
    ("PYTHON_VERSION_MISMATCH", _OTHER_PYTHON),
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
        "stopped SparkContext",
        "Spark ended before the job did: no master of Spark took it on (check --master), or its "
        "cluster went away",
    ),
    (
        "None.org.apache.spark.api.java.JavaSparkContext",
        "Spark did not start: its own lines above say why; check --master and --conf",
    ),
    (
        "Failed to find data source: kafka",
        "Spark has no Kafka connector: give spark-submit, or the server of Spark Connect, "
        "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    ),
    (
        "No module named 'pyarrow'",
        "the executors' Python has no pyarrow: set PYSPARK_PYTHON to one that has it",
    ),
    ("JAVA_GATEWAY_EXITED", _NO_JAVA),
    ("Answer from Java side is empty", _JAVA_ENDED),
    ("PATH_NOT_FOUND", _NO_FILES),
    ("UNABLE_TO_INFER_SCHEMA", _NO_ROWS),
    (
        "CSV header does not conform",
        "not all of these files have the same columns in their first line: replay them one by one",
    ),
    ("Concurrent update to the log", TWO_STREAMS),
    ("CONCURRENT_STREAM_LOG_UPDATE", TWO_STREAMS),
    ("CONCURRENT_QUERY", TWO_STREAMS),
    ("as another query with same id is already active", TWO_STREAMS),
    ("INVALID_HANDLE.SESSION", _SESSION_ENDED),
    (
        "StatusCode.UNAVAILABLE",
        "the server of Spark Connect does not answer: check --remote",
    ),
    (
        "StatusCode.UNAUTHENTICATED",
        "the server of Spark Connect lets nobody in with this --remote: give its token, "
        "sc://HOST:PORT/;token=…",
    ),
    (
        "java.net.ConnectException",
        "a server that Spark needs does not answer (a file system, or an executor): check the "
        "addresses of --table and --checkpoint",
    ),
    (
        "No space left on device",
        "a disk is full: make room for --table, --checkpoint and TMPDIR",
    ),
    (
        "No FileSystem for scheme",
        "Spark has no jar for this kind of path: add it with --conf spark.jars.packages=… (for "
        "s3a:// org.apache.hadoop:hadoop-aws:3.4.1)",
    ),
    (
        "org.apache.hadoop.fs.s3a.S3AFileSystem not found",
        "Spark has no jar for s3a://: add --conf "
        "spark.jars.packages=org.apache.hadoop:hadoop-aws:3.4.1",
    ),
    (
        "TopicAuthorizationException",
        "the user of this job lacks a right on the topic: see the table of rights in "
        "docs/pipeline.md",
    ),
    (
        "org.apache.kafka.common.errors.TimeoutException",
        "the broker stopped answering: see ottla status --bootstrap-server HOST:PORT",
    ),
)


# Errors of Kafka's Java client after which the same request may succeed, and Unreachable: Spark
# gives the cause of a failed task only as a text.
_OUTAGES = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(?:TimeoutException|DisconnectException|NetworkException|"
    r"BrokerNotAvailableException|LeaderNotAvailableException|NotLeaderOrFollowerException|"
    r"CoordinatorNotAvailableException)\b|pipeline\.errors\.Unreachable: "
)
# Errors of Java, of Arrow's memory in Java, and of Netty's.
_MEMORY = re.compile(r"\bOutOf(?:Direct)?Memory(?:Error|Exception)\b")
_OF_SPARK = ("pyspark", "py4j", "grpc")


def is_of_spark(error: BaseException) -> bool:
    """Return whether an error comes from Spark, on this machine or behind Spark Connect."""
    return type(error).__module__.partition(".")[0] in _OF_SPARK


def condition_of(error: BaseException) -> str:
    """Return the condition of an error of Spark, such as `PATH_NOT_FOUND`; empty if it has none."""
    ask = getattr(error, "getCondition", None)
    with suppress(Exception):  # Spark's Java, which knows it, may have ended
        return str((ask and ask()) or "")
    return ""


def names_outage(error: BaseException) -> bool:
    """Return whether the text of an error of Spark names a broker that did not answer."""
    return _OUTAGES.search(str(error)) is not None


def lacks_memory(error: BaseException) -> bool:
    """Return whether the text of an error of Spark says that a task, or Spark itself, had too
    little memory."""
    return _MEMORY.search(str(error)) is not None


def told(error: BaseException) -> str:
    """Return an error of Spark as one line. The sentence of a PipelineError stays as it is."""
    text = str(error)
    if isinstance(error, PipelineError):
        return text
    # Raised in an executor, or by the reader of folders.
    own = re.search(r"(?:PipelineError|Unreachable|log_format\.damage\.\w+): (.+)", text)
    if own is not None:
        return own[1].strip()
    condition = condition_of(error)
    for name, sentence in _CONDITIONS.items():
        if condition == name or condition.startswith(f"{name}."):
            return sentence
    for words, sentence in _TEXTS:
        if words in text:
            return sentence
    if lacks_memory(error):
        return _NO_MEMORY
    if isinstance(error, ConnectionRefusedError):
        return _JAVA_ENDED  # other connections of a job have errors of their own
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    return f"Spark stopped the job: {_said(text) or type(error).__name__} (--debug shows all of it)"


def _said(text: str) -> str:
    """Return the line of an error's text that says most: `class: message` of an error in Java."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[1].startswith(": "):
        return lines[1].removeprefix(": ")
    return lines[0] if lines else ""
