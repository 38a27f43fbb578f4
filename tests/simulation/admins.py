"""An administrator: topics come and go, records are deleted, configs are changed and read.

Also the one that sets a simulation's topics up. It tries each change once and does not know the
outcome of those that were lost; the watchers keep what may be, and what must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.simulation.sim_client import SimClient, Violation, Waits

TOPIC = 2
LATEST = -1
CONFIG = "retention.ms"


@dataclass(slots=True)
class Deleting:
    """What watchers are told of a DeleteRecords (`Exchange.about`)."""

    topic_id: bytes
    partition: int
    offset: int


class SimAdmin(SimClient):
    """See the module. `steady` topics live as long as the simulation, `churning` ones do not."""

    def __init__(
        self,
        name: str,
        *where: Any,
        steady: dict[str, int],
        churning: list[str],
        trimmed: list[str],
        think_ms: float,
    ) -> None:
        super().__init__(name, *where)
        self.steady = steady
        self.churning = churning
        self.trimmed = trimmed
        self.think_ms = think_ms
        self.ready = False
        self._counter = 0

    def life(self) -> Waits:
        while not self.ready:
            yield from self._create(self.steady)
            yield from self.learn(list(self.steady))
            self.ready = all(name in self.topics for name in self.steady)
        works = [self._come, self._go, self._trim, self._alter, self._describe, self._grow]
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            yield from self.chance.choices(works, [4, 3, 2, 2, 2, 1])[0]()

    def _create(self, topics: dict[str, int]) -> Waits:
        wanted = [
            CreatableTopic(name, partitions, 1, configs=self._configs())
            for name, partitions in topics.items()
        ]
        request = CreateTopicsRequest(wanted, 5_000)
        response = yield from self.call(request, self.chance.randint(2, 7))
        if response is not None:
            self._expect(
                [one.error_code for one in response.topics], ErrorCode.TOPIC_ALREADY_EXISTS
            )

    def _configs(self) -> list[CreatableTopicConfig]:
        """Now and then segments that roll often, and an index entry for each batch."""
        configs = [CreatableTopicConfig("index.interval.bytes", "200")]
        if self.chance.random() < 0.7:
            configs.append(CreatableTopicConfig("segment.ms", "3000"))
        if self.chance.random() < 0.2:
            configs.append(CreatableTopicConfig("flush.messages", "7"))
        return configs

    def _come(self) -> Waits:
        name = self.chance.choice(self.churning)
        yield from self._create({name: self.chance.randint(1, 3)})

    def _go(self) -> Waits:
        name = self.chance.choice(self.churning)
        yield from self.learn([name])
        version = self.chance.choice([1, 4, 5, 6])
        if version >= 6 and name in self.topics:
            states = [DeleteTopicState(None, self.topics[name].topic_id)]
        else:
            states = [DeleteTopicState(name)]
        response = yield from self.call(DeleteTopicsRequest(states, [name], 5_000), version)
        if response is not None:
            errors = [one.error_code for one in response.responses]
            absent = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
            self._expect(errors, *absent)

    def _grow(self) -> Waits:
        name = self.chance.choice(self.churning)
        yield from self.learn([name])
        if name not in self.topics:
            return
        count = len(self.topics[name].leaders) + 1
        request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)], 5_000)
        response = yield from self.call(request, self.chance.randint(0, 3))
        if response is not None:
            allowed = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PARTITIONS)
            self._expect([one.error_code for one in response.results], *allowed)

    def _trim(self) -> Waits:
        """Delete the older part of a partition."""
        name = self.chance.choice(self.trimmed)
        topic = self.topics[name]
        partition = self.chance.choice(sorted(topic.leaders))
        wanted = ListOffsetsPartition(partition, timestamp=LATEST)
        request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(name, [wanted])])
        response = yield from self.call(
            request, self.chance.randint(1, 7), topic.leaders[partition]
        )
        if response is None or response.topics[0].partitions[0].error_code:
            yield from self.learn(list(self.steady))
            return
        offset = int(response.topics[0].partitions[0].offset * self.chance.random())
        asked = DeleteRecordsTopic(name, [DeleteRecordsPartition(partition, offset)])
        about = Deleting(topic.topic_id, partition, offset)
        yield from self.call(
            DeleteRecordsRequest([asked], 5_000),
            self.chance.randint(0, 2),
            topic.leaders[partition],
            about=about,
        )

    def _alter(self) -> Waits:
        name = self.chance.choice([*self.steady, *self.churning])
        self._counter += 1
        value = str(86_400_000 + self._counter)
        change = AlterConfigsResource(TOPIC, name, [AlterableConfig(CONFIG, 0, value)])
        request = IncrementalAlterConfigsRequest([change])
        response = yield from self.call(request, self.chance.randint(0, 1))
        if response is not None:
            errors = [one.error_code for one in response.responses]
            self._expect(errors, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _describe(self) -> Waits:
        wanted = [DescribeConfigsResource(TOPIC, name, [CONFIG]) for name in self.steady]
        yield from self.call(DescribeConfigsRequest(wanted), self.chance.randint(1, 4))
        yield from self.learn(None)

    def _expect(self, errors: list[int], *allowed: ErrorCode) -> None:
        for code in errors:
            error = ErrorCode(code)
            if error and error not in (*allowed, *UNSURE):
                raise Violation("I13", f"{self.name} is told {error!r}")


UNSURE = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
