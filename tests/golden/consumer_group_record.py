"""Record how Apache Kafka's group coordinator goes through the scenarios of `consumer_groups`.

    python -m tests.golden.consumer_group_record [scenario …]

Takes the steps of `consumer_groups_kafka.json` and `share_groups_kafka.json`, and writes these
files again with the answers and batches of an Apache Kafka, a new one for each scenario.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.record_batch import iterate_batches
from protocol.records import Record, iterate_records
from tests.clients.wire_client import WireClient
from tests.golden.consumer_groups import FILES, Names, message, plain, scenarios_of, written
from tests.golden.group_rights_cases import RETRIED
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.waiting import wait_until

GROUP, GROUP_RESOURCE, OFFSETS = "g", 32, "__consumer_offsets"
TRANSACTIONAL_ID = "tx"
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "group.coordinator.append.linger.ms": "0",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.append.linger.ms": "0",
}
SETTLED_S = 0.3
"""The time after which a request has left its records, and a topic or config is known."""


def record(file: Path, names: list[str]) -> None:
    """Go through these scenarios, all if there is no name, and keep the others as they are."""
    lines = []
    for name, steps in scenarios_of(file).items():
        if not names or name in names:
            with ApacheKafka(jvm_options=FAST_START, heap="256m", properties=PROPERTIES) as kafka:
                steps = Recording(WireClient(kafka.port, "wire")).of(steps)
            print(name, flush=True)
        shown = ",\n".join(json.dumps(step) for step in steps)
        lines.append(f'{{"scenario": {json.dumps(name)}, "steps": [\n{shown}\n]}}')
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")


class Recording:
    """The recording of a scenario: its steps with Kafka's answers."""

    def __init__(self, wire: WireClient) -> None:
        self._wire = wire
        self._names = Names()
        self._topics: set[str] = set()
        self._read = 0

    def of(self, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the steps with their answers and batches."""
        wait_until(self._is_ready, "a group coordinator")
        if any(step.get("api") == "TXN_OFFSET_COMMIT" for step in steps):
            self._begin_transaction()
        if any("SHARE" in step.get("api", "") for step in steps):
            self._create_share_state()
        time.sleep(SETTLED_S)
        self._batches()
        return [self._step(step) for step in steps]

    def _is_ready(self) -> bool:
        found = self._wire.call(FindCoordinatorRequest(coordinator_keys=[GROUP]), 4)
        described = self._wire.call(ConsumerGroupDescribeRequest([GROUP]), 1)
        return (
            not found.coordinators[0].error_code and described.groups[0].error_code not in RETRIED
        )

    def _begin_transaction(self) -> None:
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTIONAL_ID])
        wait_until(lambda: not self._wire.call(find, 4).coordinators[0].error_code, "a coordinator")
        begin = InitProducerIdRequest(TRANSACTIONAL_ID, 60_000)
        wait_until(lambda: not self._wire.call(begin, 4).error_code, "a producer id")

    def _create_share_state(self) -> None:
        """Wait until a member of another share group has a partition: the topic of states is
        there."""
        self._create("other", 1)

        def beat(epoch: int) -> Any:
            names = ["other"] if epoch == 0 else None
            request = ShareGroupHeartbeatRequest("other", "m", epoch, None, names)
            return self._wire.call(request, 1)

        def is_assigned() -> bool:
            answer = beat(0)
            return bool(answer.assignment and answer.assignment.topic_partitions)

        wait_until(is_assigned, "an initialized partition", limit_s=90)
        beat(-1)
        self._wire.call(DeleteGroupsRequest(["other"]), 2)
        self._wire.call(DeleteTopicsRequest([DeleteTopicState("other")], timeout_ms=10_000), 6)

    def _step(self, step: dict[str, Any]) -> dict[str, Any]:
        if "topic" in step:
            self._create(step["topic"], step["partitions"])
        elif "delete" in step:
            topics = [DeleteTopicState(step["delete"])]
            self._wire.call(DeleteTopicsRequest(topics, timeout_ms=10_000), 6)
        elif "config" in step:
            self._configure(step["config"])
        else:
            return self._asked(step)
        time.sleep(SETTLED_S)
        return step

    def _create(self, topic: str, partitions: int) -> None:
        if topic in self._topics:
            more = [CreatePartitionsTopic(topic, partitions, None)]
            made = self._wire.call(CreatePartitionsRequest(more, 10_000), 3)
            assert not made.results[0].error_code, made
            return
        answer = self._wire.call(
            CreateTopicsRequest([CreatableTopic(topic, partitions, 1)], 10_000), 7
        )
        self._topics.add(topic)
        self._names.ids[answer.topics[0].topic_id] = f"id:{topic}"

    def _configure(self, values: dict[str, str]) -> None:
        configs = [AlterableConfig(name, 0, value) for name, value in values.items()]
        resource = AlterConfigsResource(GROUP_RESOURCE, GROUP, configs)
        answer = self._wire.call(IncrementalAlterConfigsRequest([resource]), 1)
        assert not answer.responses[0].error_code, answer

    def _asked(self, step: dict[str, Any]) -> dict[str, Any]:
        self._batches()
        api = messages_of(ApiKey[step["api"]])
        request = message(api.request, step["request"], self._names)
        if step["api"] == "TXN_OFFSET_COMMIT":
            self._add_group(request)
        answer = self._wire.call(request, step["version"])
        time.sleep(SETTLED_S)
        found = {**step, "answer": plain(answer, self._names)}
        found.pop("batches", None)
        batches = self._batches()
        if batches and "TXN" not in step["api"]:
            found["batches"] = batches
        return found

    def _add_group(self, request: Any) -> None:
        add = AddOffsetsToTxnRequest(TRANSACTIONAL_ID, 0, 0, request.group_id)
        concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
        wait_until(lambda: self._wire.call(add, 3).error_code != concurrent, "the transaction")

    def _batches(self) -> list[Any]:
        """Return the batches of records that were written since the last call."""
        partition = FetchPartition(0, fetch_offset=self._read, partition_max_bytes=1 << 24)
        request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(OFFSETS, partitions=[partition])])
        answer = self._wire.call(request, 11).responses[0].partitions[0]
        assert not answer.error_code, answer
        batches = []
        data = bytes(answer.records or b"")
        for position, header in iterate_batches(data, allow_partial_tail=True):
            self._read = header.last_offset + 1
            if not header.is_control:
                records = iterate_records(data, position)
                batches.append([self._written(one) for one in records])
        return batches

    def _written(self, record: Record) -> list[Any]:
        assert record.key is not None
        key, value = bytes(record.key), None if record.value is None else bytes(record.value)
        return written(key, value, self._names)


if __name__ == "__main__":
    for scenario_file in FILES:
        record(scenario_file, sys.argv[1:])
