"""Clients and tools that were tried, with versions: data of `docs/compatibility.md`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """A client or tool and how it is tried."""

    name: str
    version: str
    tried: str
    """What was done with it."""
    by: str
    """The test, command or suite that repeats it."""


CLIENTS = (
    Client(
        "confluent-kafka (librdkafka)",
        "2.16.1 (2.15.0)",
        "produce, consume, groups, transactions, administration",
        "`tests/compat/`",
    ),
    Client(
        "kafka-python",
        "3.0.12",
        "produce, consume, groups, transactions, administration",
        "`tests/compat/`",
    ),
    Client(
        "aiokafka",
        "0.14.0",
        "produce, consume, groups, transactions, administration",
        "`tests/compat/`",
    ),
    Client(
        "Java: kafka-clients",
        "4.3.0",
        "produce, consume, groups, transactions, administration",
        "`tests/compat/test_java_client.py`, `test_kafka_transactions.py`",
    ),
    Client(
        "Kafka Streams",
        "4.3.0",
        "a word count, exactly once (`exactly_once_v2`), instances killed",
        "`tests/chaos/word_count.py`",
    ),
    Client(
        "Kafka's command line tools",
        "4.3.0",
        "topics, configs, groups, offsets, log dirs, quorum, reassignments, transactions, dump-log",
        "`tests/compat/test_java_tools.py`, `test_cluster_tools.py`, `test_dump_log.py`",
    ),
    Client(
        "Spark's Kafka source and sink",
        "4.0.0 (kafka-clients 3.9)",
        "batch and streaming reads and writes, restarts from a checkpoint",
        "`tests/compat/test_spark.py`, `test_spark_streams.py`",
    ),
    Client(
        "franz-go",
        "1.22.2",
        "produce, consume, groups, administration",
        "`tests/compat/test_go_clients.py`",
    ),
    Client(
        "sarama",
        "1.61.1",
        "produce, consume, groups, administration",
        "`tests/compat/test_go_clients.py`",
    ),
)
