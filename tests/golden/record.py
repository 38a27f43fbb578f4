"""Record real clients talking to a real Apache Kafka into the files beside this one.

    python -m tests.golden.record [client …]

Needs Java (see `tests/tools/java_tools.py`). Writes `<client>/<api>_v<N>_{request,response}.bin`,
whole frames without their size, and `<client>/batch_<codec>.bin`, a record batch as the client
sent it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.api_keys import ApiKey, messages_of
from protocol.compression import Codec
from protocol.frames.message_codec import decode, read_request_header, skip_header_tags
from protocol.record_batch import read_header
from tests.golden.recording_proxy import RecordingProxy
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START, program_classpath, run_tool
from tests.tools.ports import free_port

HERE = Path(__file__).resolve().parent
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
VALUES = [b"value %d of some length that repeats, repeats, repeats" % n for n in range(20)]
HEADERS = [("header", b"content"), ("empty", b"")]


# --- librdkafka ----------------------------------------------------------------------------------


def talk_as_librdkafka(bootstrap: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics(
        [NewTopic("rd", 2, 1, config={"retention.ms": "-1"})]
    ).values():
        future.result(30)
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "linger.ms": 50,
                "enable.idempotence": codec != "none",
            }
        )
        for value in VALUES:
            producer.produce("rd", value, key=b"key", headers=HEADERS, partition=0)
        producer.produce("rd", None, key=b"tombstone", partition=0)
        assert producer.flush(30) == 0
    _librdkafka_transaction(bootstrap)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "rd-group",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(["rd"])
    assert len(consumer.consume(100, timeout=20)) == 100
    consumer.commit(asynchronous=False)
    consumer.committed([TopicPartition("rd", 0)], 20)
    consumer.offsets_for_times([TopicPartition("rd", 0, 1_000)], 20)
    consumer.get_watermark_offsets(TopicPartition("rd", 0), 20)
    _librdkafka_admin(admin)
    consumer.close()
    for future in admin.delete_topics(["rd"]).values():
        future.result(30)


def _librdkafka_transaction(bootstrap: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "rd-transaction"})
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce("rd", b"in a transaction", partition=1)
        group = Consumer({"bootstrap.servers": bootstrap, "group.id": "rd-offsets"})
        offsets = [TopicPartition("rd", 0, 5)]
        producer.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), 30)
        end(30)
        group.close()


def _librdkafka_admin(admin: Any) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import (
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        NewPartitions,
        OffsetSpec,
        ResourceType,
    )

    topic = ConfigResource(ResourceType.TOPIC, "rd")
    topic.add_incremental_config(
        ConfigEntry("retention.ms", "1000000", incremental_operation=AlterConfigOpType.SET)
    )
    spec = {TopicPartition("rd", 0): OffsetSpec.latest()}
    answers = [
        *admin.incremental_alter_configs([topic]).values(),
        *admin.describe_configs([ConfigResource(ResourceType.TOPIC, "rd")]).values(),
        *admin.create_partitions([NewPartitions("rd", 3)]).values(),
        *admin.describe_consumer_groups(["rd-group"]).values(),
        admin.list_consumer_groups(),
        admin.describe_cluster(),
        *admin.list_offsets(spec).values(),
        *admin.delete_records([TopicPartition("rd", 1, 1)]).values(),
        *admin.delete_consumer_groups(["rd-offsets"]).values(),
    ]
    for answer in answers:
        answer.result(30)


# --- kafka-python --------------------------------------------------------------------------------


def talk_as_kafka_python(bootstrap: str) -> None:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
    from kafka.admin import NewTopic

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic("kp", 2, 1)])
    for codec in (None, "gzip"):
        producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=100)
        for value in VALUES:
            producer.send("kp", value, key=b"key", headers=HEADERS, partition=0)
        producer.flush(30)
        producer.close()
    transactional = KafkaProducer(bootstrap_servers=bootstrap, transactional_id="kp-transaction")
    transactional.init_transactions()
    transactional.begin_transaction()
    transactional.send("kp", b"in a transaction", partition=1)
    transactional.commit_transaction()
    transactional.close()
    consumer = KafkaConsumer(
        "kp",
        bootstrap_servers=bootstrap,
        group_id="kp-group",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=3_000,
    )
    assert len(list(consumer)) == 2 * len(VALUES) + 1
    consumer.commit()
    admin.describe_configs(_kafka_python_resource())
    admin.describe_topics(["kp"])
    admin.describe_cluster()
    admin.list_groups()
    admin.describe_groups(["kp-group"])
    admin.list_group_offsets(["kp-group"])
    admin.describe_log_dirs()
    consumer.close()
    admin.delete_groups(["kp-group"])
    admin.delete_topics(["kp"])
    admin.close()


def _kafka_python_resource() -> list[Any]:
    from kafka.admin import ConfigResource, ConfigResourceType

    return [ConfigResource(ConfigResourceType.TOPIC, "kp")]


# --- aiokafka ------------------------------------------------------------------------------------


def talk_as_aiokafka(bootstrap: str) -> None:
    asyncio.run(_aiokafka(bootstrap))


async def _aiokafka(bootstrap: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic("ak", 2, 1)])
    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, compression_type=codec, linger_ms=50
        )
        await producer.start()
        for value in VALUES:
            await producer.send("ak", value, key=b"key", headers=HEADERS, partition=0)
        await producer.stop()
    transactional = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="ak-transaction")
    await transactional.start()
    async with transactional.transaction():
        await transactional.send("ak", b"in a transaction", partition=1)
        await transactional.send_offsets_to_transaction({TopicPartition("ak", 0): 3}, "ak-offsets")
    await transactional.stop()
    consumer = AIOKafkaConsumer(
        "ak",
        bootstrap_servers=bootstrap,
        group_id="ak-group",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    await consumer.start()
    taken = 0
    while taken < 5 * len(VALUES):
        for records in (await consumer.getmany(timeout_ms=1_000)).values():
            taken += len(records)
    await consumer.commit()
    await admin.describe_consumer_groups(["ak-group"])
    await admin.list_consumer_groups()
    await admin.list_consumer_group_offsets("ak-group")
    await admin.create_partitions({"ak": NewPartitions(3)})
    await consumer.stop()
    await admin.delete_topics(["ak"])
    await admin.close()


# --- Java ----------------------------------------------------------------------------------------


def talk_as_java(bootstrap: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    _tool("kafka-topics", *server, "--create", "--topic", "java", "--partitions", "2")
    lines = "\n".join(f"key:{value.decode()}" for value in VALUES)
    for codec in CODECS:
        properties = ["parse.key=true", "key.separator=:"]
        options = [option for each in properties for option in ("--reader-property", each)]
        _tool(
            "kafka-console-producer",
            *server,
            *("--topic", "java", "--compression-codec", codec, *options),
            input=lines + "\n",
        )
    _tool(
        "kafka-console-consumer",
        *server,
        *("--topic", "java", "--from-beginning", "--max-messages", str(5 * len(VALUES))),
        *("--group", "java-group", "--isolation-level", "read_committed"),
    )
    _java_transaction(bootstrap)
    _tool("kafka-topics", *server, "--describe")
    _tool("kafka-topics", *server, "--alter", "--topic", "java", "--partitions", "3")
    entity = ("--entity-type", "topics", "--entity-name", "java")
    _tool("kafka-configs", *server, *entity, "--alter", "--add-config", "retention.ms=100000")
    _tool("kafka-configs", *server, *entity, "--describe", "--all")
    _tool("kafka-get-offsets", *server, "--topic", "java")
    _tool("kafka-groups", *server, "--list")
    _tool("kafka-consumer-groups", *server, "--describe", "--group", "java-group")
    _tool("kafka-consumer-groups", *server, "--delete", "--group", "java-group")
    _tool("kafka-log-dirs", *server, "--describe")
    _tool("kafka-topics", *server, "--delete", "--topic", "java")


def _java_transaction(bootstrap: str) -> None:
    """Commit a record and an offset in a transaction."""
    words = [
        f"open p {bootstrap} java-transaction 60000",
        "begin p",
        "send p java 1 in-a-transaction",
        "offsets p java-offsets java 0 3",
        "commit p",
        "close p",
    ]
    client, lines = "TransactionalClient", "\n".join([*words, ""])
    done = run_tool(client, input=lines, classpath=program_classpath())
    assert done.stdout.split() == ["ok"] * len(words), done.stdout + done.stderr


def _tool(name: str, *args: str, input: str | None = None) -> None:
    done = run_tool(name, *args, input=input)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed:\n{done.stdout}{done.stderr}")


# --- writing -------------------------------------------------------------------------------------

CLIENTS: dict[str, Callable[[str], None]] = {
    "librdkafka": talk_as_librdkafka,
    "kafka-python": talk_as_kafka_python,
    "aiokafka": talk_as_aiokafka,
    "java": talk_as_java,
}


def batches_of(request: bytes) -> list[bytes]:
    """The record batches of a Produce request's frame."""
    frame = memoryview(request)
    _, version, _, _, pos = read_request_header(frame)
    message = messages_of(ApiKey.PRODUCE).request
    if version >= message.FLEXIBLE_FROM:
        pos = skip_header_tags(frame, pos)
    produce = decode(message, frame, pos, version)
    return [
        bytes(partition.records)
        for topic in produce.topic_data
        for partition in topic.partition_data
    ]


def write_files(proxy: RecordingProxy, clients: list[str]) -> None:
    """Replace the files of these clients by what the proxy has seen."""
    for client in clients:
        folder = HERE / client
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.bin"):
            old.unlink()
        for (name, key, version), exchange in sorted(proxy.exchanges.items()):
            if name == client:
                stem = f"{ApiKey(key).name.lower()}_v{version}"
                (folder / f"{stem}_request.bin").write_bytes(exchange.request)
                (folder / f"{stem}_response.bin").write_bytes(exchange.response)
        for name, request in proxy.produced:
            for batch in batches_of(request) if name == client else []:
                header = read_header(batch)
                if not header.is_transactional:
                    codec = Codec(header.compression).name.lower()
                    (folder / f"batch_{codec}.bin").write_bytes(batch)


def main(clients: list[str]) -> None:
    """Start Kafka behind the proxy and let each client talk to it."""
    port = free_port()
    listeners = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    with (
        ApacheKafka(properties=listeners, jvm_options=FAST_START, heap="512m") as kafka,
        RecordingProxy(port, kafka.port) as proxy,
    ):
        for client in clients:
            proxy.client = client
            CLIENTS[client](f"127.0.0.1:{port}")
    write_files(proxy, [*clients, "apache-kafka"])


if __name__ == "__main__":
    main(sys.argv[1:] or list(CLIENTS))
