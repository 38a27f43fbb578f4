"""Client quotas with Kafka's own tools, and in a data folder that goes to Apache Kafka and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.clients.wire_client import WireClient
from tests.golden.quota_alteration_cases import after
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import KafkaTools

pytestmark = pytest.mark.java

EVERYTHING = DescribeClientQuotasRequest([], False)
ALTERATIONS = (
    ("users=alice", "producer_byte_rate=1048576,request_percentage=12.5"),
    ("users=alice clients=c1", "consumer_byte_rate=2097152"),
    ("users=", "controller_mutation_rate=0.5"),
    ("users= clients=", "producer_byte_rate=500"),
    ("clients=c1", "consumer_byte_rate=7000"),
    ("ips=10.0.0.1", "connection_creation_rate=9"),
)


def entity(text: str) -> list[str]:
    """`users=alice clients=` as options of `kafka-configs`; no name is the default."""
    options: list[str] = []
    for part in text.split():
        kind, _, name = part.partition("=")
        options += ["--entity-type", kind]
        options += ["--entity-name", name] if name else ["--entity-default"]
    return options


def set_by_tool(tools: KafkaTools, bootstrap: str, alterations: Any) -> None:
    for whom, configs in alterations:
        at = ("--bootstrap-server", bootstrap, *entity(whom))
        done = tools.run("kafka-configs", *at, "--alter", "--add-config", configs)
        assert done.exit == 0, done


def shown_by_tool(tools: KafkaTools, bootstrap: str) -> list[str]:
    shown: list[str] = []
    for kind in ("users", "clients", "ips"):
        at = ("--bootstrap-server", bootstrap, "--entity-type", kind)
        done = tools.run("kafka-configs", *at, "--describe")
        shown += sorted(done.lines)
    return shown


def set_quotas(port: int) -> Any:
    with WireClient(port) as client:
        return after(client.call(EVERYTHING, 1))


def test_kafkas_tools_set_show_and_remove_them(ottla_broker_factory: Callable[..., Any]) -> None:
    ottla = ottla_broker_factory()
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka, KafkaTools("") as tools:
        at = kafka.bootstrap, ottla.bootstrap_servers
        for bootstrap in at:
            set_by_tool(tools, bootstrap, ALTERATIONS)
        theirs, ours = (shown_by_tool(tools, bootstrap) for bootstrap in at)
        assert ours == theirs
        assert len(ours) == 4  # pairs are shown to who asks for both types
        gone = ("--entity-type", "users", "--entity-name", "alice")
        for bootstrap in at:
            done = tools.run(
                *("kafka-configs", "--bootstrap-server", bootstrap, *gone, "--alter"),
                *("--delete-config", "producer_byte_rate"),
            )
            assert done.exit == 0, done
        assert set_quotas(ottla.port) == set_quotas(kafka.port)


def test_quotas_of_kafkas_folder_are_ottlas_and_go_back(
    ottla_broker_factory: Callable[..., Any],
) -> None:
    kafka = ApacheKafka(static_voters=True, jvm_options=FAST_START, heap="512m")
    with KafkaTools("") as tools, kafka:
        set_by_tool(tools, kafka.bootstrap, ALTERATIONS[:4])
        expected = set_quotas(kafka.port)
        kafka.stop()
        ottla = ottla_broker_factory(data_dir=kafka.data_dir)
        assert set_quotas(ottla.port) == expected
        set_by_tool(tools, ottla.bootstrap_servers, ALTERATIONS[4:])
        both = set_quotas(ottla.port)
        assert len(both) == len(ALTERATIONS)
        ottla.close()
        again = ApacheKafka(
            data_dir=kafka.data_dir, static_voters=True, jvm_options=FAST_START, heap="512m"
        )
        with again:
            assert set_quotas(again.port) == both
            assert again.errors() == []
