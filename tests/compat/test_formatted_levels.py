"""A cluster formatted with other feature levels serves as Apache Kafka does with the same ones.

Clients act on the levels that ApiVersions names, so the levels that `ottla format` writes have to
change what a broker answers, too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.launcher import ottla_command
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from tests.clients.wire_client import WireClient
from tests.compat.folder_contents import assert_same, commit, contents, create_topic, produce
from tests.compat.java_transactions import JavaTransactions
from tests.golden import transaction_cases
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_release import RELEASE

pytestmark = pytest.mark.java

NEWEST = RELEASE.rpartition(".")[0]
SERVED = ("eligible.leader.replicas.version", "group.version", "transaction.version")


def format_folder(folder: Path, *options: str) -> Path:
    """Return the folder, after `ottla format` with these options."""
    command = ottla_command("format", *options, "--override", f"log.dirs={folder}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return folder


def answers(port: int, transaction_level: int) -> dict[str, Any]:
    """Return what a broker answers to clients of transactions and consumer groups, and the levels
    that it names to them."""
    heartbeat = ConsumerGroupHeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=60_000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    with WireClient(port) as wire:
        levels = {
            feature.name: feature.max_version_level
            for feature in wire.call(ApiVersionsRequest("levels", "1"), 4).finalized_features
            if feature.name in ("metadata.version", *SERVED)
        }
        told = transaction_cases.converse(
            wire.call,
            transaction_cases.let_it_work,
            exhausts=False,
            newest=transaction_level > 0,
        )
        joined = wire.call(heartbeat, 1)
    group = [joined.error_code, joined.error_message]
    return {**told, "levels": levels, "a member joins": group}


@pytest.mark.parametrize("level", [0, 1])
def test_transactions_and_groups_follow_the_levels_as_in_kafka(
    level: int, ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    options = ["-r", NEWEST, "-f", f"transaction.version={level}", "-f", "group.version=0"]
    with ApacheKafka(format_options=options, jvm_options=FAST_START, heap="512m") as kafka:
        theirs = answers(kafka.port, level)
    assert theirs["a member joins"][0] == ErrorCode.UNSUPPORTED_VERSION
    ottla = ottla_broker_factory(data_dir=format_folder(tmp_path / "data", *options))
    ours = answers(ottla.port, level)
    assert ours == theirs
    ottla.close()


@pytest.mark.parametrize(("level", "epoch"), [(0, 0), (1, 0), (2, 2)])
def test_a_producer_speaks_the_protocol_of_the_level(
    level: int, epoch: int, ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    """From level 2 on, each end of a transaction raises the producer's epoch."""
    options = ("-f", f"transaction.version={level}")
    ottla = ottla_broker_factory(data_dir=format_folder(tmp_path / "data", *options))
    at = ottla.bootstrap_servers
    with WireClient(ottla.port) as wire, JavaTransactions() as java:
        wire.call(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 20_000), 7)
        producer = java.open(at, "txn", 60_000)
        for ends, value in ((producer.abort, b"aborted"), (producer.commit, b"committed")):
            producer.begin()
            producer.send("t", 0, value)
            producer.flush()
            ends()
        (state,) = wire.call(DescribeTransactionsRequest(["txn"]), 0).transaction_states
        assert state.producer_epoch == epoch
        producer.begin()
        producer.send("t", 0, b"last")
        producer.commit()
        producer.close()
        assert java.read(at, "t", "read_committed", b"last") == [b"committed"]
    ottla.close()


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("release", ["3.3", "3.9", "4.0-IV1"])
def test_metadata_of_an_old_release_is_served_and_opens_in_kafka(
    release: str, ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    data = format_folder(tmp_path / "data", "-r", release)
    properties = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    ottla = ottla_broker_factory(data_dir=data, properties=properties)
    create_topic(ottla.bootstrap_servers)
    produce(ottla.bootstrap_servers, 0, 100)
    commit(ottla.bootstrap_servers)
    ours = contents(ottla.bootstrap_servers)
    ottla.close()
    kafka = ApacheKafka(data_dir=data, static_voters=True, jvm_options=FAST_START, heap="512m")
    with kafka:
        assert_same(contents(kafka.bootstrap), ours)
        assert kafka.errors() == []
