"""States of share-partitions at a share coordinator, as Apache Kafka keeps them.

`python -m tests.golden.share_state_cases` records `share_states_kafka.json` anew: requests of the
share coordinator's five APIs for two topics, right and wrong ones, and of FindCoordinator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from protocol.messages import delete_share_group_state as deletion
from protocol.messages import initialize_share_group_state as initialization
from protocol.messages import read_share_group_state as reading
from protocol.messages import read_share_group_state_summary as summary
from protocol.messages import write_share_group_state as writing
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.primitives import uuid_to_string
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "share_states_kafka.json"
PROPERTIES = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}
GROUP, TOPIC, OTHER = "sharing", "shared-t", "shared-u"
ABSENT = bytes(range(16))
SHARE = 2
NOT_YET = (14, 15, 16, 3)

Ask: TypeAlias = Callable[[Any, int], Any]
"""The answer to a request in a version."""


class ShareStates:
    """A conversation with a broker that has no such states yet."""

    def __init__(self, ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits some seconds."""
        self._ask = ask
        self._pause = pause
        self._ids: dict[str, bytes] = {}

    def answers(self) -> Iterator[tuple[str, Any]]:
        """Yield each answer with its name."""
        self.prepare()
        yield from self._keys()
        yield from self._before_the_first()
        yield from self._initializations()
        yield from self._writes()
        yield from self._leaders()
        yield from self._odd_requests()
        yield from self._deletions()

    def prepare(self) -> None:
        """Create the topics, and wait until the coordinator of their states serves."""
        topics = [CreatableTopic(TOPIC, 2, 1), CreatableTopic(OTHER, 1, 1)]
        self._ask(CreateTopicsRequest(topics, 10_000), 7)
        names = [MetadataRequestTopic(bytes(16), name) for name in (TOPIC, OTHER)]
        while len(self._ids) < len(names):
            found = self._ask(MetadataRequest(names), 12).topics
            self._ids = {topic.name: topic.topic_id for topic in found if not topic.error_code}
        while any(self._coordinators(6, self._key_text())):
            self._pause(0.1)
        while self.summary(0)[0][1][0][1] in NOT_YET:
            self._pause(0.1)

    # --- calls ------------------------------------------------------------------------------------

    def _key_text(self, partition: object = 0) -> str:
        return f"{GROUP}:{uuid_to_string(self._ids[TOPIC])}:{partition}"

    def _coordinators(self, version: int, *keys: str) -> list[int]:
        request = FindCoordinatorRequest(keys[0], SHARE, list(keys))
        answer = self._ask(request, version)
        return [one.error_code for one in answer.coordinators] or [answer.error_code]

    def _told(self, request: Any, version: int) -> list[Any]:
        """The rows of an answer by topic and partition; of a message only whether there is one."""
        names = {topic_id: name for name, topic_id in self._ids.items()}

        def row(one: Any) -> list[Any]:
            values = [getattr(one, name) for name in one.__slots__]
            return [
                bool(value) if name == "error_message" else _plain(value)
                for name, value in zip(one.__slots__, values, strict=True)
            ]

        return sorted(
            [names.get(topic.topic_id, "absent"), sorted(map(row, topic.partitions))]
            for topic in self._ask(request, version).results
        )

    def _topics(self, kind: Any, *rows: Any, topic: str = TOPIC) -> list[Any]:
        return [kind(self._ids.get(topic, ABSENT), list(rows))]

    def initialize(self, state_epoch: int, start: int, partition: int = 0, **topic: str) -> Any:
        row = initialization.PartitionData(partition, state_epoch, start)
        topics = self._topics(initialization.InitializeStateData, row, **topic)
        return self._told(initialization.InitializeShareGroupStateRequest(GROUP, topics), 0)

    def read(self, leader_epoch: int, partition: int = 0, **topic: str) -> Any:
        row = reading.PartitionData(partition, leader_epoch)
        topics = self._topics(reading.ReadStateData, row, **topic)
        return self._told(reading.ReadShareGroupStateRequest(GROUP, topics), 0)

    def write(
        self,
        *batches: tuple[int, int, int, int],
        state: int = 5,
        leader: int = 0,
        start: int = 10,
        final: int = 0,
        partition: int = 0,
        version: int = 1,
        **topic: str,
    ) -> Any:
        row = writing.PartitionData(
            partition, state, leader, start, final, [writing.StateBatch(*one) for one in batches]
        )
        topics = self._topics(writing.WriteStateData, row, **topic)
        return self._told(writing.WriteShareGroupStateRequest(GROUP, topics), version)

    def summary(self, partition: int = 0, version: int = 1, **topic: str) -> Any:
        row = summary.PartitionData(partition, 0)
        topics = self._topics(summary.ReadStateSummaryData, row, **topic)
        return self._told(summary.ReadShareGroupStateSummaryRequest(GROUP, topics), version)

    def delete(self, partition: int = 0, **topic: str) -> Any:
        topics = self._topics(deletion.DeleteStateData, deletion.PartitionData(partition), **topic)
        return self._told(deletion.DeleteShareGroupStateRequest(GROUP, topics), 0)

    # --- the conversation -------------------------------------------------------------------------

    def _keys(self) -> Iterator[tuple[str, Any]]:
        topic_id = uuid_to_string(self._ids[TOPIC])
        texts = {
            "valid": self._key_text(),
            "colons": f"a:b::{topic_id}:1",
            "padded": f"{GROUP}:{topic_id}==:0",
            "signed": self._key_text("+1"),
            "negative": self._key_text(-1),
            "more colons": self._key_text("0::"),
            "a group": GROUP,
            "empty": "",
            "no group": f":{topic_id}:0",
            "blank group": f" :{topic_id}:0",
            "no topic id": f"{GROUP}:x:0",
            "longer topic id": f"{GROUP}:{topic_id}A:0",
            "half padded": f"{GROUP}:{topic_id}=:0",
            "other alphabet": f"{GROUP}:{topic_id[:-2]}+/:0",
            "no number": self._key_text("x"),
            "spaced": self._key_text(" 1"),
            "too large": self._key_text(2**31),
        }
        for version in (5, 6):
            found = self._coordinators(version, *texts.values())
            yield f"keys v{version}", dict(zip(texts, found, strict=True))

    def _before_the_first(self) -> Iterator[tuple[str, Any]]:
        yield "read before", self.read(0)
        yield "write before", self.write((10, 11, 2, 1))
        yield "summary before", self.summary()
        yield "delete before", self.delete()

    def _initializations(self) -> Iterator[tuple[str, Any]]:
        yield "initialize", self.initialize(4, -1)
        yield "summary of a new one", self.summary()
        yield "read of a new one", self.read(0)
        yield "initialize again", self.initialize(4, 10)
        yield "initialize earlier", self.initialize(3, 0)
        yield "initialize later", self.initialize(5, 10)
        yield "summary of a later one", self.summary()
        yield "summary v0", self.summary(version=0)
        yield "initialize a second", self.initialize(5, -1, 1)
        yield "initialize no partition", self.initialize(5, 0, 2)
        yield "initialize a negative partition", self.initialize(5, 0, -1)
        yield "initialize a negative epoch", self.initialize(-1, 0)
        yield "initialize an absent topic", self.initialize(5, 0, topic="absent")

    def _writes(self) -> Iterator[tuple[str, Any]]:
        for name, batches, more in (
            ("first", [(10, 14, 2, 1), (15, 19, 0, 1)], {"final": 5}),
            ("again", [(12, 16, 0, 1)], {"final": 3}),
            ("more deliveries", [(12, 16, 0, 2)], {"final": 5}),
            ("ends", [(15, 19, 2, 2)], {"final": 8}),
            ("archived", [(30, 30, 4, 1), (31, 31, 4, 1)], {"final": 8}),
            ("archiving", [(32, 33, 3, 1)], {"final": 8}),
            ("start moves", [(20, 24, 2, 1)], {"start": 15, "final": 4}),
            ("start falls", [(10, 12, 2, 3)], {"start": 10, "final": 9}),
            ("before the start", [(8, 20, 0, 9)], {"start": 15, "final": 4}),
            ("without batches", [], {"start": 16, "final": 1}),
            ("v0", [(40, 40, 2, 1)], {"start": 16, "version": 0}),
        ):
            yield f"write, {name}", self.write(*batches, **more)  # type: ignore[arg-type]
            yield f"write, {name}: read", self.read(0)
            yield f"write, {name}: summary", self.summary()
        yield "write, later state epoch", self.write((50, 50, 2, 1), state=6, start=16)
        yield "write, later state epoch: read", self.read(0)
        yield "write, earlier state epoch", self.write((51, 51, 2, 1), state=4, start=16)
        yield "write, negative partition", self.write(partition=-1)
        yield "write, negative state epoch", self.write(state=-1)
        yield "write, negative leader epoch", self.write(leader=-1)
        yield "write, absent topic", self.write(topic="absent")
        yield "write, second, uninitialized start", self.write((3, 4, 2, 1), partition=1, start=-1)
        yield "write, second: read", self.read(0, 1)
        yield "write, second: summary", self.summary(1)

    def _leaders(self) -> Iterator[tuple[str, Any]]:
        yield "read as leader 3", self.read(3)
        yield "summary after leader 3", self.summary()
        yield "read as leader 2", self.read(2)
        yield "write as leader 2", self.write((60, 60, 2, 1), leader=2, start=16)
        yield "write as leader 4", self.write((61, 61, 2, 1), leader=4, start=16)
        yield "summary after leader 4", self.summary()
        yield "read as leader 3 again", self.read(3)
        yield "read as leader -1", self.read(-1)
        yield "read of a negative partition", self.read(0, -1)
        yield "read of an absent topic", self.read(0, topic="absent")
        yield "read of no partition", self.read(0, 2)
        yield "initialize under leader 4", self.initialize(6, 0)
        yield "write as leader 3 after it", self.write((1, 1, 2, 1), leader=3, state=6, start=0)
        yield "summary of it", self.summary()
        yield "summary of a negative partition", self.summary(-1)
        yield "summary of an absent topic", self.summary(topic="absent")

    def _odd_requests(self) -> Iterator[tuple[str, Any]]:
        first, other, absent = self._ids[TOPIC], self._ids[OTHER], ABSENT
        read, init = reading.ReadStateData, initialization.InitializeStateData
        row, new = reading.PartitionData(0, 9), initialization.PartitionData(0, 7, 0)
        for name, group, topics in (
            ("two topics", GROUP, [read(first, [row]), read(other, [row])]),
            ("no group", "", [read(first, [row])]),
            ("no topics", GROUP, []),
            ("a topic without partitions", GROUP, [read(first, [row]), read(other, [])]),
            ("a topic twice", GROUP, [read(first, [row]), read(first, [row])]),
            ("a known and an absent topic", GROUP, [read(first, [row]), read(absent, [row])]),
        ):
            yield f"read, {name}", self._told(reading.ReadShareGroupStateRequest(group, topics), 0)
        for name, group, listed in (
            ("two topics", GROUP, [init(first, [new]), init(other, [new])]),
            ("no group", "", [init(first, [new])]),
            ("no topics", GROUP, []),
            ("a topic without partitions", GROUP, [init(first, [new]), init(other, [])]),
        ):
            request = initialization.InitializeShareGroupStateRequest(group, listed)
            yield f"initialize, {name}", self._told(request, 0)

    def _deletions(self) -> Iterator[tuple[str, Any]]:
        yield "delete", self.delete()
        yield "read after it", self.read(9)
        yield "summary after it", self.summary()
        yield "delete again", self.delete()
        yield "initialize after it", self.initialize(1, 0)
        yield "read of the new one", self.read(0)
        yield "delete a negative partition", self.delete(-1)
        yield "delete of an absent topic", self.delete(topic="absent")


def _plain(value: Any) -> Any:
    """A field's value, with the batches as lists."""
    if not isinstance(value, list):
        return value
    return [[getattr(one, name) for name in one.__slots__] for one in value]


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port = free_port()
    with ApacheKafka(port=port, properties=PROPERTIES, jvm_options=FAST_START, heap="512m"):
        states = ShareStates(lambda request, version: ask(port, request, version))
        write_json(RECORDED, dict(states.answers()))


if __name__ == "__main__":
    record()
