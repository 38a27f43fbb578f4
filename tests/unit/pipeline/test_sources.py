from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline import sources
from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.sources import TopicState
from pipeline.spark.folder_source import FolderPartition
from pipeline.topics import Offsets


def options_of(*given: str) -> Any:
    return parser_for("table").parse_args(["table", "--topic", "t", *given])


def test_a_folder_is_asked_for_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.topics._TIMEOUT_S", 0.2)
    sources.check(options_of("--from-folder", str(tmp_path), "--bootstrap-server", "localhost:1"))
    with pytest.raises(PipelineError, match="no broker answers at localhost:1"):
        sources.check(options_of("--bootstrap-server", "localhost:1"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--from-folder", " "), "--from-folder: no folder is named"),
        (("--from-folder", "s3a://a"), "a disk that all of Spark sees"),
        (("--from-folder", "/a", "--option", "damage=no"), "refuse or stop is wanted"),
        (("--from-folder", "/a", "--option", "minPartitions=5"), "is read without it"),
        (("--from-folder", "/a", "--option", "startingOffsets=x"), "the job decides this"),
    ],
)
def test_what_cannot_be_is_told_before_spark_starts(given: tuple[str, ...], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        sources.check(options_of(*given))


def test_what_a_folder_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def partitions(
        spark: object, path: str, topic: str, options: Mapping[str, str]
    ) -> list[FolderPartition]:
        asked.append((path, topic, options))
        return [
            FolderPartition("t", 0, None, "abc", 3, 9, 9, ("a note",)),
            FolderPartition("t", 1, "A", "abc", 0, 5, 8, ()),
        ]

    monkeypatch.setattr(sources.folder_source, "partitions", partitions)
    isolation = ("--option", "kafka.isolation.level=read_uncommitted")
    spark: Any = None
    source = sources.source_of(spark, options_of("--from-folder", "/a", *isolation))
    offsets = {0: Offsets(3, 9), 1: Offsets(0, 5)}
    for _ in range(2):
        assert source.state() == TopicState("abc", "A", offsets, has_all_partitions=False)
    assert source.topic_id() == "A"
    assert asked == [("/a", "t", {"isolation.level": "read_uncommitted"})] * 2
    assert capsys.readouterr().err.splitlines() == [
        "/a: a note",
        "/a: t-1: offsets from 5 to 7 are not read: a transaction is open there, or the high "
        "watermark lies before",
    ]


def test_what_a_cluster_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The id comes first: of a topic that is made again meanwhile it is not the next one."""
    asked: list[str] = []

    def answer(name: str, value: Any) -> Any:
        return lambda *_: asked.append(name) or value

    cluster = SimpleNamespace(
        cluster_id=answer("cluster", "abc"),
        topic_id=answer("id", "A"),
        offsets=answer("offsets", {0: Offsets(0, 5)}),
    )
    monkeypatch.setattr(sources, "Cluster", lambda _: cluster)
    spark: Any = None
    source = sources.source_of(spark, options_of())
    assert source.state() == TopicState("abc", "A", {0: Offsets(0, 5)})
    assert asked.index("id") < asked.index("offsets")
    assert source.topic_id() == "A"
