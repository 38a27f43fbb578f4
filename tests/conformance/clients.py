"""Clients and tools that were tried, with versions: data of `docs/compatibility.md`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tools.kafka_release import RELEASE


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
        "2.16.1 (2.16.0)",
        "produce, consume, groups of both protocols, share groups, transactions, administration, "
        "TLS, SASL, ACLs",
        "`tests/compat/`, `tests/compat/security/`",
    ),
    Client(
        "kafka-python",
        "3.0.12",
        "produce, consume, groups, transactions, administration, TLS, SASL, ACLs",
        "`tests/compat/`, `tests/compat/security/`",
    ),
    Client(
        "aiokafka",
        "0.14.0",
        "produce, consume, groups, transactions, administration, TLS, SASL",
        "`tests/compat/`, `tests/compat/security/`",
    ),
    Client(
        "Java: kafka-clients",
        RELEASE,
        "produce, consume, groups of both protocols, share groups, transactions, administration, "
        "TLS, SASL, ACLs, delegation tokens",
        "in `tests/compat/`: `test_java_client.py`, `test_groups.py`, "
        "`test_java_share_consumer.py`, `test_kafka_transactions.py`, "
        "`security/test_java_and_tools.py`",
    ),
    Client(
        "Kafka Streams",
        RELEASE,
        "a word count, exactly once (`exactly_once_v2`), while nodes and the application are "
        "killed",
        "`tests/chaos/word_count.py`",
    ),
    Client(
        "Kafka's command line tools",
        RELEASE,
        "topics, configs, groups of both protocols, share groups, offsets, log dirs, quorum, "
        "reassignments, transactions, dump-log, TLS, SASL, ACLs, delegation tokens",
        "in `tests/compat/`: `test_java_tools.py`, `test_java_share_tools.py`, "
        "`test_cluster_tools.py`, `test_dump_log.py`, "
        "`security/test_java_and_tools.py`",
    ),
    Client(
        "Spark's Kafka source and sink",
        "4.0.0 (kafka-clients 3.9)",
        "batch and streaming reads and writes, restarts from a checkpoint, SASL over TLS",
        "in `tests/compat/`: `spark/test_spark.py`, `spark/test_spark_streams.py`, "
        "`security/test_spark_source.py`",
    ),
    Client(
        "franz-go",
        "1.22.2",
        "produce, consume, groups, transactions, administration, TLS, SASL, ACLs, "
        "delegation tokens",
        "in `tests/compat/`: `test_go_clients.py`, `security/test_go.py`, `security/test_acls.py`",
    ),
    Client(
        "sarama",
        "1.61.1",
        "produce, consume, groups, administration",
        "`tests/compat/test_go_clients.py`",
    ),
)
