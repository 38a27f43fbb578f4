from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from broker.metrics import Metrics
from broker.node.metrics.share_metrics import register_share_metrics
from broker.node.shares import NodeShares
from broker.share.record_state import RecordState
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from ground.memory_filesystem import MemoryFilesystem
from protocol.errors import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.broker.node_fixture import Running

TOPIC = "__share_group_state"
BATCH = StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1)
SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.prune.interval.ms": "1000",
}


class ShareNode(Running):
    """A node with topic `t`, and calls of its persister."""

    def shares(self) -> NodeShares:
        assert self.node.broker is not None
        return self.node.broker.parts.shares

    def key(self) -> SharePartitionKey:
        topic = self.node.image.topics.get("t")
        assert topic is not None
        return SharePartitionKey("g", topic.id, 0)

    def call(
        self, name: str, key: SharePartitionKey, *arguments: object
    ) -> StateAnswer | ErrorCode:
        """Return the answer to a call of the persister, or its error."""
        replies: list[tuple[ErrorCode, StateAnswer]] = []
        reply = lambda *result: replies.append(result)  # noqa: E731
        getattr(self.shares().persister, name)(key, *arguments, reply)
        self.scheduler.run_until(lambda: bool(replies), limit_ms=60_000)
        ((error, answer),) = replies
        return error or answer


def test_a_state_is_kept_over_a_restart_and_its_topic_is_created_on_demand() -> None:
    filesystem = MemoryFilesystem()
    running = ShareNode("/data", filesystem=filesystem, **SETTINGS)
    running.create("t")
    key = running.key()
    assert TOPIC not in running.node.image.topics.by_name
    assert running.call("initialize", key, 1, 5) == StateAnswer()
    topic = running.node.image.topics.get(TOPIC)
    assert topic is not None and len(topic.partitions) == 2
    assert running.call("write", key, WriteRequest(1, 0, 5, 2, (BATCH,))) == StateAnswer()
    written = running.call("read", key, 0)
    assert isinstance(written, StateAnswer) and written.batches == (BATCH,)
    running.stop()
    again = ShareNode("/data", filesystem=filesystem, life=1, **SETTINGS)
    assert again.shares().begun_coordinator is not None, "it leads the topic's partitions"
    assert again.call("read", key, 0) == written
    assert again.shares().serves(key.text)
    again.stop()


def test_records_that_no_state_needs_are_deleted() -> None:
    running = ShareNode("/data", filesystem=MemoryFilesystem(), **SETTINGS)
    running.create("t")
    key = running.key()
    running.call("initialize", key, 1, 5)
    for _ in range(4):
        running.call("write", key, WriteRequest(1, 0, 5, 2, (BATCH,)))
    running.scheduler.run_for(1_500)
    shares = running.shares()
    partition = shares.partition_for(key.text)
    assert partition is not None
    log = running.node.broker.parts.replicas.partition(TOPIC, partition)  # type: ignore[union-attr]
    assert log is not None and log.log.log_start_offset == 4
    assert shares.coordinator.deleted_before == {partition: 4}
    assert not shares._delete_before(partition, 99)
    assert not shares._delete_before(7, 1)
    running.stop()


def test_the_coordinator_has_the_metrics_of_kafka() -> None:
    running = ShareNode("/data", filesystem=MemoryFilesystem(), **SETTINGS)
    metrics = Metrics()
    register_share_metrics(metrics, running.shares(), running.scheduler.monotonic_ms)

    def values(name: str) -> list[tuple[dict[str, str], float]]:
        name = f"kafka_server_share_coordinator_metrics_{name}"
        return [*next(family.samples for family in metrics.families() if family.name == name)]

    assert values("write") == [({}, 0)] and values("last_pruned_offset") == []
    assert math.isnan(values("write_latency_avg")[0][1])
    assert math.isnan(values("write_latency_max")[0][1])
    running.create("t")
    key = running.key()
    running.call("initialize", key, 1, 5)
    for _ in range(4):
        running.call("write", key, WriteRequest(1, 0, 5, 2, (BATCH,)))
    running.call("read", key, 0)
    running.call("read", key, 1)
    running.scheduler.run_for(1_500)
    assert values("write") == [({}, 5)], "four writes, and a read by a new leader"
    assert values("write_latency_avg")[0][1] <= values("write_latency_max")[0][1] < 1_000
    loaded = {labels["state"]: value for labels, value in values("num_partitions")}
    assert loaded == {"active": 2, "failed": 0, "loading": 0}
    ((labels, offset),) = values("last_pruned_offset")
    assert (labels["topic"], offset) == (TOPIC, 4)
    running.stop()


def test_the_states_of_a_deleted_topic_go() -> None:
    running = ShareNode("/data", filesystem=MemoryFilesystem(), **SETTINGS)
    running.create("t")
    key = running.key()
    running.call("initialize", key, 1, 5)
    running.ask(DeleteTopicsRequest([DeleteTopicState("t", bytes(16))], timeout_ms=1_000), 6)
    running.scheduler.run_for(100)
    shards = running.shares().coordinator._runtime.active_shards()
    assert [dict(shard.states) for shard in shards] == [{}, {}]
    running.stop()


def test_a_stop_answers_the_calls_that_wait() -> None:
    running = ShareNode("/data", filesystem=MemoryFilesystem(), **SETTINGS)
    running.create("t")
    key, errors = running.key(), list[ErrorCode]()
    running.call("initialize", key, 1, 5)
    shares = running.shares()
    shares.persister.read(key, 0, lambda error, _: errors.append(error))
    running.stop()
    assert errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert not shares.serves(key.text)


def test_clients_may_not_produce_to_the_topic() -> None:
    running = ShareNode("/data", filesystem=MemoryFilesystem(), **SETTINGS)
    running.create("t")
    running.call("initialize", running.key(), 1, 5)
    assert running.produce(TOPIC, b"v").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    running.stop()


def test_a_node_without_share_groups_creates_nothing(tmp_path: Path) -> None:
    running = ShareNode(tmp_path)
    shares = running.shares()
    shares.on_resigned(3)
    shares.metadata_changed()
    shares.topics_deleted(frozenset({bytes(16)}))
    assert shares.begun_coordinator is None
    assert not shares.serves("g:AAECAwQFBgcICQoLDA0ODw:0")
    assert shares.partition_for("g") is None
    assert {"coordinator", "persister"}.isdisjoint(vars(shares))
    running.stop()


def test_nothing_of_it_is_loaded_by_a_start() -> None:
    code = "import sys, broker.node.node; print([m for m in sys.modules if 'broker.share' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
