"""An administrator: topics come and go, records are deleted, configs are changed and read.

Also the one that sets a simulation's topics up. It tries each change once and does not know the
outcome of those that were lost; the watchers keep what may be, and what must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
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
from protocol.messages.elect_leaders import ElectLeadersRequest
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
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.sim_actor import SimActor

TOPIC = 2
LATEST = -1
CONFIG = "retention.ms"


@dataclass(slots=True)
class Deleting:
    """What watchers are told of a DeleteRecords (`Exchange.about`)."""

    topic_id: bytes
    partition: int
    offset: int


class SimAdmin(SimActor):
    """See the module. `steady` topics live as long as the simulation, `churning` ones do not."""

    def __init__(
        self,
        name: str,
        *where: Any,
        steady: dict[str, int],
        churning: list[str],
        trimmed: list[str],
        think_ms: float,
        replicas: int = 1,
        limited: bool = False,
    ) -> None:
        """`limited`: whether a quota may refuse it partitions."""
        super().__init__(name, *where)
        self._refusals = (*TRIED_IN_VAIN, ErrorCode.THROTTLING_QUOTA_EXCEEDED)[: 2 + limited]
        self.steady = steady
        self.churning = churning
        self.trimmed = trimmed
        self.think_ms = think_ms
        self.replicas = replicas
        self.ready = False
        self._counter = 0

    def life(self) -> Waits:
        while not self.ready:
            yield from self._create(self.steady)
            yield from self.learn(list(self.steady))
            self.ready = len(self.topics.all_of(self.steady)) == len(self.steady)
        works = {self._come: 4, self._go: 3, self._trim: 2, self._alter: 2, self._describe: 2,
                 self._grow: 1}  # fmt: skip
        if self.replicas > 1:
            works |= {self._reassign: 2, self._elect: 2}
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            yield from self.chance.choices(list(works), list(works.values()))[0]()

    def _create(self, topics: dict[str, int]) -> Waits:
        wanted = [
            CreatableTopic(name, partitions, self.replicas, configs=self._configs())
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
        topic = self.topics.get(name)
        if version >= 6 and topic is not None:
            states = [DeleteTopicState(None, topic.topic_id)]
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
        topic = self.topics.get(name)
        if topic is None:
            return
        count = len(topic.leaders) + 1
        request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)], 5_000)
        response = yield from self.call(request, self.chance.randint(0, 3))
        if response is not None:
            allowed = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PARTITIONS)
            self._expect([one.error_code for one in response.results], *allowed)

    def _trim(self) -> Waits:
        """Delete the older part of a partition."""
        name = self.chance.choice(self.trimmed)
        topic = self.topics.get(name)
        if topic is None:  # it was asked for at a broker that had just come back
            yield from self.learn(list(self.steady))
            return
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

    def _reassign(self) -> Waits:
        """Give a partition's replicas another order, or let another broker hold one of them."""
        name = self.chance.choice([*self.steady, *self.churning])
        yield from self.learn([name])
        topic = self.topics.get(name)
        if topic is None:
            return
        partition = self.chance.choice(sorted(topic.leaders))
        replicas = self.chance.sample(self.node_ids, min(self.replicas, len(self.node_ids)))
        wanted = ReassignablePartition(partition, replicas)
        if self.chance.random() < 0.2:
            wanted.replicas = None  # cancel what is under way
        request = AlterPartitionReassignmentsRequest(
            5_000, topics=[ReassignableTopic(name, [wanted])]
        )
        response = yield from self.call(request, self.chance.randint(0, 1))
        if response is not None and not response.error_code:
            allowed = (
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            )
            told = [p.error_code for one in response.responses for p in one.partitions]
            self._expect(told, *allowed)

    def _elect(self) -> Waits:
        """Let the preferred replicas lead."""
        request = ElectLeadersRequest(0, None, 5_000)
        response = yield from self.call(request, self.chance.randint(1, 2))
        if response is not None and not response.error_code:
            allowed = (
                ErrorCode.ELECTION_NOT_NEEDED,
                ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            )
            told = [
                p.error_code for one in response.replica_election_results
                for p in one.partition_result
            ]  # fmt: skip
            self._expect(told, *allowed)

    def _describe(self) -> Waits:
        wanted = [DescribeConfigsResource(TOPIC, name, [CONFIG]) for name in self.steady]
        yield from self.call(DescribeConfigsRequest(wanted), self.chance.randint(1, 4))
        yield from self.learn(None)

    def _expect(self, errors: list[int], *allowed: ErrorCode) -> None:
        if self.replicas > 1:  # too few brokers may be up
            allowed = (*allowed, ErrorCode.INVALID_REPLICATION_FACTOR)
        for code in errors:
            error = ErrorCode(code)
            if error and error not in (*allowed, *self._refusals) and not self.is_refused(error):
                raise Violation("I13", f"{self.name} is told {error!r}")


TRIED_IN_VAIN = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
