from __future__ import annotations

from pathlib import Path
from typing import Any

from broker.config.endpoints import EndPoint
from broker.config.parse import single_node_config
from broker.groups.group_records import offset_tombstone
from broker.node.node import Node
from broker.node.node_ports import NodePorts
from broker.node.preparation.storage_folders import open_storage
from broker.transactions.transaction_log import transaction_tombstone
from controller.metadata.image import BrokerRegistration, Endpoint
from ground.filesystem import LocalFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.unit.broker.node_fixture import Running, halt

NOT_READY = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def other_broker(node_id: int, *, fenced: bool = False) -> BrokerRegistration:
    endpoint = Endpoint("PLAINTEXT", f"host-{node_id}", 9092, 0)
    return BrokerRegistration(
        node_id, 1, b"", {"PLAINTEXT": endpoint}, {}, None, fenced, False, (bytes(16),)
    )


def test_logs_are_opened_once_the_metadata_has_the_registration(tmp_path: Path) -> None:
    scheduler = SimScheduler()
    blocking = SimBlocking(scheduler)
    config = single_node_config({"log.dirs": str(tmp_path)})
    filesystem = LocalFilesystem()
    ports = NodePorts(filesystem, scheduler, blocking, blocking, scheduler.random.randbytes, halt)
    storage = open_storage(config, filesystem, ports.random_bytes, scheduler.wall_ms())
    node = Node(config, ports, storage)
    assert node.broker is not None
    opened: list[tuple[int, int]] = []
    load = node.logs.load

    def watched_load(*arguments: object) -> list[str]:
        opened.append((node.image.offset, node.broker_epoch()))
        return load(*arguments)  # type: ignore[arg-type]

    node.logs.load = watched_load  # type: ignore[method-assign]
    started: list[Exception | None] = []
    node.start([EndPoint("PLAINTEXT", "PLAINTEXT", "here", 9092)], started.append)
    scheduler.run_until(lambda: bool(started))
    ((offset, epoch),) = opened
    assert offset >= epoch >= 0
    assert not node.image.brokers[1].fenced


def test_who_is_alone_hands_nothing_over(tmp_path: Path) -> None:
    running = Running(tmp_path)
    assert running.node.broker is not None
    done: list[str] = []
    running.node.broker.hand_over(lambda: done.append("at once"))
    assert done == ["at once"]


def test_who_is_not_registered_hands_nothing_over(tmp_path: Path) -> None:
    running = Running(tmp_path)
    node, broker = running.node, running.node.broker
    assert broker is not None
    node.controller.loader.image = node.image._replace(
        brokers={**node.image.brokers, 7: other_broker(7)}
    )
    broker.parts.lifecycle.epoch = -1
    done: list[str] = []
    broker.hand_over(lambda: done.append("at once"))
    assert done == ["at once"]
    running.stop()


def test_leaders_move_while_another_broker_may_lead(tmp_path: Path) -> None:
    running = Running(tmp_path)
    broker = running.node.broker
    assert broker is not None
    lifecycle = broker.parts.lifecycle
    asked: list[BrokerHeartbeatRequest] = []
    to_controller = lifecycle._to_controller
    lifecycle._to_controller = lambda request, respond: (  # type: ignore[assignment]
        asked.append(request),
        to_controller(request, respond),
    )
    image = running.node.image
    brokers = {**image.brokers, 7: other_broker(7)}
    running.node.controller.loader.image = image._replace(brokers=brokers)
    done: list[str] = []
    broker.hand_over(lambda: done.append("told"))
    running.scheduler.run_until(lambda: bool(done))
    assert asked and all(request.want_shut_down for request in asked)


def test_the_controller_hears_of_a_failed_log_directory_and_leads_nothing_there(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    running = Running(first, **{"log.dirs": f"{first},{second}"})
    running.create("t", "u")
    node = running.node
    (lost,) = [log for log in node.logs.logs if log.log_dir == str(second)]
    ids = node.shared.storage.directory_ids
    node.failures.fail(str(second), "writing", OSError(5, "Input/output error"))
    running.scheduler.run_for(500)
    assert node.image.brokers[1].log_dirs == (ids[str(first)],)
    leaders = {name: node.image.topics.by_name[name].partitions[0].leader for name in "tu"}
    assert leaders == {name: -1 if name == lost.partition.topic else 1 for name in "tu"}
    running.stop()


def test_a_broker_registers_the_log_directories_that_work(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    (second / ".lock").mkdir(parents=True)
    running = Running(first, **{"log.dirs": f"{first},{second}"})
    ids = running.node.shared.storage.directory_ids
    assert running.node.image.brokers[1].log_dirs == (ids[str(first)],)
    running.stop()


def test_what_a_client_would_write_between_coordinators_records_changes_no_start(
    tmp_path: Path,
) -> None:
    """Tombstones of a committed offset and of a transactional id."""
    few = {f"{name}.num.partitions": "1" for name in ("offsets.topic", "transaction.state.log")}
    running = Running(tmp_path, **few)
    assert running.create("t") == [0]
    made = known_to_coordinators(running)
    for topic, (key, _) in (
        ("__consumer_offsets", offset_tombstone("g", "t", 0)),
        ("__transaction_state", transaction_tombstone("x")),
    ):
        for _ in range(2):
            refused = running.produce(topic, None, key)
            assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    running.stop()
    again = Running(tmp_path, **few)
    # The offset is there, and of the id it is known which producer it had, whose epoch is raised.
    offset, producer_id, epoch = made
    assert known_to_coordinators(again, commits=False) == (offset, producer_id, epoch + 1)
    again.stop()


def known_to_coordinators(running: Running, *, commits: bool = True) -> tuple[int, int, int]:
    """The offset of a group, and the producer of a transactional id, which are made if need be."""

    def when_ready(request: Any, version: int) -> Any:
        while (answer := running.ask(request, version)).error_code in NOT_READY:
            running.scheduler.run_for(20)
        assert answer.error_code == 0
        return answer

    for kind, key in enumerate("gx"):
        when_ready(FindCoordinatorRequest(key, kind), 3)
    if commits:
        topic = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])
        commit = OffsetCommitRequest("g", topics=[topic])
        ((answer,),) = [one.partitions for one in running.ask(commit, 8).topics]
        assert answer.error_code == 0
    asked = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    ((fetched,),) = [one.partitions for one in when_ready(asked, 5).topics]
    made = when_ready(InitProducerIdRequest("x", 60_000), 4)
    return fetched.committed_offset, made.producer_id, made.producer_epoch
