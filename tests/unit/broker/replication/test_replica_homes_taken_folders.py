"""A topic whose partition's folder is something else's: it is offline, all else serves."""

from __future__ import annotations

import logging
from itertools import count
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.unit.broker.node_fixture import Running

LIVES = count()


def another_nodes(folder: Path) -> dict[str, str]:
    folder.mkdir()
    files = {"meta.properties": "version=1\nnode.id=7\n", ".lock": "1\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    return files


def texts_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_it_is_served_once_the_folder_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    running = Running(tmp_path, life=next(LIVES))
    files = another_nodes(tmp_path / "broker-0")
    assert running.create("broker", "kept") == [0, 0]
    for life in range(2):
        assert running.produce("broker", b"1").error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert running.produce("kept", b"1").error_code == 0
        assert texts_in(tmp_path / "broker-0") == files
        if not life:
            running.stop()
            running = Running(tmp_path, life=next(LIVES))
    folder = tmp_path / "broker-0"
    taken = (
        f"broker-0 is offline: {folder} is the data folder of a node: move it away, and start again"
    )
    lines = [record.getMessage() for record in caplog.records]
    assert list(dict.fromkeys(line for line in lines if "broker-0" in line)) == [
        taken,
        f"{folder} is the data folder of a node: left as it is",
    ]
    running.stop()
    folder.rename(tmp_path / "elsewhere")
    running = Running(tmp_path, life=next(LIVES))
    assert running.produce("broker", b"1").error_code == 0
    assert running.fetch("kept", 0).high_watermark == 2
    running.stop()


def test_the_deletion_of_such_a_topic_leaves_the_folder(tmp_path: Path) -> None:
    running = Running(tmp_path, life=next(LIVES))
    files = another_nodes(tmp_path / "broker-0")
    assert running.create("broker") == [0]
    request = DeleteTopicsRequest(topic_names=["broker"], timeout_ms=1000)
    assert [one.error_code for one in running.ask(request, 4).responses] == [0]
    running.scheduler.run_for(120_000)
    assert texts_in(tmp_path / "broker-0") == files
    running.stop()


def test_a_move_to_such_a_folder_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    running = Running(tmp_path, life=next(LIVES), **{"log.dirs": f"{one},{two}"})
    assert running.create("t") == [0]
    here = two if (two / "t-0").exists() else one
    there = one if here is two else two
    files = another_nodes(there / "t-0")
    topics = [AlterReplicaLogDirTopic("t", [0])]
    response = running.ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(str(there), topics)]), 2)
    (result,) = response.results
    assert [one.error_code for one in result.partitions] == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert f"t-0 is not moved: {there}/t-0 is the data folder of a node" in caplog.text
    running.scheduler.run_for(60_000)
    assert (texts_in(there / "t-0"), sorted(there.glob("*-future"))) == (files, [])
    assert running.produce("t", b"1").error_code == 0
    running.stop()
