"""`snapshot_generator`: by bytes and by age, one at a time, never in a transaction."""

from __future__ import annotations

from typing import Any

from controller.decisions.decision import Decision
from controller.metadata.snapshot import snapshot_id_of
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import LOG_DIR, OneNode

FOLDER = f"{LOG_DIR}/__cluster_metadata-0"


def started(**settings: Any) -> OneNode:
    return OneNode(**settings).start()


def write(node: OneNode, *records: Any) -> None:
    node.node.controller.submit("w", lambda _view: Decision(None, list(records)), lambda _r: None)
    node.settle()


def config(value: str) -> m.ConfigRecord:
    return m.ConfigRecord(4, "", "key", value)


def snapshots(node: OneNode) -> list[int]:
    ids = [snapshot_id_of(name) for name in node.filesystem.list_dir(FOLDER)]
    return [found.end_offset for found in ids if found is not None]


def test_by_bytes() -> None:
    node = started(metadata_log_max_record_bytes_between_snapshots=5_000)
    write(node, config("x" * 1_000))
    assert snapshots(node) == []
    write(node, config("x" * 5_000))
    assert snapshots(node) == [node.node.raft.end_offset]


def test_by_age() -> None:
    node = started(metadata_log_max_snapshot_interval_ms=60_000)
    node.scheduler.run_for(59_000)
    write(node, config("1"))
    assert snapshots(node) == []
    node.scheduler.run_for(2_000)
    assert snapshots(node) == [], "only a commit looks at the clock"
    write(node, config("2"))
    assert len(snapshots(node)) == 1


def test_not_in_the_middle_of_a_transaction() -> None:
    node = started(metadata_log_max_record_bytes_between_snapshots=1_000)
    write(node, m.BeginTransactionRecord("t"), config("x" * 2_000))
    assert snapshots(node) == []
    write(node, m.EndTransactionRecord())
    assert len(snapshots(node)) == 1


def test_the_log_stops_growing() -> None:
    node = started(metadata_log_max_record_bytes_between_snapshots=5_000)
    for number in range(40):
        write(node, config(f"{number}" * 1_000))
    node.scheduler.run_for(120_000)
    assert len(snapshots(node)) == 2
    size = sum(node.filesystem.size(f"{FOLDER}/{n}") for n in node.filesystem.list_dir(FOLDER))
    assert size < 40_000


def test_a_failure_is_tried_again() -> None:
    node = started(metadata_log_max_record_bytes_between_snapshots=2_000)
    node.filesystem.inject("replace", path_part=".checkpoint")
    write(node, config("x" * 2_000))
    assert snapshots(node) == []
    assert node.failures == []
    write(node, config("y" * 2_000))
    assert len(snapshots(node)) == 1
