"""What counts as a complaint in Apache Kafka's log."""

from __future__ import annotations

from tests.tools.kafka_log import errors_in

LOG = """\
[2026-11-27 06:54:20,100] INFO [KafkaRaftServer nodeId=1] ERROR is only a word here (kafka.Kafka)
[2026-11-27 06:54:20,537] ERROR [ControllerApis nodeId=1] Unexpected error handling request \
RequestHeader(apiKey=CONTROLLER_REGISTRATION, apiVersion=0) (kafka.server.ControllerApis)
java.util.concurrent.CompletionException: org.apache.kafka.common.errors.NotControllerException: \
The active controller appears to be node 1.
\tat java.base/java.util.concurrent.CompletableFuture.encodeThrowable(CompletableFuture.java:332)
[2026-11-27 06:54:21,000] ERROR Error processing append operation on partition t-0 (ReplicaManager)
org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number
[2026-11-27 06:54:22,000] ERROR [ControllerApis nodeId=1] Unexpected error handling request \
RequestHeader(apiKey=CONTROLLER_REGISTRATION, apiVersion=0) (kafka.server.ControllerApis)
java.lang.NullPointerException: who
"""


def test_errors_come_with_their_exceptions_but_for_those_of_a_busy_machine() -> None:
    append, registration = errors_in(LOG)
    assert "OutOfOrderSequenceException" in append
    assert "NullPointerException: who" in registration
    assert errors_in(LOG, "Error processing append operation") == [registration]


def test_a_log_without_errors() -> None:
    assert errors_in("") == []
    assert errors_in(LOG.partition("\n")[0]) == []
