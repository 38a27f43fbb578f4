from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ground.topic_partition import TopicPartition
from log_format.damage import LogError
from log_format.files import Files
from log_format.survey import ReadOptions, SurveyedPartition, parts, read_options, survey
from storage.log.checkpoints import encode_offsets
from tests.unit.log_format.folders import FIRST_MS, HOUR_MS, copied, several_segments
from tests.unit.storage.transactional_fixture import commit_all, two_aborted

TOPIC = TopicPartition("topic", 0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder: topic-0 with 24 records, an internal topic."""
    log = several_segments()
    log.close()
    copied(log, tmp_path)
    (tmp_path / "__consumer_offsets-0").mkdir()
    (tmp_path / "__consumer_offsets-0" / f"{0:020d}.log").touch()
    return tmp_path


def surveyed(path: Path, **options: str) -> list[SurveyedPartition]:
    named = {key.replace("_", "."): value for key, value in options.items()}
    return survey(Files(), read_options({"path": str(path), **named}))


def borders(path: Path, **options: str) -> tuple[int, int]:
    [one] = surveyed(path, **options)
    return one.start, one.end


def test_options_of_the_stock_source() -> None:
    found = read_options(
        {
            "path": "/a, file:///b",
            "subscribe": "x, y",
            "startingOffsets": '{"x": {"0": 5, "1": -2}}',
            "endingOffsets": "latest",
            "ISOLATION.LEVEL": "read_uncommitted",
            "maxPartitionBytes": "100",
        }
    )
    assert found == ReadOptions(
        ("/a", "/b"),
        ("x", "y"),
        None,
        {("x", 0): 5, ("x", 1): -2},
        committed=False,
        part_bytes=100,
    )
    assert read_options({"path": "/a"}) == ReadOptions(("/a",))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("path", " ", "no folder is named"),
        ("assign", "topic", "JSON such as"),
        ("assign", '{"topic": 5}', "JSON such as"),
        ("path", "hdfs://a/b", "a disk that all of Spark sees"),
        ("subscribePattern", "a.*", "read without it"),
        ("isolation.level", "none", "read_committed or read_uncommitted"),
        ("check.crcs", "no", "true or false"),
        ("startingOffsets", "latest", "earliest, or JSON"),
        ("startingOffsets", '{"a": 5}', "earliest, or JSON"),
        ("startingOffsets", '{"a": {"0": -1}}', "earliest, or JSON"),
        ("endingOffsets", "[1]", "latest, or JSON"),
        ("startingTimestamp", "noon", "a whole number"),
        ("maxPartitionBytes", "0", "1 or more"),
    ],
)
def test_options_that_cannot_be(key: str, value: str, words: str) -> None:
    with pytest.raises(LogError, match=words):
        read_options({"path": "/a", key: value})


def test_all_topics_but_kafkas_own(data: Path) -> None:
    assert borders(data) == (0, 24)
    assert [one.log.topic for one in surveyed(data, subscribe="__consumer_offsets,topic")] == [
        *("__consumer_offsets", "topic")
    ]
    with pytest.raises(LogError, match="has no topic other: it has __consumer_offsets, topic"):
        surveyed(data, subscribe="other")


def test_partitions_that_are_named_and_no_others(data: Path) -> None:
    second = data / "topic-1"
    shutil.copytree(data / "topic-0", second)
    named = [one.log.partition for one in surveyed(data, assign='{"topic": [1]}')]
    assert named == [1]
    assert len(surveyed(data)) == 2
    with pytest.raises(LogError, match="has no partition topic-7"):
        surveyed(data, assign='{"topic": [0, 7]}')
    with pytest.raises(LogError, match="one of them is wanted"):
        surveyed(data, assign='{"topic": [0]}', subscribe="topic")


def test_partitions_of_two_topics_of_one_name_are_refused(data: Path) -> None:
    second = data / "topic-1"
    shutil.copytree(data / "topic-0", second)

    def keep_id(folder: Path, topic_id: str) -> None:
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")

    keep_id(data / "topic-0", "A" * 22)
    assert [one.log.topic_id for one in surveyed(data)] == ["A" * 22, None]
    keep_id(second, "B" * 22)
    with pytest.raises(
        LogError, match=r"topic-0 and .*topic-1 are of two topics named topic \(ids"
    ):
        surveyed(data)
    assert len(surveyed(data, assign='{"topic": [1]}')) == 1
    keep_id(second, "A" * 22)
    assert len(surveyed(data)) == 2


def test_offsets_and_times(data: Path) -> None:
    json = '{"topic": {"0": %d}}'
    assert borders(data, startingOffsets=json % 5, endingOffsets=json % 9) == (5, 9)
    assert borders(data, startingOffsets=json % -2, endingOffsets=json % -1) == (0, 24)
    from_ms, to_ms = str(FIRST_MS + 2 * HOUR_MS), str(FIRST_MS + 5 * HOUR_MS)
    assert borders(data, startingTimestamp=from_ms, endingTimestamp=to_ms) == (4, 10)
    assert borders(data, startingTimestamp=str(FIRST_MS + 50 * HOUR_MS)) == (24, 24)
    assert borders(data, endingTimestamp=str(FIRST_MS - 1)) == (0, 0)
    for wrong in (25, 2**40):
        with pytest.raises(LogError, match="holds offsets 0 to before 24"):
            surveyed(data, startingOffsets=json % wrong)


def test_checkpoints(data: Path) -> None:
    with pytest.raises(LogError, match="no replication-offset-checkpoint"):
        surveyed(data, bound="high.watermark")
    (data / "replication-offset-checkpoint").write_bytes(encode_offsets({TOPIC: 17}))
    (data / "log-start-offset-checkpoint").write_bytes(encode_offsets({TOPIC: 3}))
    assert borders(data) == (3, 24)
    assert borders(data, bound="high.watermark") == (3, 17)


def test_isolation(tmp_path: Path) -> None:
    log = two_aborted()
    commit_all(log)
    log.close()
    folder = copied(log, tmp_path)
    assert borders(folder) == (0, 9)
    assert borders(folder, isolation_level="read_uncommitted") == (0, 10)


def test_parts_are_of_the_wanted_size(data: Path) -> None:
    for size in (1, 400, 10_000):
        wanted = read_options({"path": str(data), "maxPartitionBytes": str(size)})
        found = parts(survey(Files(), wanted), wanted)
        assert sum(one.end - one.start for part in found for one in part.ranges) == sum(
            file.stat().st_size for file in data.glob("topic-0/*.log")
        )
    assert len(found) == 1


def test_the_same_partition_twice(data: Path) -> None:
    with pytest.raises(LogError, match="are the same partition"):
        surveyed(Path(f"{data},{data}/topic-0"))


def test_unchecked_or_up_to_damage(data: Path) -> None:
    second = sorted(data.glob("topic-0/*.log"))[1]
    content = bytearray(second.read_bytes())
    content[17] ^= 1
    second.write_bytes(content)
    [cut] = surveyed(data, damage="stop")
    assert cut.end < 10 and "are not read" in cut.notes[-1]
    assert borders(data, check_crcs="false") == (0, 24)
