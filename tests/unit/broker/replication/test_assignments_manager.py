"""Which replicas the controller is told of, and when again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker.replication import assignments_manager
from broker.replication.assignments_manager import AssignmentsManager
from broker.replication.replica_homes import ReplicaHomes
from controller.metadata.image import LOST_DIRECTORY
from protocol.errors import ErrorCode
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)
from protocol.messages.metadata_records import PartitionChangeRecord
from tests.unit.broker.replica_fixture import Replicas, topic_id_of

NAMED = bytes(15) + b"\x05"
"""The directory that the fixture's metadata names."""
OTHER = bytes(15) + b"\x06"


class Broker:
    """Broker 1, whose only log directory has the id `own`, and a controller."""

    def __init__(self, folder: str, own: bytes) -> None:
        self.replicas = Replicas(folder)
        self.requests: list[Any] = []
        self.respond: Callable[[Any], None] | None = None
        self.manager = AssignmentsManager(
            self.replicas.scheduler, self._send, 1, lambda: 9, {folder: own}
        )
        homes = ReplicaHomes(1, self.replicas.manager.log_manager, {folder: own}, self.manager)
        self.replicas.manager.assign_with(self.manager, homes)
        self.replicas.replay()  # it has started: what comes now is new

    def _send(self, request: Any, respond: Callable[[Any], None]) -> None:
        assert self.respond is None, "one request at a time"
        self.requests.append(request)
        self.respond = respond

    def run(self, duration_ms: float = 0) -> None:
        self.replicas.scheduler.run_for(duration_ms)

    def asked(self) -> list[tuple[bytes, bytes, int]]:
        """(directory, topic id, index) of the last request."""
        return [
            (directory.id, topic.topic_id, one.partition_index)
            for directory in self.requests[-1].directories
            for topic in directory.topics
            for one in topic.partitions
        ]

    def answer(self, *codes: ErrorCode, top: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the last request, a code a partition."""
        directories = [
            AssignReplicasToDirsResponseDirectoryData(
                directory,
                [
                    AssignReplicasToDirsResponseTopicData(
                        topic, [AssignReplicasToDirsResponsePartitionData(index, int(code))]
                    )
                ],
            )
            for (directory, topic, index), code in zip(self.asked(), codes, strict=False)
        ]
        self.give(AssignReplicasToDirsResponse(0, int(top), directories))

    def give(self, response: Any) -> None:
        respond, self.respond = self.respond, None
        assert respond is not None
        respond(response)


def test_nothing_is_told_where_the_metadata_has_it_right(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), NAMED)
    broker.replicas.create("t", 3)
    broker.run(1000)
    assert broker.requests == []


def test_what_lies_elsewhere_is_told_in_one_request(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), OTHER)
    broker.replicas.create("t", 2)
    broker.replicas.create("u", replicas=[1, 2], leader=2)
    broker.run()
    assert (broker.requests[0].broker_id, broker.requests[0].broker_epoch) == (1, 9)
    t, u = topic_id_of("t"), topic_id_of("u")
    assert broker.asked() == [(OTHER, t, 0), (OTHER, t, 1), (OTHER, u, 0)]
    broker.answer(ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE)
    broker.run(60_000)
    assert len(broker.requests) == 1


@pytest.mark.parametrize("how", ["nothing", "refused", "one refused"])
def test_until_it_is_taken_it_is_told_again(tmp_path: Path, how: str) -> None:
    broker = Broker(str(tmp_path), OTHER)
    broker.replicas.create("t", 2)
    broker.run()
    waits = []
    for _ in range(7):
        before = broker.replicas.scheduler.now_ms
        if how == "nothing":
            broker.give(None)
        elif how == "refused":
            broker.answer(top=ErrorCode.STALE_BROKER_EPOCH)
        else:
            codes = [ErrorCode.UNKNOWN_SERVER_ERROR] * len(broker.asked())
            codes[-1] = ErrorCode.NONE if len(codes) > 1 else codes[-1]
            broker.answer(*codes)
        broker.replicas.scheduler.run_until(lambda: broker.respond is not None)
        waits.append(broker.replicas.scheduler.now_ms - before)
    assert waits == [500, 1000, 2000, 4000, 8000, 10_000, 10_000]
    assert len(broker.asked()) == (1 if how == "one refused" else 2)


def test_a_partition_that_is_gone_is_not_told_again(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), OTHER)
    broker.replicas.create("t")
    broker.replicas.create("u")
    broker.replicas.delete("u")
    broker.run()
    assert broker.asked() == [(OTHER, topic_id_of("t"), 0)]
    broker.answer(ErrorCode.UNKNOWN_TOPIC_ID)
    broker.run(60_000)
    assert len(broker.requests) == 1


def test_metadata_that_has_it_right_by_now_ends_it(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), OTHER)
    broker.replicas.create("t")
    broker.run()
    broker.replicas.replay(PartitionChangeRecord(0, topic_id_of("t"), directories=[OTHER]))
    broker.give(None)
    broker.run(60_000)
    assert len(broker.requests) == 1


def test_a_request_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments_manager, "ASSIGNMENTS_MAX", 2)
    broker = Broker(str(tmp_path), OTHER)
    broker.replicas.create("t", 3)
    broker.run()
    broker.answer(ErrorCode.NONE)
    assert len(broker.asked()) == 2


@pytest.mark.parametrize(("own", "named"), [(NAMED, True), (OTHER, False)])
def test_a_new_log_is_made_where_the_metadata_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bytes, named: bool
) -> None:
    """If it names a directory of this broker; else where there is room."""
    broker = Broker(str(tmp_path), own)
    wanted: list[object] = []
    real = broker.replicas.logs.get_or_create

    def get_or_create(*arguments: Any, log_dir: str | None, **rest: Any) -> Any:
        wanted.append(log_dir)
        return real(*arguments, log_dir=log_dir, **rest)

    monkeypatch.setattr(broker.replicas.logs, "get_or_create", get_or_create)
    broker.replicas.create("t")
    assert wanted == [str(tmp_path) if named else None]


def test_a_log_that_is_lost_is_told_until_it_is_placed(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), OTHER)
    broker.manager.lost(topic_id_of("t"), 3)
    broker.run()
    assert broker.asked() == [(LOST_DIRECTORY, topic_id_of("t"), 3)]
    broker.manager.forget(topic_id_of("t"), 3)
    broker.give(None)
    broker.run(60_000)
    assert len(broker.requests) == 1
