"""Structured Streaming over Spark's stock connector: what a checkpoint promises, it keeps.

What is checked, precisely: with the file sink every source offset and every number is in the output
exactly once, whatever was stopped or killed, Spark or the broker. Spark's Kafka sink promises at
least once: every number is there, and what is there twice is no more than the batch that a kill cut
off; as keys are unique, the last value by key is exactly once again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from tests.tools.java_tools import PROJECT_DIR
from tests.tools.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from tests.compat.spark_session import Kafka

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

AVAILABLE_NOW = {"availableNow": True}
BATCH = 100


def to_parquet(
    source: DataFrame, folder: Path, trigger: dict[str, Any] | None = None
) -> StreamingQuery:
    """A stream of numbers into Parquet, with its checkpoint beside it."""
    numbers = source.selectExpr("CAST(value AS STRING) AS number", "topic", "partition", "offset")
    writer = numbers.writeStream.format("parquet").option("path", str(folder / "numbers"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()


def run_to_parquet(source: DataFrame, folder: Path) -> None:
    """The same, until all that is there now is read."""
    assert to_parquet(source, folder, AVAILABLE_NOW).awaitTermination(200)


def assert_exactly_once(kafka: Kafka, folder: Path, topic: str, numbers: list[int]) -> None:
    """Every number once, and every offset below the high watermarks once."""
    rows = kafka.spark.read.parquet(str(folder / "numbers")).collect()
    assert sorted(int(row.number) for row in rows) == numbers
    ends = kafka.ends(topic)
    wanted = [(p, offset) for p in sorted(ends) for offset in range(ends[p])]
    assert sorted((row.partition, row.offset) for row in rows) == wanted


def source_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """The end of the last batch that the checkpoint holds."""
    last = max(int(f.name) for f in (checkpoint / "offsets").iterdir() if f.name.isdigit())
    line = (checkpoint / "offsets" / str(last)).read_text().splitlines()[-1]
    return {int(p): offset for p, offset in json.loads(line)[topic].items()}


def commits(checkpoint: Path) -> int:
    """How many batches the checkpoint holds as done."""
    folder = checkpoint / "commits"
    return sum(f.name.isdigit() for f in folder.iterdir()) if folder.is_dir() else 0


def test_stopped_and_started_again(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic(3)
    numbers: list[int] = []
    for _ in range(3):
        query = to_parquet(kafka.stream(topic, maxOffsetsPerTrigger=BATCH), tmp_path)
        numbers += kafka.numbers(topic, len(numbers), 250)
        query.processAllAvailable()
        # These may or may not be read before the stop.
        numbers += kafka.numbers(topic, len(numbers), 250)
        query.stop()
    run_to_parquet(kafka.stream(topic), tmp_path)
    assert_exactly_once(kafka, tmp_path, topic, numbers)
    assert source_offsets(tmp_path / "checkpoint", topic) == kafka.ends(topic)


def test_killed_and_started_again(kafka: Kafka, tmp_path: Path) -> None:
    """`kill -9` of Spark, driver and executor at once, in the middle of its batches."""
    from tests.compat.spark_copy import SINKS, checkpoint, copies

    topic, copy = kafka.topic(3), kafka.topic(3)
    numbers = kafka.numbers(topic, 0, 5000)
    arguments = (kafka.bootstrap, topic, copy, str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-m", "tests.compat.spark_copy", *arguments],
        cwd=PROJECT_DIR,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    ) as program:
        try:
            wait_until(
                lambda: all(commits(checkpoint(tmp_path, sink)) >= 3 for sink in SINKS),
                "three commits of each sink",
            )
        finally:
            os.killpg(program.pid, signal.SIGKILL)
    done = [commits(checkpoint(tmp_path, sink)) for sink in SINKS]
    assert max(done) < len(numbers) // BATCH

    numbers += kafka.numbers(topic, len(numbers), 500)
    for query in copies(kafka, topic, copy, tmp_path, AVAILABLE_NOW):
        assert query.awaitTermination(200)
    assert_exactly_once(kafka, tmp_path, topic, numbers)
    for sink in SINKS:
        assert source_offsets(checkpoint(tmp_path, sink), topic) == kafka.ends(topic)

    messages = kafka.messages(copy)
    written = Counter(int(message.value()) for message in messages)
    assert sorted(written) == numbers
    # The connector rounds its share of a batch up for each partition.
    assert len(messages) - len(numbers) <= BATCH + 3
    by_key = {message.key(): message.value() for message in messages}
    assert by_key == {f"k{n}".encode(): str(n).encode() for n in numbers}


def test_continuous_processing(kafka: Kafka, tmp_path: Path) -> None:
    """Long-lived readers, one a partition, in place of batches: record in, record out."""
    topic, copy = kafka.topic(2), kafka.topic(2)
    numbers = kafka.numbers(topic, 0, 100, partitions=2)
    writer = kafka.stream(topic).select("key", "value").writeStream.format("kafka")
    writer = writer.option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", copy)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    # Its tasks want both of the session's places, and a stopped query's last task may hold one.
    wait_until(lambda: kafka.tasks_running() == 0, "the end of all tasks")
    query = writer.trigger(continuous="1 second").start()

    def holders() -> str:
        """Return what may hold one of the places."""
        tracker = kafka.spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        others = [other.name for other in kafka.spark.streams.active if other.id != query.id]
        return f"{query.status}, {query.exception()}; other queries: {others}, {stages}"

    def wait_for_copies(count: int) -> None:
        wait_until(lambda: sum(kafka.ends(copy, 2).values()) >= count, f"{count} copies")

    try:
        # A record that is copied twice is found at the end, by its number.
        wait_for_copies(100)
        numbers += kafka.numbers(topic, len(numbers), 100, partitions=2)
        wait_for_copies(200)
    except AssertionError as error:
        error.add_note(holders())
        raise
    finally:
        query.stop()
    assert sorted(int(m.value()) for m in kafka.messages(copy, 2)) == numbers


def test_the_broker_is_killed_under_running_streams(
    ottla_broker_factory: Callable[..., Any], kafka: Kafka, tmp_path: Path
) -> None:
    """They wait and go on by themselves: the same queries, no restart of them.

    As no task of Spark fails, its Kafka sink doubles nothing either: its producers are idempotent,
    and the broker knows their sequences again from its log.
    """
    from tests.compat.spark_copy import SINKS, checkpoint, copies

    # Closed with the factory if this fails: its output is then part of the report.
    own = ottla_broker_factory()
    mine = type(kafka)(kafka.spark, own.bootstrap_servers)
    topic, copy = mine.topic(3), mine.topic(3)
    numbers = mine.numbers(topic, 0, 1500)
    every = {"processingTime": "0 seconds"}
    queries = copies(mine, topic, copy, tmp_path, every, maxOffsetsPerTrigger=BATCH)

    def all_have_done(batches: int) -> bool:
        assert [query.exception() for query in queries] == [None, None]
        return all(commits(checkpoint(tmp_path, sink)) >= batches for sink in SINKS)

    for batches in (2, 7):
        wait_until(partial(all_have_done, batches), f"{batches} batches of each sink")
        own.kill()
        own.restart()
    numbers += mine.numbers(topic, len(numbers), 300)
    for query in queries:
        query.processAllAvailable()
        query.stop()
    assert_exactly_once(mine, tmp_path, topic, numbers)
    assert sorted(int(message.value()) for message in mine.messages(copy)) == numbers
    own.close()


def test_partitions_that_are_added_are_read_from_their_start(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic(1)
    numbers = kafka.numbers(topic, 0, 50, partitions=1)
    query = to_parquet(kafka.stream(topic), tmp_path)
    query.processAllAvailable()
    (grown,) = kafka.admin.create_partitions([NewPartitions(topic, 3)]).values()
    grown.result(60)
    wait_until(
        lambda: len(kafka.admin.list_topics(topic).topics[topic].partitions) == 3,
        "the third partition",
    )
    numbers += kafka.numbers(topic, len(numbers), 60)
    query.processAllAvailable()
    query.stop()
    assert_exactly_once(kafka, tmp_path, topic, numbers)


def test_a_pattern_finds_a_topic_that_comes_later(kafka: Kafka, tmp_path: Path) -> None:
    word = uuid.uuid4().hex
    first = kafka.topic(1, word)
    kafka.produce(first, [{"value": "1"}])
    source = kafka.stream("", subscribe=None, subscribePattern=f"{word}.*")
    query = to_parquet(source, tmp_path)
    query.processAllAvailable()
    second = kafka.topic(2, word)
    kafka.produce(second, [{"partition": 0, "value": "2"}, {"partition": 1, "value": "3"}])
    query.processAllAvailable()
    query.stop()
    rows = kafka.spark.read.parquet(str(tmp_path / "numbers")).collect()
    found = sorted((row.number, row.topic, row.partition) for row in rows)
    assert found == [("1", first, 0), ("2", second, 0), ("3", second, 1)]


@pytest.mark.parametrize("start", ["latest", "timestamp"])
def test_starts_where_it_is_told(kafka: Kafka, tmp_path: Path, start: str) -> None:
    topic = kafka.topic(3)
    old = ({"partition": n % 3, "value": str(n), "timestamp": 1_000_000 + n} for n in range(30))
    kafka.produce(topic, old)
    if start == "latest":
        source = kafka.stream(topic, startingOffsets="latest")
    else:
        source = kafka.stream(topic, startingTimestamp=1_000_021)
    query = to_parquet(source, tmp_path)
    query.processAllAvailable()
    new = kafka.numbers(topic, 30, 30)
    query.processAllAvailable()
    query.stop()
    rows = kafka.spark.read.parquet(str(tmp_path / "numbers")).collect()
    wanted = new if start == "latest" else [*range(21, 30), *new]
    assert sorted(int(row.number) for row in rows) == wanted


@pytest.mark.parametrize("fail", [True, False])
def test_records_are_deleted_that_a_checkpoint_still_needs(
    kafka: Kafka, tmp_path: Path, fail: bool
) -> None:
    """A clear error, or on with what is left, as `failOnDataLoss` says."""
    from pyspark.errors import StreamingQueryException

    topic = kafka.topic(1)
    kafka.numbers(topic, 0, 20, partitions=1)
    run_to_parquet(kafka.stream(topic), tmp_path)
    kafka.numbers(topic, 20, 80, partitions=1)
    (deleted,) = kafka.admin.delete_records([TopicPartition(topic, 0, 50)]).values()
    assert deleted.result(60).low_watermark == 50
    source = kafka.stream(topic, failOnDataLoss=str(fail).lower())
    if fail:
        with pytest.raises(StreamingQueryException) as raised:
            run_to_parquet(source, tmp_path)
        assert "Some data may have been lost" in str(raised.value)
        assert f"in offset [20, 100) for topic partition {topic}-0" in str(raised.value)
    else:
        run_to_parquet(source, tmp_path)
    rows = kafka.spark.read.parquet(str(tmp_path / "numbers")).collect()
    left = [*range(20)] if fail else [*range(20), *range(50, 100)]
    assert sorted(int(row.number) for row in rows) == left


def test_a_topic_that_was_made_anew_is_noticed(kafka: Kafka, tmp_path: Path) -> None:
    """Its offsets begin again: the checkpoint is ahead of it, and Spark says so."""
    from pyspark.errors import StreamingQueryException

    topic = kafka.topic(1)
    kafka.numbers(topic, 0, 20, partitions=1)
    run_to_parquet(kafka.stream(topic), tmp_path)
    (gone,) = kafka.admin.delete_topics([topic]).values()
    gone.result(60)
    wait_until(lambda: topic not in kafka.admin.list_topics().topics, "the topic's deletion")
    kafka.numbers(topic, 0, 5, partitions=1)
    with pytest.raises(StreamingQueryException) as raised:
        run_to_parquet(kafka.stream(topic), tmp_path)
    print(raised.value)
    assert f"Partition {topic}-0 offset was changed from 20 to" in str(raised.value)
