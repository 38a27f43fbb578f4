"""Ottla's group coordinator repeats what Apache Kafka answered and wrote, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinator.coordinator_log import LogRecord
from controller.metadata.image import ResourceType
from ground.topic_partition import TopicPartition
from protocol.api_keys import ApiKey, messages_of
from tests.golden.consumer_groups import Names, message, plain, scenarios, written
from tests.unit.broker.groups.playbook import GroupNode, image_with

GROUP = "g"


class Repetition:
    """A node of Ottla in process, to which the steps of a scenario happen."""

    def __init__(self) -> None:
        self.names = Names()
        self.node = GroupNode()
        self.wire = self.node.connect("wire")
        self.configs: dict[str, str] = {}
        self.topics: dict[str, tuple[bytes, int]] = {}
        self.made = 0
        self.seen = self._appended()
        self._publish()

    def topic(self, name: str, partitions: int) -> None:
        """It is made, or gets more partitions."""
        if name not in self.topics:
            self.made += 1
        topic_id = self.topics.get(name, (bytes([self.made]) * 16, 0))[0]
        self.names.ids[topic_id] = f"id:{name}"
        self.topics[name] = (topic_id, partitions)
        for index in range(partitions):
            self.node.shares.end_offsets.offsets[TopicPartition(name, index)] = 0
        self._publish()

    def delete(self, name: str) -> None:
        """The topic is gone, and so are the offsets of it."""
        topic_id, _ = self.topics.pop(name)
        self._publish()
        self.node.coordinator.on_topics_deleted({topic_id: name})
        self.seen = self._appended()

    def config(self, values: dict[str, str]) -> None:
        """The group is configured."""
        self.configs = {**self.configs, **values}
        self._publish()

    def _publish(self) -> None:
        image = image_with(**self.topics)
        configs = {(ResourceType.GROUP, GROUP): self.configs}
        self.node.image = image._replace(configs=configs)

    def ask(self, step: dict[str, Any]) -> tuple[Any, Any]:
        """The answer to a request, and the batches that were written for it."""
        api = messages_of(ApiKey[step["api"]])
        request = message(api.request, step["request"], self.names)
        answer = plain(self.wire.call(request, step["version"]), self.names)
        before, self.seen = self.seen, self._appended()
        new = self.node.log.batches[before:]
        return answer, [[self._written(one) for one in batch] for batch in new]

    def _written(self, record: LogRecord) -> Any:
        assert record.key is not None
        return written(record.key, record.value, self.names)

    def _appended(self) -> int:
        return len(self.node.log.batches)


@pytest.mark.parametrize("name", scenarios())
def test_a_conversation_goes_as_with_kafka(name: str) -> None:
    here = Repetition()
    for number, step in enumerate(scenarios()[name]):
        if "topic" in step:
            here.topic(step["topic"], step["partitions"])
        elif "delete" in step:
            here.delete(step["delete"])
        elif "config" in step:
            here.config(step["config"])
        elif "api" in step:
            answer, batches = here.ask(step)
            where = f"step {number}: {step.get('note', '')}"
            assert answer == step["answer"], where
            if "TXN" not in step["api"]:
                assert batches == step.get("batches", []), where
