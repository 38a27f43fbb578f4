"""Folders of Ottla and of Apache Kafka, read without them: row for row what Spark's stock source
reads from the running broker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.spark import register_folder_source
from tests.compat.folder_corpus import (
    CODEC_TOPIC,
    COMPACTED_TOPIC,
    PROPERTIES,
    TOPICS,
    TRANSACTION_TOPIC,
    filled,
    make_topics,
)
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

ISOLATION = ("read_committed", "read_uncommitted")
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Corpus:
    """A copied data folder, and what the stock source had read, by isolation level."""

    folder: Path
    rows: dict[str, list[Row]]
    topic_id: str | None
    """Of the topic of transactions, as the broker gives it."""


@pytest.fixture(
    scope="module", params=["ottla", pytest.param("apache-kafka", marks=pytest.mark.long)]
)
def corpus(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    folder = tmp_path_factory.mktemp("folders") / "copy"
    if request.param == "ottla":
        ottla = request.getfixturevalue("ottla_broker_factory")(properties=PROPERTIES)
        try:
            yield _copied(spark, ottla.bootstrap_servers, ottla.data_dir, folder)
        finally:
            ottla.close()
    else:
        with ApacheKafka(jvm_options=FAST_START, heap="256m", properties=PROPERTIES) as kafka:
            yield _copied(spark, kafka.bootstrap, kafka.data_dir, folder)


def _copied(spark: SparkSession, bootstrap: str, data_dir: Path, folder: Path) -> Corpus:
    from pipeline.spark.connection import Connection
    from pipeline.topics import Cluster
    from tests.compat.spark_session import Kafka

    kafka = Kafka(spark, bootstrap)
    make_topics(bootstrap)
    with filled(bootstrap, data_dir):
        rows = {
            level: rows_of(
                kafka.read(",".join(TOPICS), includeHeaders="true", kafka_isolation_level=level)
            )
            for level in ISOLATION
        }
        topic_id = Cluster(Connection(bootstrap)).topic_id(TRANSACTION_TOPIC)
        shutil.copytree(data_dir, folder)
    return Corpus(folder, rows, topic_id)


def rows_of(frame: DataFrame) -> list[Row]:
    """All columns, by topic, partition and offset."""
    wanted = (
        *("topic", "partition", "offset", "key", "value"),
        *("unix_micros(timestamp) AS micros", "timestampType", "headers"),
    )
    rows = [tuple(row) for row in frame.selectExpr(*wanted).collect()]
    return sorted(rows, key=lambda row: row[:3])


def folder_rows(spark: SparkSession, folder: Path, **options: str) -> list[Row]:
    register_folder_source(spark)
    named = {name.replace("_", "."): text for name, text in options.items()}
    return rows_of(spark.read.format("kafka-folder").options(**named).load(str(folder)))


@pytest.mark.parametrize("level", ISOLATION)
def test_row_for_row_what_the_stock_source_reads(
    spark: SparkSession, corpus: Corpus, level: str
) -> None:
    wanted = corpus.rows[level]
    counts = {topic: sum(row[0] == topic for row in wanted) for topic in TOPICS}
    assert counts[CODEC_TOPIC] == 300
    found = folder_rows(spark, corpus.folder, isolation_level=level, maxPartitionBytes="20000")
    assert found == wanted
    if level == "read_uncommitted":
        assert counts[TRANSACTION_TOPIC] == 12 * 3 * 4 + 8
        return
    in_turn = {bytes(row[4]) for row in wanted if row[0] == TRANSACTION_TOPIC}
    assert b"turn 3" in in_turn and b"turn 4" not in in_turn and b"behind it" not in in_turn
    values = [row for row in wanted if row[0] == COMPACTED_TOPIC]
    assert 0 < len(values) < values[-1][2], "compaction left gaps"


def test_offsets_and_times_as_the_stock_source_takes_them(
    spark: SparkSession, corpus: Corpus
) -> None:
    everything = [row for row in corpus.rows["read_committed"] if row[:2] == (CODEC_TOPIC, 0)]
    first, last = everything[40], everything[120]
    between = folder_rows(
        spark,
        corpus.folder / f"{CODEC_TOPIC}-0",
        startingTimestamp=str(first[5] // 1000),
        endingTimestamp=str(last[5] // 1000),
    )
    assert between == everything[40:120]
    of_offsets = folder_rows(
        spark,
        corpus.folder,
        subscribe=CODEC_TOPIC,
        startingOffsets=f'{{"{CODEC_TOPIC}": {{"0": {first[2]}, "1": 150}}}}',
        endingOffsets=f'{{"{CODEC_TOPIC}": {{"0": {last[2]}}}}}',
    )
    assert of_offsets == everything[40:120]


def test_a_torn_end_is_left_out_and_told(
    spark: SparkSession, corpus: Corpus, tmp_path: Path
) -> None:
    from pipeline.spark.folder_source import partitions

    torn = tmp_path / f"{CODEC_TOPIC}-0"
    shutil.copytree(corpus.folder / torn.name, torn)
    last = max(torn.glob("*.log"))
    last.write_bytes(last.read_bytes().rstrip(b"\0")[:-3])
    [found] = partitions(spark, str(tmp_path), None, {})
    assert "its end is torn" in found.notes[0] and found.end < found.log_end + 1 < 151
    everything = [row for row in corpus.rows["read_committed"] if row[:2] == (CODEC_TOPIC, 0)]
    assert folder_rows(spark, tmp_path) == everything[: found.end]


def test_errors_are_one_line(spark: SparkSession, corpus: Corpus, tmp_path: Path) -> None:
    from pipeline.errors import told
    from pipeline.spark.folder_source import batch, partitions

    damaged = tmp_path / f"{CODEC_TOPIC}-0"
    shutil.copytree(corpus.folder / damaged.name, damaged)
    first = min(damaged.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[100] ^= 1
    first.write_bytes(data)
    for attempt, said in (
        (lambda: partitions(spark, str(tmp_path / "x"), None, {}), "there is no such folder"),
        (
            lambda: batch(spark, str(tmp_path), CODEC_TOPIC, {0: 0}, {0: 9}, {}).collect(),
            f"{first} is damaged at byte 0: in the batch of offset 0 the bytes do not fit their",
        ),
    ):
        with pytest.raises(Exception, match="LogError|DamagedLog") as raised:
            attempt()
        assert said in told(raised.value) and "\n" not in told(raised.value)


def test_a_table_is_filled_from_a_folder_and_goes_on_there(
    spark: SparkSession, corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pipeline.command import parser_for
    from pipeline.errors import PipelineError
    from pipeline.jobs import load
    from pipeline.tables.parquet_table import ParquetTable

    path, folder = str(tmp_path / "table"), tmp_path / "folder"
    shutil.copytree(corpus.folder, folder)
    given = ("load", "--from-folder", str(folder), "--table", path, "--batch-max", "100")
    options = parser_for("load").parse_args([*given, "--topic", TRANSACTION_TOPIC])
    for said in ("run 1: ", f"nothing new in {TRANSACTION_TOPIC}"):
        load.check(options)
        assert load.run(spark, options) == 0
        told = capfd.readouterr().err
        assert said in told and "are not read: a transaction is open there" in told
    wanted = [row for row in corpus.rows["read_committed"] if row[0] == TRANSACTION_TOPIC]
    table = ParquetTable(spark, path)
    assert sorted((row.offset, row.value) for row in table.read().collect()) == [
        (row[2], row[4]) for row in wanted
    ]
    reached = table.progress()
    assert reached is not None and reached.topic_id is not None
    assert reached.topic_id == corpus.topic_id

    # The topic is deleted and made again, and the folder copied once more.
    metadata = folder / f"{TRANSACTION_TOPIC}-0" / "partition.metadata"
    metadata.write_text(metadata.read_text().replace(reached.topic_id, "B" * 22))
    with pytest.raises(PipelineError, match=f"made again .*its id was {reached.topic_id}, it is B"):
        load.run(spark, options)
