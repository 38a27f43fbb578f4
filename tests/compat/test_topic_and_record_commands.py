"""`ottla topic`, `produce` and `consume` as processes, against the broker of these tests.

With `--broker=apache-kafka` the same against Apache Kafka.
"""

from __future__ import annotations

import signal
import subprocess
import time
import uuid

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ottla.launcher import ottla_command
from tests.compat.ottla_command import WITHIN_S, Ottla


@pytest.fixture
def ottla(broker: str) -> Ottla:
    return Ottla(broker)


@pytest.fixture
def topic(ottla: Ottla) -> str:
    name = f"topic-{uuid.uuid4().hex}"
    ottla("topic", "create", name, "-p", "2")
    return name


def test_the_life_of_a_topic(ottla: Ottla) -> None:
    name = f"topic-{uuid.uuid4().hex}"
    made = ottla.objects("topic", "create", name, "-p", "2", "-c", "retention.ms=86400000")
    assert made == [{"topic": name, "partitions": 2, "replicas": 1}]
    ottla("topic", "create", name, code=1)
    assert "it exists already" in ottla.said
    ottla("topic", "create", name, "--if-not-exists")
    ottla("topic", "alter", name, "cleanup.policy=compact", "--unset", "retention.ms", "-p", "3")
    ottla("produce", name, "-p", "1", "-k", "k", data=b"a\nb\n")
    (listed,) = (one for one in ottla.objects("topic", "list") if one["topic"] == name)
    assert listed["bytes"] > 0  # type: ignore[operator]
    assert {**listed, "bytes": 0} == {
        "topic": name,
        "partitions": 3,
        "replicas": 1,
        "records": 2,
        "bytes": 0,
        "cleanup": "compact",
    }
    (described,) = ottla.objects("topic", "describe", name)
    assert described["configs"] == {"cleanup.policy": "compact"}
    partitions = described["partitions"]
    assert isinstance(partitions, list)
    assert [(one["start"], one["end"]) for one in partitions] == [(0, 0), (0, 2), (0, 0)]
    assert all(one["isr"] == [one["leader"]] for one in partitions)
    ottla("topic", "delete", name, "--force")
    ottla("topic", "describe", name, code=1)
    assert f"no topic {name}" in ottla.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alter", "TOPIC", "-p", "1"], "Partitions are never taken away"),
        (["alter", "TOPIC", "retention.ms=x"], "Invalid value x for configuration retention.ms"),
        (["alter", "TOPIC", "no.such=1"], "no.such"),
        (["create", "TOPIC-2", "-r", "9"], "replication factor"),
        (["create", "TOPIC-2", "-c", "cleanup.policy=never"], "cleanup.policy"),
    ],
)
def test_what_the_cluster_refuses(ottla: Ottla, topic: str, words: list[str], said: str) -> None:
    ottla("topic", *(word.replace("TOPIC", topic) for word in words), code=1)
    assert said in ottla.said and ottla.said.count("\n") == 1


def test_lines_go_in_and_come_out(ottla: Ottla, topic: str) -> None:
    """Many of one length, and of many lengths; each way and through each codec."""
    alike = [b"%06d" % one for one in range(30_000)]
    others = [b"x" * (one % 300) for one in range(3_000)]
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        name = f"{topic}-{codec}"
        ottla("topic", "create", name, "-p", "1")
        data = b"\n".join([*alike, *others]) + b"\n"
        ottla("produce", name, "--compression", codec, data=data)
        assert ottla("consume", name) == data
    assert ottla("consume", name, "--from", "-2", "-n", "1") == others[-2] + b"\n"
    assert ottla("consume", name, "--from", "100", "--to", "102") == b"000100\n000101\n"


def test_a_missing_topic_is_created_for_its_first_record(ottla: Ottla) -> None:
    name = f"topic-{uuid.uuid4().hex}"
    ottla("produce", name, data=b"hello\n")
    assert ottla.said.startswith(f"ottla: created topic {name} (") and ottla.said.count("\n") == 1
    assert ottla("consume", name) == b"hello\n"
    ottla("produce", name, data=b"again\n")
    assert ottla.said == ""


def test_keys_headers_and_tombstones_through_json(ottla: Ottla, topic: str) -> None:
    ottla("produce", topic, "-K", ":", "-H", "source=tests", data=b"a:1\nb:2\na:3\n")
    ottla("produce", topic, "--tombstone", "-k", "b")
    found = ottla.objects("consume", topic)
    assert sorted((str(one["key"]), str(one["value"])) for one in found) == [
        ("a", "1"),
        ("a", "3"),
        ("b", "2"),
        ("b", "None"),
    ]
    copy = f"{topic}-copy"
    ottla("topic", "create", copy, "-p", "2")
    ottla("produce", copy, "--json", data=ottla("consume", topic, "--json"))
    copied = [{**one, "topic": topic} for one in ottla.objects("consume", copy)]
    assert copied == found
    assert ottla("consume", topic, "-k", "-H", "--grep", "3").strip() == b"source=tests\ta\t3"


def test_other_clients_put_keys_in_the_same_partitions(ottla: Ottla, broker: str) -> None:
    name = f"topic-{uuid.uuid4().hex}"
    ottla("topic", "create", name, "-p", "7")
    keys = [f"key-{one}" for one in range(50)]
    producer = Producer({"bootstrap.servers": broker, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(name, key=key, value=b"theirs")
    producer.flush(WITHIN_S)
    ottla("produce", name, "-K", ":", data="".join(f"{key}:ours\n" for key in keys).encode())
    places: dict[object, set[object]] = {}
    for one in ottla.objects("consume", name):
        places.setdefault(one["key"], set()).add(one["partition"])
    assert len(places) == 50 and all(len(one) == 1 for one in places.values())


def test_aborted_transactions_are_not_shown(ottla: Ottla, topic: str, broker: str) -> None:
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic})
    producer.init_transactions(WITHIN_S)
    for value, ends in ((b"first", "commit"), (b"second", "abort"), (b"third", "commit")):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(WITHIN_S)
        getattr(producer, f"{ends}_transaction")(WITHIN_S)
    assert ottla("consume", topic) == b"first\nthird\n"
    assert ottla("consume", topic, "--uncommitted") == b"first\nsecond\nthird\n"


def commit(consumer: Consumer, offset: TopicPartition) -> None:
    """As soon as the group has a coordinator that serves."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            consumer.commit(offsets=[offset], asynchronous=False)
        except KafkaException:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def test_a_group_stands_where_it_stood_unless_asked(ottla: Ottla, broker: str) -> None:
    name = f"topic-{uuid.uuid4().hex}"
    ottla("topic", "create", name, "-p", "1")
    ottla("produce", name, data=b"0\n1\n2\n3\n")
    consumer = Consumer({"bootstrap.servers": broker, "group.id": name})
    commit(consumer, TopicPartition(name, 0, 1))
    assert ottla("consume", name, "--group", name, "-n", "2") == b"1\n2\n"
    assert consumer.committed([TopicPartition(name, 0)], WITHIN_S)[0].offset == 1
    assert ottla("consume", name, "--group", name, "-n", "2", "--commit") == b"1\n2\n"
    assert consumer.committed([TopicPartition(name, 0)], WITHIN_S)[0].offset == 3
    consumer.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_a_follower_printed_is_committed_when_a_signal_ends_it(
    ottla: Ottla, topic: str, number: signal.Signals
) -> None:
    ottla("produce", topic, data=b"1\n2\n")
    command = ottla_command("consume", topic, "--follow", "--group", topic, "--commit")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ottla.env) as following:
        assert following.stdout is not None
        assert [following.stdout.readline() for _ in range(2)] == [b"1\n", b"2\n"]
        following.send_signal(number)
        code = 0 if number == signal.SIGINT else 128 + number
        assert following.wait(WITHIN_S) == code
    ottla("produce", topic, data=b"3\n")
    assert ottla("consume", topic, "--group", topic) == b"3\n"


def test_follow_shows_what_comes_at_once(ottla: Ottla, topic: str) -> None:
    command = ottla_command("consume", topic, "--follow")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ottla.env) as following:
        assert following.stdout is not None
        for value in (b"one\n", b"two\n"):
            ottla("produce", topic, data=value)
            assert following.stdout.readline() == value
        following.send_signal(signal.SIGINT)
        assert following.wait(WITHIN_S) == 0


def test_whoever_has_enough_ends_it_quietly(ottla: Ottla, topic: str) -> None:
    ottla("produce", topic, data=b"x" * 99 + b"\n" * 1 + b"line\n" * 200_000)
    command = ottla_command("consume", topic)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ottla.env
    ) as consuming:
        assert consuming.stdout is not None and consuming.stderr is not None
        consuming.stdout.readline()
        consuming.stdout.close()
        assert consuming.stderr.read() == b""
        assert consuming.wait(WITHIN_S) == 0
