"""Produce and consume with the three Python clients, in all the ways that each of them has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from tests.compat.python_clients import (
    CLIENTS,
    COMPRESSIONS,
    LACKS,
    Client,
    Message,
    Refused,
    Sending,
    python_client,
    read,
)
from tests.compat.tcp_proxy import LossyProxy
from tests.tools.waiting import wait_until

MakeTopic = Callable[..., str]
NOW_MS = int(time.time() * 1000)
DAY_MS = 24 * 3600 * 1000


@pytest.fixture(params=CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    """The client's name."""
    return str(request.param)


@pytest.fixture
def client(name: str) -> Client:
    """The client."""
    return python_client(name)


def make_topics(servers: str) -> MakeTopic:
    admin = AdminClient({"bootstrap.servers": servers})

    def make(partitions: int = 1, **configs: str) -> str:
        topic = f"clients-{uuid4().hex[:10]}"
        config = {key.replace("_", "."): value for key, value in configs.items()}
        (future,) = admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values()
        future.result(60)
        return topic

    return make


@pytest.fixture(scope="module")
def new_topic(broker: str) -> MakeTopic:
    """Makes a topic; configs as keywords, with `_` for `.`."""
    return make_topics(broker)


def numbered(count: int, size: int = 0) -> list[Message]:
    return [Message(b"%06d" % n + b"x" * size, b"k%d" % n) for n in range(count)]


def stored_codecs(log_dir: Path, topic: str) -> list[int]:
    """Codecs of the batches in the topic's first segment, each once."""
    segment = memoryview((log_dir / f"{topic}-0" / f"{0:020}.log").read_bytes())
    codecs = [int(header.compression) for _, header in iterate_batches(segment)]
    return list(dict.fromkeys(codecs))


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("acks", [0, 1, -1], ids=["acks=0", "acks=1", "acks=all"])
def test_acks_and_compression(
    client: Client,
    name: str,
    broker: str,
    broker_log_dir: Path,
    new_topic: MakeTopic,
    acks: int,
    compression: str,
) -> None:
    if (name, compression) in LACKS:
        pytest.skip(f"n/a: {LACKS[name, compression]}")
    topic, messages = new_topic(), numbered(200, size=100)
    offsets = client.produce(broker, topic, messages, Sending(acks, compression))
    if acks:
        assert offsets == list(range(200))
    with client.consumer(broker, topic, 0) as consumer:
        received = read(consumer, 200)
    assert [(one.offset, one.key, one.value) for one in received] == [
        (n, message.key, message.value) for n, message in enumerate(messages)
    ]
    # a client that does not trust the broker sends uncompressed, unasked (KAFKA-18659)
    assert stored_codecs(broker_log_dir, topic) == [COMPRESSIONS.index(compression)]


def test_nulls_empties_headers_and_timestamps(
    client: Client, broker: str, new_topic: MakeTopic
) -> None:
    topic = new_topic()
    messages = [
        Message(b"v", b"k", (("h", b"1"), ("h", b"2"), ("empty", b"")), NOW_MS - 5 * DAY_MS),
        Message(b"v", None, (), NOW_MS),
        Message(None, b"tombstone", (), NOW_MS - 7),
        Message(b"", b"", (("ünïcode", "ß".encode()),), NOW_MS + 60_000),
    ]
    client.produce(broker, topic, messages, Sending())
    with client.consumer(broker, topic, 0) as consumer:
        received = read(consumer, 4)
    assert [one[1:] for one in received] == [tuple(message) for message in messages]


def test_log_append_time_is_the_brokers(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1000)
    client.produce(broker, topic, [Message(b"v", timestamp_ms=1000)], Sending())
    with client.consumer(broker, topic, 0) as consumer:
        (received,) = read(consumer, 1)
    assert before_ms - 1 <= received.timestamp_ms <= time.time() * 1000 + 1


def test_a_message_of_a_megabyte(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic, value = new_topic(), bytes(range(256)) * 4000
    assert client.produce(broker, topic, [Message(value)], Sending()) == [0]
    with client.consumer(broker, topic, 0) as consumer:
        assert read(consumer, 1)[0].value == value


def test_a_message_too_large_is_refused_and_nothing_is_written(
    client: Client, broker: str, new_topic: MakeTopic
) -> None:
    topic = new_topic()
    for large in (1_048_589, 3_000_000):
        with pytest.raises(Refused) as refused:
            client.produce(broker, topic, [Message(bytes(large))], Sending())
        assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
    with client.consumer(broker, topic, 0) as consumer:
        assert consumer.watermarks() == (0, 0)
        assert consumer.poll(0.3) == []
    assert client.produce(broker, topic, [Message(b"small")], Sending()) == [0]


def test_the_topics_own_limit_of_a_message(
    client: Client, broker: str, new_topic: MakeTopic
) -> None:
    topic = new_topic(max_message_bytes="1000")
    with pytest.raises(Refused) as refused:
        client.produce(broker, topic, [Message(bytes(1000))], Sending())
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert client.produce(broker, topic, [Message(bytes(800))], Sending()) == [0]


def test_seek_back_and_forth(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic()
    client.produce(broker, topic, numbered(50), Sending())
    with client.consumer(broker, topic, 40) as consumer:
        assert [one.offset for one in read(consumer, 10)] == list(range(40, 50))
        consumer.seek(3)
        assert [one.offset for one in read(consumer, 47)] == list(range(3, 50))
        consumer.seek(49)
        assert [one.offset for one in read(consumer, 1)] == [49]
        assert consumer.watermarks() == (0, 50)


def test_offsets_for_times(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic()
    messages = [Message(b"v", timestamp_ms=NOW_MS + 1000 * n) for n in range(10)]
    for half in (messages[:5], messages[5:]):
        client.produce(broker, topic, half, Sending())
    with client.consumer(broker, topic, 0) as consumer:
        found = [
            consumer.offset_for_time(NOW_MS + after)
            for after in (-5000, 0, 1, 1000, 4500, 9000, 9001)
        ]
    # confluent-kafka answers a time after the last message with the end
    assert found[:-1] == [0, 0, 1, 1, 5, 9]
    assert found[-1] in (None, 10)


def test_pause_and_resume(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic()
    client.produce(broker, topic, numbered(3), Sending())
    with client.consumer(broker, topic, 0) as consumer:
        read(consumer, 3)
        consumer.pause()
        client.produce(broker, topic, numbered(3), Sending())
        assert [one for _ in range(5) for one in consumer.poll(0.1)] == []
        consumer.resume()
        assert [one.offset for one in read(consumer, 3)] == [3, 4, 5]


def test_an_offset_that_is_not_there(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic()
    client.produce(broker, topic, numbered(5), Sending())
    with client.consumer(broker, topic, 100, reset="earliest") as consumer:
        assert [one.offset for one in read(consumer, 5)] == list(range(5))
    with client.consumer(broker, topic, 100, reset="none") as consumer:
        with pytest.raises(Refused) as refused:
            wait_until(lambda: consumer.poll(0.2), "a refusal")
        assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_idempotent_producer(client: Client, broker: str, new_topic: MakeTopic) -> None:
    topic = new_topic()
    offsets = client.produce(broker, topic, numbered(100), Sending(idempotent=True))
    assert offsets == list(range(100))


def test_a_topic_is_created_by_its_first_message(client: Client, broker: str) -> None:
    topic = f"auto-{uuid4().hex[:10]}"
    assert client.produce(broker, topic, [Message(b"first")], Sending()) == [0]


# --- a lost answer -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lossy(request: pytest.FixtureRequest) -> Iterator[tuple[LossyProxy, MakeTopic]]:
    """A proxy before a broker of its own that sends all clients through it."""
    proxy = LossyProxy()
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
    ottla = request.getfixturevalue("ottla_broker_factory")(properties=advertised)
    proxy.target = ("127.0.0.1", ottla.port)
    yield proxy, make_topics(f"127.0.0.1:{proxy.port}")
    proxy.close()


def produce_and_lose_an_answer(
    produce: Callable[[str, str, Sequence[Callable[[], Sequence[Message]]]], None],
    proxy: LossyProxy,
    topic: str,
) -> None:
    """One message, then 20 more whose first answer is lost, then one more."""
    before = proxy.lost

    def losing() -> list[Message]:
        proxy.lose_next()
        return [Message(b"%d" % n) for n in range(1, 21)]

    steps = [lambda: [Message(b"0")], losing, lambda: [Message(b"21")]]
    produce(f"127.0.0.1:{proxy.port}", topic, steps)
    assert proxy.lost == before + 1


def values(client: Client, proxy: LossyProxy, topic: str) -> list[bytes | None]:
    with client.consumer(f"127.0.0.1:{proxy.port}", topic, 0) as consumer:
        _, end = consumer.watermarks()
        return [one.value for one in read(consumer, end)]


def test_an_idempotent_producers_retry_does_not_duplicate(
    client: Client, lossy: tuple[LossyProxy, MakeTopic]
) -> None:
    proxy, make = lossy
    topic = make()
    produce_and_lose_an_answer(client.produce_in_steps, proxy, topic)
    assert values(client, proxy, topic) == [b"%d" % n for n in range(22)]


def test_without_idempotence_the_same_retry_does_duplicate(
    client: Client, lossy: tuple[LossyProxy, MakeTopic]
) -> None:
    """The proof that the test above loses an answer to a request that was carried out."""
    proxy, make = lossy
    topic = make()
    produce_and_lose_an_answer(client.produce_without_idempotence, proxy, topic)
    written = values(client, proxy, topic)
    assert len(written) > 22
    assert list(dict.fromkeys(written)) == [b"%d" % n for n in range(22)]
