"""Spark's stock Kafka source and sink in batches: which offsets are read, and what stands in them.

Streams and their checkpoints are in `test_spark_streams.py`. Expectations hold with
`--broker=apache-kafka` as well.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TopicPartition
from confluent_kafka.admin import OffsetSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.compat.spark_session import Kafka

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NOON_MS = 1_700_000_000_000


def values(frame: DataFrame) -> list[str]:
    """What is read, by partition and offset."""
    ordered = frame.orderBy("partition", "offset").selectExpr("CAST(value AS STRING)")
    return [row[0] for row in ordered.collect()]


def offsets(topic: str, by_partition: dict[int, int]) -> str:
    """Offsets, or timestamps, as the connector wants them."""
    return json.dumps({topic: {str(p): offset for p, offset in by_partition.items()}})


def java_errors() -> tuple[type[Exception], ...]:
    """What PySpark raises: an exception of its own where it knows that of Java, else Py4J's."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def test_reads_every_column(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    headers = [("trace", b"a"), ("trace", b"b"), ("nothing", None)]
    kafka.produce(
        topic,
        [
            {"partition": 0, "key": b"k", "value": b"v", "timestamp": NOON_MS, "headers": headers},
            {"partition": 1, "key": None, "value": b"keyless", "timestamp": NOON_MS + 1},
            {"partition": 2, "key": b"gone", "value": None, "timestamp": NOON_MS + 2},
        ],
    )
    frame = kafka.read(topic, includeHeaders="true").orderBy("partition")
    milliseconds = frame.selectExpr("*", "unix_millis(timestamp) AS ms").collect()
    found = [
        (
            *(bytes(column) if column is not None else None for column in (row.key, row.value)),
            *(row.topic, row.partition, row.offset, row.ms, row.timestampType),
            [(h.key, bytes(h.value) if h.value is not None else None) for h in row.headers or []],
        )
        for row in milliseconds
    ]
    assert found == [
        (b"k", b"v", topic, 0, 0, NOON_MS, 0, headers),
        (None, b"keyless", topic, 1, 0, NOON_MS + 1, 0, []),
        (b"gone", None, topic, 2, 0, NOON_MS + 2, 0, []),
    ]


def test_reads_topics_of_every_compression(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    wanted = []
    for codec in CODECS:
        texts = [f"{codec} {i} " * 20 for i in range(200)]
        kafka.produce(
            topic,
            ({"partition": i % 2, "value": text} for i, text in enumerate(texts)),
            compression_type=codec,
        )
        wanted += texts
    assert sorted(values(kafka.read(topic))) == sorted(wanted)
    committed = kafka.read(topic, kafka_isolation_level="read_committed")
    assert committed.count() == len(wanted)


@pytest.mark.long(sample=2)
@pytest.mark.parametrize("codec", CODECS)
def test_writes_in_every_compression(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic(1)
    frame = kafka.spark.range(100).selectExpr("CAST(id AS STRING) AS value")
    kafka.write(frame, topic, kafka_compression_type=codec, kafka_acks="all")
    found = kafka.messages(topic, 1)
    assert [int(m.value()) for m in sorted(found, key=lambda m: int(m.value()))] == list(range(100))


def test_writes_keys_headers_and_partitions_to_the_topics_that_rows_name(kafka: Kafka) -> None:
    even, odd = kafka.topic(4, "even"), kafka.topic(4, "odd")
    frame = kafka.spark.range(40).selectExpr(
        f"IF(id % 2 = 0, '{even}', '{odd}') AS topic",
        "CAST(id % 4 AS INT) AS partition",
        "IF(id % 5 = 0, NULL, concat('key-', id)) AS key",
        "IF(id % 7 = 0, NULL, CAST(id AS STRING)) AS value",
        "array(struct('id' AS key, CAST(CAST(id AS STRING) AS BINARY) AS value),"
        " struct('nothing' AS key, CAST(NULL AS BINARY) AS value)) AS headers",
    )
    kafka.write(frame)
    found: dict[int, tuple[Any, ...]] = {}
    for topic in (even, odd):
        for message in kafka.messages(topic, 4):
            (name, number), nothing = message.headers() or []
            assert (name, nothing) == ("id", ("nothing", None))
            assert message.timestamp()[0] == TIMESTAMP_CREATE_TIME
            parts = (topic, message.partition(), message.key(), message.value())
            assert found.setdefault(int(number), parts) == parts
    assert found == {
        i: (
            odd if i % 2 else even,
            i % 4,
            None if i % 5 == 0 else f"key-{i}".encode(),
            None if i % 7 == 0 else str(i).encode(),
        )
        for i in range(40)
    }


def test_what_spark_wrote_goes_round_through_spark(kafka: Kafka) -> None:
    """Keys choose the partition as in every Java producer; a header array is read as written."""
    topic, copy = kafka.topic(3), kafka.topic(3)
    frame = kafka.spark.range(300).selectExpr(
        "concat('k', id % 10) AS key",
        "CAST(id AS STRING) AS value",
        "array(struct('n' AS key, CAST(CAST(id AS STRING) AS BINARY) AS value)) AS headers",
    )
    kafka.write(frame, topic)
    read = kafka.read(topic, includeHeaders="true")
    kafka.write(read.select("key", "value", "headers"), copy, includeHeaders="true")
    columns = ("CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "headers")
    again = kafka.read(copy, includeHeaders="true").selectExpr(*columns).collect()
    first = read.selectExpr(*columns).collect()
    assert sorted(first, key=lambda row: int(row.value)) == sorted(
        again, key=lambda row: int(row.value)
    )
    assert len(again) == 300
    assert len({(row.key, row.partition) for row in again}) == 10


def test_a_row_without_a_topic_is_refused_by_spark(kafka: Kafka) -> None:
    frame = kafka.spark.sql("SELECT CAST(NULL AS STRING) AS topic, 'v' AS value")
    with pytest.raises(java_errors(), match="null topic"):
        kafka.write(frame)


def test_reads_between_offsets(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    kafka.numbers(topic, 0, 40, partitions=2)
    start, end = offsets(topic, {0: 5, 1: -2}), offsets(topic, {0: 10, 1: -1})
    frame = kafka.read(topic, startingOffsets=start, endingOffsets=end)
    # Partition 0 holds the even numbers.
    assert values(frame) == [str(n) for n in (*range(10, 20, 2), *range(1, 40, 2))]
    assigned = kafka.read(
        topic, subscribe=None, assign=json.dumps({topic: [1]}), endingOffsets="latest"
    )
    assert values(assigned) == [str(n) for n in range(1, 40, 2)]


def test_reads_between_timestamps(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    kafka.produce(
        topic,
        ({"partition": n % 2, "value": str(n), "timestamp": NOON_MS + n} for n in range(100)),
    )
    start = offsets(topic, {0: NOON_MS + 10, 1: NOON_MS + 20})
    end = offsets(topic, {0: NOON_MS + 30, 1: NOON_MS + 1000})
    frame = kafka.read(topic, startingOffsetsByTimestamp=start, endingOffsetsByTimestamp=end)
    assert values(frame) == [str(n) for n in (*range(10, 30, 2), *range(21, 100, 2))]
    everywhere = kafka.read(topic, startingTimestamp=NOON_MS + 50, endingTimestamp=NOON_MS + 60)
    assert values(everywhere) == [str(n) for n in (*range(50, 60, 2), *range(51, 60, 2))]


def test_a_timestamp_after_all_records(kafka: Kafka) -> None:
    """An error by default, as the connector documents; the end of the topic where that is asked."""
    topic = kafka.topic(1)
    kafka.produce(topic, ({"value": str(n), "timestamp": NOON_MS + n} for n in range(10)))
    late = offsets(topic, {0: NOON_MS + 10})
    with pytest.raises(java_errors(), match="No offset matched"):
        kafka.read(topic, startingOffsetsByTimestamp=late).count()
    frame = kafka.read(
        topic, startingOffsetsByTimestamp=late, startingOffsetsByTimestampStrategy="latest"
    )
    assert frame.count() == 0


def test_subscribes_to_a_pattern(kafka: Kafka) -> None:
    word = uuid.uuid4().hex
    for name, partitions in (("calls", 1), ("drops", 2)):
        topic = kafka.topic(partitions, f"{word}-{name}")
        kafka.produce(topic, [{"partition": p, "value": f"{name} {p}"} for p in range(partitions)])
    kafka.produce(kafka.topic(1, "other"), [{"value": "not ours"}])
    frame = kafka.read("", subscribe=None, subscribePattern=f"{word}-.*")
    assert sorted(values(frame)) == ["calls 0", "drops 0", "drops 1"]


def test_more_tasks_than_partitions(kafka: Kafka) -> None:
    """`minPartitions` cuts a partition into ranges of offsets; nothing is read twice."""
    topic = kafka.topic(2)
    numbers = kafka.numbers(topic, 0, 1000, partitions=2)
    frame = kafka.read(topic, minPartitions="8")
    assert frame.rdd.getNumPartitions() == 8
    assert sorted(map(int, values(frame))) == numbers


@pytest.mark.parametrize("fail", [True, False])
def test_offsets_that_are_deleted(kafka: Kafka, fail: bool) -> None:
    """A clear error, or what is left, as `failOnDataLoss` says."""
    topic = kafka.topic(1)
    kafka.numbers(topic, 0, 100, partitions=1)
    delete_before(kafka, topic, 50)
    frame = kafka.read(
        topic, startingOffsets=offsets(topic, {0: 20}), failOnDataLoss=str(fail).lower()
    )
    if fail:
        with pytest.raises(java_errors()) as raised:
            values(frame)
        assert "Some data may have been lost" in str(raised.value)
        assert f"in offset [20, 100) for topic partition {topic}-0" in str(raised.value)
    else:
        assert values(frame) == [str(n) for n in range(50, 100)]


def delete_before(kafka: Kafka, topic: str, offset: int) -> None:
    where = TopicPartition(topic, 0, offset)
    (deleted,) = kafka.admin.delete_records([where]).values()
    assert deleted.result(60).low_watermark == offset
    earliest = kafka.admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.earliest()})
    assert [found.result(60).offset for found in earliest.values()] == [offset]


def test_a_group_id_of_the_jobs_own_commits_nothing(kafka: Kafka) -> None:
    topic, group = kafka.topic(3), f"spark-{uuid.uuid4()}"
    numbers = kafka.numbers(topic, 0, 30)
    frame = kafka.read(topic, kafka_group_id=group)
    assert sorted(map(int, values(frame))) == numbers
    listed = kafka.admin.list_consumer_groups().result(60).valid
    assert group not in {one.group_id for one in listed}


def test_the_deprecated_offset_reader_joins_a_group(kafka: Kafka) -> None:
    """The driver then finds offsets with a consumer that subscribes, not with an admin client."""
    topic, prefix = kafka.topic(3), f"driver-{uuid.uuid4()}"
    numbers = kafka.numbers(topic, 0, 300)
    setting = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    kafka.spark.conf.set(setting, "true")
    try:
        frame = kafka.read(topic, groupIdPrefix=prefix)
        assert sorted(map(int, values(frame))) == numbers
        listed = kafka.admin.list_consumer_groups().result(60).valid
        assert [one.group_id for one in listed if one.group_id.startswith(prefix)]
    finally:
        kafka.spark.conf.unset(setting)


def test_a_topic_that_is_missing(kafka: Kafka) -> None:
    with pytest.raises(java_errors(), match="(?i)unknown ?topic|does not host"):
        kafka.read(f"missing-{uuid.uuid4()}").count()
