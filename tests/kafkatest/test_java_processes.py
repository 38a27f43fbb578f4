"""The hosts' `jcmd`: which processes it shows, and under which names."""

from __future__ import annotations

from tests.kafkatest.java_processes import shown


def test_a_jvm_is_its_class_and_arguments() -> None:
    options = ["-Xmx1g", "-cp", "a:b", "-Dx=y"]
    assert shown(["/usr/bin/java", *options, "kafka.Kafka", "server.properties"]) == [
        "kafka.Kafka",
        "server.properties",
    ]
    assert shown(["java", "-version"]) == []


def test_a_node_of_ottla_is_a_broker_of_kafka() -> None:
    words = ["python", "/venv/bin/ottla", "serve", "--config", "a.properties"]
    assert shown([*words, "--kafka-log-lines"]) == ["kafka.Kafka", "a.properties"]


def test_other_processes_are_not_shown() -> None:
    assert shown([]) == shown(["sshd"]) == shown(["ottla", "format", "--config", "f"]) == []
