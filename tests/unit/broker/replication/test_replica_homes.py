"""Replicas that the metadata knows and the disk does not have: offline, never made anew."""

from __future__ import annotations

import logging
import shutil
from itertools import count
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.unit.broker.node_fixture import Running

LIVES = count()
TOPICS = [f"t{number}" for number in range(6)]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.set_level(logging.WARNING)

    class Lines(list[str]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([one.getMessage() for one in caplog.records])

    return Lines()


def both(tmp_path: Path) -> str:
    return f"{tmp_path}/one,{tmp_path}/two"


def started(tmp_path: Path, dirs: str) -> Running:
    more = {"log.dirs": dirs, "metadata.log.dir": f"{tmp_path}/one"}
    return Running(tmp_path, life=next(LIVES), **more)


def filled(tmp_path: Path) -> dict[str, str]:
    """Six topics of one to six records in two folders, stopped cleanly; topic → folder."""
    running = started(tmp_path, both(tmp_path))
    assert running.create(*TOPICS) == [0] * 6
    for number, topic in enumerate(TOPICS):
        for _ in range(number + 1):
            assert running.produce(topic, b"old").error_code == 0
    where = {log.partition.topic: log.log_dir for log in running.node.logs.logs}
    running.stop()
    return where


def leaders(running: Running) -> dict[str, int]:
    topics = running.node.image.topics.by_name
    return {name: topics[name].partitions[0].leader for name in TOPICS}


def ends(running: Running) -> list[int]:
    return [running.fetch(topic, 0).high_watermark for topic in TOPICS]


@pytest.mark.parametrize("starts", [1, 2])
def test_a_folder_that_left_log_dirs_and_came_back(
    tmp_path: Path, told: list[str], starts: int
) -> None:
    """Kafka: with one folder all six have a leader, three of them no records, and acks=all is
    given; with both again it does not start ("Duplicate log directories for")."""
    where = filled(tmp_path)
    away = [topic for topic in TOPICS if where[topic].endswith("/two")]
    assert len(away) == 3
    for _ in range(starts):
        running = started(tmp_path, f"{tmp_path}/one")
        assert leaders(running) == {topic: -1 if topic in away else 1 for topic in TOPICS}
        for topic in TOPICS:
            answer = running.produce(topic, b"new").error_code
            refused = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            assert (answer in refused) if topic in away else (answer == 0)
        running.scheduler.run_for(5_000)
        assert leaders(running)[away[0]] == -1
        running.stop()
        assert sorted(log.name for log in (tmp_path / "one").glob("t?-0")) == [
            f"{topic}-0" for topic in TOPICS if topic not in away
        ]
    lines = [line for line in told if "directory.id" in line]
    id_line = (tmp_path / "two" / "meta.properties").read_text()
    assert len(lines) == starts
    assert lines[0].partition("directory.id=")[2][:22] in id_line
    names = ", ".join(f"{topic}-0" for topic in away)
    assert f"offline are {names}, of which it has the records. Put it back" in lines[0]
    running = started(tmp_path, both(tmp_path))
    assert leaders(running) == dict.fromkeys(TOPICS, 1)
    more = [0 if topic in away else starts for topic in TOPICS]
    assert ends(running) == [number + 1 + more[number] for number in range(6)]
    assert running.produce(away[0], b"new").error_code == 0
    assert "-stray" not in str([*tmp_path.glob("*/*")])
    running.stop()


def test_a_partition_whose_folder_is_gone_is_not_made_anew(tmp_path: Path, told: list[str]) -> None:
    """Kafka: leader 1, and the high watermark is 0."""
    where = filled(tmp_path)
    gone, kept = Path(where["t4"]) / "t4-0", tmp_path / "kept"
    shutil.move(gone, kept)
    for _ in range(2):
        running = started(tmp_path, both(tmp_path))
        running.scheduler.run_for(1_000)
        assert leaders(running) == {topic: -1 if topic == "t4" else 1 for topic in TOPICS}
        assert running.produce("t4", b"new").error_code != 0
        running.stop()
        assert not gone.exists()
    assert [line for line in told if "t4-0" in line] == [
        f"t4-0: offline, its folder is gone from {where['t4']}. "
        "Put it back and start again, or delete the topic",
        "t4-0: offline, its folder was gone, or could not be opened, before. "
        "Put it back and start again, or delete the topic",
    ]
    shutil.move(kept, gone)
    running = started(tmp_path, both(tmp_path))
    running.scheduler.run_for(1_000)
    assert leaders(running) == dict.fromkeys(TOPICS, 1)
    assert ends(running) == [1, 2, 3, 4, 5, 6]
    running.stop()


def test_a_partition_moved_by_hand_is_found_where_it_is(tmp_path: Path) -> None:
    where = filled(tmp_path)
    folder = next(topic for topic in TOPICS if where[topic].endswith("/two"))
    shutil.move(tmp_path / "two" / f"{folder}-0", tmp_path / "one" / f"{folder}-0")
    running = started(tmp_path, both(tmp_path))
    running.scheduler.run_for(1_000)
    assert leaders(running) == dict.fromkeys(TOPICS, 1)
    assert ends(running) == [1, 2, 3, 4, 5, 6]
    partition = running.node.image.topics.by_name[folder].partitions[0]
    ids = running.node.shared.storage.directory_ids
    assert partition.directories == (ids[f"{tmp_path}/one"],)
    running.stop()


def test_two_copies_stop_their_partition_until_one_is_taken_away(
    tmp_path: Path, told: list[str]
) -> None:
    where = filled(tmp_path)
    mine = Path(where["t5"]) / "t5-0"
    copy = tmp_path / ("two" if where["t5"].endswith("/one") else "one") / "t5-0"
    shutil.copytree(mine, copy)
    log = copy / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-1])
    running = started(tmp_path, both(tmp_path))
    running.scheduler.run_for(1_000)
    assert leaders(running) == {topic: -1 if topic == "t5" else 1 for topic in TOPICS}
    running.stop()
    (line,) = [line for line in told if "t5-0 is offline" in line]
    assert "lies in " in line and "remove one of the two folders, and start again" in line
    shutil.rmtree(copy)
    running = started(tmp_path, both(tmp_path))
    running.scheduler.run_for(1_000)
    assert leaders(running) == dict.fromkeys(TOPICS, 1)
    assert ends(running) == [1, 2, 3, 4, 5, 6]
    running.stop()


def test_what_was_lost_goes_with_its_topic(tmp_path: Path, told: list[str]) -> None:
    where = filled(tmp_path)
    shutil.rmtree(Path(where["t4"]) / "t4-0")
    running = started(tmp_path, both(tmp_path))
    running.ask(DeleteTopicsRequest(topic_names=["t4"], timeout_ms=1000), 5)
    assert running.create("t4") == [0]
    assert running.produce("t4", b"new").base_offset == 0
    running.stop()


def test_a_topic_that_is_new_is_made_though_a_folder_is_away(tmp_path: Path) -> None:
    filled(tmp_path)
    running = started(tmp_path, f"{tmp_path}/one")
    assert running.create("new") == [0]
    assert running.produce("new", b"x").base_offset == 0
    running.stop()
