"""The folder as `kafka-storage format` makes it by default, its quorum dynamic, goes to Ottla and
back: what Ottla does not serve yet is kept, and named in one line.

`test_data_folder.py` has a folder of what both serve.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.compat.folder_contents import (
    PARTITIONS,
    TOPIC,
    assert_same,
    commit,
    contents,
    create_topic,
    once_up,
    produce,
)
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.timeout(600)]

NEW_GROUP, SHARE_GROUP = "of-the-new-protocol", "sharers"


def commit_in_the_new_protocol(bootstrap: str) -> None:
    """A consumer group of KIP-848."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": NEW_GROUP,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([TOPIC])
        assert len(consumer.consume(100, 60)) == 100
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def share(tools: KafkaTools, *server: str) -> None:
    """A share group that has acknowledged some records."""
    entity = ("--entity-type", "groups", "--entity-name", SHARE_GROUP)
    config = ("--add-config", "share.auto.offset.reset=earliest")
    done = tools.run("kafka-configs", *server, "--alter", *entity, *config)
    assert done.exit == 0, done
    names = ("--topic", TOPIC, "--group", SHARE_GROUP)
    done = tools.run("kafka-console-share-consumer", *server, *names, "--max-messages", "50")
    assert done.exit == 0, done


def groups(tools: KafkaTools, *server: str) -> dict[str, list[str]]:
    """What Apache Kafka says of its groups: their kinds, features and offsets."""
    listed = tools.run("kafka-groups", *server, "--list").lines
    features = tools.run("kafka-features", *server, "describe").lines
    shared = tools.run(
        "kafka-share-groups", *server, "--describe", "--offsets", "--group", SHARE_GROUP
    ).lines
    kinds = [" ".join(line.split()) for line in listed]
    starts = [line.split()[:4] for line in shared]  # the lag behind them is the producers' doing
    assert [SHARE_GROUP, TOPIC, "0", "50"] in starts
    assert f"{NEW_GROUP} Consumer consumer" in kinds
    assert f"{SHARE_GROUP} Share share" in kinds
    return {
        "kinds": sorted(kinds),
        "features": sorted(re.sub(r"\s*Epoch: .*", "", line) for line in features),
        "shared": sorted(" ".join(words) for words in starts),
    }


def committed(bootstrap: str, group: str) -> list[int]:
    """The committed offsets of a group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        partitions = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
        return [one.offset for one in once_up(lambda: consumer.committed(partitions, 60))]
    finally:
        consumer.close()


def quorum_state(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(
        (folder / "__cluster_metadata-0" / "quorum-state").read_text()
    )
    return state


@contextmanager
def kafka_again(first: ApacheKafka) -> Iterator[ApacheKafka]:
    """The same node of Apache Kafka, with its own configuration."""
    with ApacheKafka(
        data_dir=first.data_dir,
        controller_port=first.controller_port,
        jvm_options=FAST_START,
        heap="512m",
        start_timeout_s=180,
    ) as kafka:
        yield kafka


def test_a_folder_of_kafkas_own_format_goes_to_ottla_and_back(
    ottla_broker_factory: Callable[..., Any],
) -> None:
    first = ApacheKafka(jvm_options=FAST_START, heap="512m", start_timeout_s=180)
    with KafkaTools("") as tools, first as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        create_topic(kafka.bootstrap)
        produce(kafka.bootstrap, 0, 300)
        commit(kafka.bootstrap)
        commit_in_the_new_protocol(kafka.bootstrap)
        share(tools, *server)
        theirs = contents(kafka.bootstrap)
        groups_before = groups(tools, *server)
        offsets_before = committed(kafka.bootstrap, NEW_GROUP)
        kafka.stop()
        assert quorum_state(kafka.data_dir)["data_version"] == 1

        # Small bounds: the metadata goes through snapshots of Ottla, the log before them goes.
        properties = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
        for _ in range(2):
            ottla = ottla_broker_factory(data_dir=kafka.data_dir, properties=properties)
            assert_same(contents(ottla.bootstrap_servers), theirs)
            assert committed(ottla.bootstrap_servers, NEW_GROUP) == offsets_before
            kept = [line for line in ottla.output().splitlines() if "not served" in line]
            assert len(kept) == 1, kept
            assert "streams.version 1" in kept[0]
            produce(ottla.bootstrap_servers, 300, 30)
            commit(ottla.bootstrap_servers)
            theirs = contents(ottla.bootstrap_servers)
            ottla.close()
        state = quorum_state(kafka.data_dir)
        assert (state["data_version"], state["leaderId"]) == (1, 1)

        with kafka_again(first) as kafka:
            server = ("--bootstrap-server", kafka.bootstrap)
            assert_same(contents(kafka.bootstrap), theirs)
            assert groups(tools, *server) == groups_before
            assert committed(kafka.bootstrap, NEW_GROUP) == offsets_before
            commit_in_the_new_protocol(kafka.bootstrap)
            produce(kafka.bootstrap, 400, 10)
            assert kafka.errors() == []


def test_a_folder_of_kafkas_own_format_that_ottla_starts_first(
    ottla_broker_factory: Callable[..., Any],
) -> None:
    """Kafka's format has the first records in a file that Kafka never loads by itself: who leads
    first appends them to the log."""
    first = ApacheKafka(jvm_options=FAST_START, heap="512m", start_timeout_s=180)
    first.format()
    ottla = ottla_broker_factory(data_dir=first.data_dir)
    create_topic(ottla.bootstrap_servers)
    produce(ottla.bootstrap_servers, 0, 100)
    commit(ottla.bootstrap_servers)
    theirs = contents(ottla.bootstrap_servers)
    ottla.close()
    with kafka_again(first) as kafka:
        assert_same(contents(kafka.bootstrap), theirs)
        assert kafka.errors() == []


def test_voters_that_are_not_those_of_the_folder_are_ignored(
    ottla_broker_factory: Callable[..., Any],
) -> None:
    kafka = ApacheKafka(jvm_options=FAST_START, heap="512m")
    kafka.format()
    try:
        port = kafka.controller_port
        properties = {
            "controller.quorum.voters": "1@127.0.0.1:9,2@127.0.0.1:10",
            "listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}",
        }
        ottla = ottla_broker_factory(data_dir=kafka.data_dir, properties=properties)
        warning = "controller.quorum.voters is ignored: it names 1, 2, but the metadata log has"
        assert f"{warning} the voters 1." in ottla.output()
    finally:
        kafka.close()
