"""The Kafka modules of testcontainers for Java, Go and Python, on the image's scripts.

There is no Docker here, so each test plays the module's part: environment, entry point and command
of its container, the starter script that the module copies into the running container, and the line
for which it waits. They are those of testcontainers-java 2.0.5, testcontainers-go 0.40 and
testcontainers-python 4.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.packaging.container_folder import ContainerFolder

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
ENTRYPOINT = ("/etc/kafka/docker/entrypoint",)
RUNNING = ".*Transitioning from RECOVERY to RUNNING.*"
CONFLUENT_STEPS = """
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t {id} -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
"""  # noqa: E501

ONE_NODE = {
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
    "CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_NODE_ID": "1",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
PUBLIC_9092 = "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094"
PUBLIC_9093 = "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094"


@dataclass(frozen=True)
class Module:
    """A module's way with the image; `public` is the container's port for clients."""

    public: int
    environment: Mapping[str, str]
    script: str
    script_text: str
    entrypoint: tuple[str, ...] = ENTRYPOINT
    shell: str = ""
    line: str = RUNNING

    def command(self) -> list[str]:
        """Return the command that waits for the starter script, and runs it."""
        wait = f"while [ ! -f {self.script} ]; do sleep 0.1; done; {self.shell}{self.script}"
        options = ("-c", wait) if self.entrypoint == ("sh",) else ("sh", "-c", wait)
        return [*self.entrypoint, *options]


MODULES = {
    "java KafkaContainer": Module(
        public=9092,
        environment={**ONE_NODE, "CLUSTER_ID": CLUSTER_ID, "KAFKA_LISTENERS": PUBLIC_9092},
        script="/tmp/testcontainers_start.sh",
        script_text="#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,"
        "BROKER://localhost:9093\n/etc/kafka/docker/run \n",
    ),
    "java ConfluentKafkaContainer withListener": Module(
        public=9092,
        environment={
            **ONE_NODE,
            "CLUSTER_ID": CLUSTER_ID,
            "KAFKA_LISTENERS": f"{PUBLIC_9092},TC-0://localhost:19092",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,TC-0:PLAINTEXT,"
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        },
        script="/tmp/testcontainers_start.sh",
        script_text="#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,"
        "BROKER://localhost:9093,TC-0://localhost:19092\n/etc/confluent/docker/run \n",
    ),
    "java, the deprecated KafkaContainer withKraft": Module(
        public=9093,
        environment={
            **ONE_NODE,
            "CLUSTER_ID": CLUSTER_ID,
            "KAFKA_BROKER_ID": "1",
            "KAFKA_LISTENERS": PUBLIC_9093,
        },
        entrypoint=("sh",),
        script="/tmp/testcontainers_start.sh",
        script_text="#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,"
        "BROKER://localhost:9092\necho '' > /etc/confluent/docker/ensure \n"
        + CONFLUENT_STEPS.format(id=f'"{CLUSTER_ID}"')
        + "/etc/confluent/docker/run \n",
    ),
    "go kafka.Run": Module(
        public=9093,
        environment={
            **ONE_NODE,
            "CLUSTER_ID": "test-cluster",
            "KAFKA_BROKER_ID": "1",
            "KAFKA_LISTENERS": PUBLIC_9093,
            "KAFKA_REST_BOOTSTRAP_SERVERS": PUBLIC_9093,
        },
        entrypoint=("sh",),
        shell="bash ",
        script="/usr/sbin/testcontainers_start.sh",
        script_text="#!/bin/bash\nsource /etc/confluent/docker/bash-config\n"
        "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://localhost:9092\n"
        "echo Starting Kafka KRaft mode"
        + CONFLUENT_STEPS.format(id='"$(kafka-storage random-uuid)"')
        + "echo '' > /etc/confluent/docker/ensure\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
    ),
    "python KafkaContainer with_kraft": Module(
        public=9093,
        environment={
            **{name: text for name, text in ONE_NODE.items() if "TRANSACTION" not in name},
            "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000",
            "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
            "KAFKA_BROKER_ID": "1",
            "KAFKA_LISTENERS": PUBLIC_9093,
        },
        shell="sh ",
        script="/tc-start.sh",
        script_text="#!/bin/bash\n"
        + CONFLUENT_STEPS.format(id="MkU3OEVBNTcwNTJENDM2Qk")
        + "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,"
        "BROKER://$(hostname -i):9092\n. /etc/confluent/docker/bash-config\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
        line=".*Kafka Server started.*",
    ),
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[ContainerFolder]:
    folder = ContainerFolder(tmp_path)
    yield folder
    folder.kill()


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_a_module_starts_a_broker(module: Module, container: ContainerFolder) -> None:
    container.start(module.command(), module.environment)
    container.copy_in(module.script, module.script_text, 0o777)
    container.wait_for_line(module.line)
    write_and_read(f"localhost:{container.port(module.public)}")
    assert "warning" not in container.log()
    check = container.run(["/etc/kafka/docker/health"])
    assert (check.returncode, check.stdout) == (0, "ready\n")


def write_and_read(bootstrap: str) -> None:
    """Write a record to a topic that does not exist yet, and read it."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", b"one")
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    message = consumer.poll(60)
    consumer.close()
    assert message is not None and message.error() is None and message.value() == b"one"
