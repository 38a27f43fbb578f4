"""Record batches that a broker should refuse, and a client that asks it what it says to them.

    python -m tests.golden.damaged_batches

asks Apache Kafka and writes its answers to `damaged_batches_kafka.json`. Owns the
cases; `tests/chaos/test_damaged_batches.py` gives the same ones to Ottla.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.api_keys import ApiKey, messages_of
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.record_batch import crc_of
from protocol.records import Record
from tests.batches import build_batch
from tests.kept_json import write_json
from tests.tools.waiting import LIMIT_S

ANSWERS = Path(__file__).resolve().parent / "damaged_batches_kafka.json"
TOPIC = "damaged"
NOW_MS = 1_700_000_000_000
RECORDS = [Record(-1, NOW_MS + n, b"key %d" % n, b"value %d" % n) for n in range(3)]


# --- cases ---------------------------------------------------------------------------------------


def _with(changes: dict[str, tuple[int, str, int]] | None = None, **build: Any) -> bytes:
    """A good batch, header fields overwritten (name: offset, struct format, value), CRC right."""
    batch = build_batch(RECORDS, **build)
    for offset, form, value in (changes or {}).values():
        struct.pack_into(form, batch, offset, value)
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))
    return bytes(batch)


def _field(offset: int, form: str, value: int, **build: Any) -> bytes:
    return _with({"field": (offset, form, value)}, **build)


def _body(change: Callable[[bytearray], None], codec: Codec = Codec.NONE) -> bytes:
    """A good batch whose records' bytes (byte 61 on) are changed, CRC right."""
    batch = build_batch(RECORDS, compression=codec)
    change(batch)
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))
    return bytes(batch)


def _set(position: int, byte: int) -> Callable[[bytearray], None]:
    def change(batch: bytearray) -> None:
        batch[position] = byte

    return change


def _old_message(magic: int) -> bytes:
    """A message of the format before 0.11: magic 0, or 1 with a timestamp."""
    timestamp = struct.pack(">q", NOW_MS) if magic else b""
    content = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">i1si1s", 1, b"k", 1, b"v")
    return struct.pack(">qiI", 0, len(content) + 4, 0) + content


GOOD = _with()

# name → (Produce version, acks, records)
CASES: dict[str, tuple[int, bytes | None]] = {
    "good": (9, GOOD),
    "null records": (9, None),
    "no bytes": (9, b""),
    "eleven bytes": (9, GOOD[:11]),
    "sixty bytes": (9, GOOD[:60]),
    "last byte missing": (9, GOOD[:-1]),
    "a byte too many": (9, GOOD + b"\0"),
    "twelve bytes too many": (9, GOOD + bytes(12)),
    "two batches": (9, GOOD + GOOD),
    "a batch and a half": (9, GOOD + GOOD[:-1]),
    "magic 0": (9, _old_message(0)),
    "magic 1": (9, _old_message(1)),
    "magic 1 in produce 3": (3, _old_message(1)),
    "magic 3": (9, _field(16, ">b", 3)),
    "magic -1": (9, _field(16, ">b", -1)),
    "wrong crc": (9, GOOD[:17] + bytes(4) + GOOD[21:]),
    "batch length 0": (9, _field(8, ">i", 0)),
    "batch length -1": (9, _field(8, ">i", -1)),
    "batch length 13": (9, _field(8, ">i", 13)),
    "batch length 48": (9, _field(8, ">i", 48)),
    "batch length 49": (9, _field(8, ">i", 49)),
    "batch length 2^31-1": (9, _field(8, ">i", 2**31 - 1)),
    "base offset 5": (9, _field(0, ">q", 5)),
    "base offset -1": (9, _field(0, ">q", -1)),
    "codec 5": (9, _field(21, ">h", 5)),
    "codec 7": (9, _field(21, ">h", 7)),
    "codec gzip over plain records": (9, _field(21, ">h", 1)),
    "log append time": (9, _field(21, ">h", 8)),
    "transactional without producer": (9, _field(21, ">h", 16)),
    "control": (9, _field(21, ">h", 32)),
    "delete horizon": (9, _field(21, ">h", 64)),
    "unused attribute bit 7": (9, _field(21, ">h", 128)),
    "unused attribute bit 15": (9, _field(21, ">h", -(2**15))),
    "last offset delta -1": (9, _field(23, ">i", -1)),
    "last offset delta 1": (9, _field(23, ">i", 1)),
    "last offset delta 3": (9, _field(23, ">i", 3)),
    "last offset delta 2^31-1": (9, _field(23, ">i", 2**31 - 1)),
    "record count 0": (9, _field(57, ">i", 0)),
    "record count 0, last offset delta -1": (
        9,
        _with({"count": (57, ">i", 0), "delta": (23, ">i", -1)}),
    ),
    "record count -1": (9, _field(57, ">i", -1)),
    "record count 2": (9, _field(57, ">i", 2)),
    "record count 4": (9, _field(57, ">i", 4)),
    "record count and delta 2^31-1": (
        9,
        _with({"count": (57, ">i", 2**31 - 1), "delta": (23, ">i", 2**31 - 2)}),
    ),
    "max timestamp -1": (9, _field(35, ">q", -1)),
    "max timestamp too small": (9, _field(35, ">q", NOW_MS)),
    "max timestamp far ahead": (9, _field(35, ">q", 2**62)),
    "base timestamp far ahead": (9, _field(27, ">q", 2**62)),
    "producer without sequence": (9, _with(producer_id=7, producer_epoch=0)),
    "producer with sequence -2": (9, _with(producer_id=7, producer_epoch=0, base_sequence=-2)),
    "producer without epoch": (9, _with(producer_id=7, base_sequence=0)),
    "unknown producer": (9, _with(producer_id=7, producer_epoch=0, base_sequence=0)),
    "unknown producer, sequence 5": (9, _with(producer_id=8, producer_epoch=0, base_sequence=5)),
    "producer -2": (9, _with(producer_id=-2, producer_epoch=0, base_sequence=0)),
    "record length too small": (9, _body(_set(61, 0x02))),
    "record length too large": (9, _body(_set(61, 0x7E))),
    "record length negative": (9, _body(_set(61, 0x01))),
    "record varint endless": (9, _body(_set(61, 0xFF))),
    "record offset delta 5": (9, _body(_set(64, 0x0A))),
    "record offset delta -1": (9, _body(_set(64, 0x01))),
    "record key length -2": (9, _body(_set(65, 0x03))),
    "record key length too large": (9, _body(_set(65, 0x7E))),
    "gzip good": (9, _with(compression=Codec.GZIP)),
    "snappy good": (9, _with(compression=Codec.SNAPPY)),
    "lz4 good": (9, _with(compression=Codec.LZ4)),
    "zstd good": (9, _with(compression=Codec.ZSTD)),
    "zstd in produce 6": (6, _with(compression=Codec.ZSTD)),
    "gzip damaged": (9, _body(_set(75, 0xFF), Codec.GZIP)),
    "lz4 damaged": (9, _body(_set(61, 0xFF), Codec.LZ4)),
    "zstd damaged": (9, _body(_set(61, 0xFF), Codec.ZSTD)),
    "snappy damaged": (9, _body(_set(80, 0xFF), Codec.SNAPPY)),
    "zstd wrong record count": (9, _field(57, ">i", 4, compression=Codec.ZSTD)),
}


# --- asking --------------------------------------------------------------------------------------


class Asker:
    """One blocking connection to a broker; each question is one request."""

    def __init__(self, port: int, timeout_s: float = LIMIT_S) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._correlation_id = 0

    def ask(self, request: Any, version: int) -> Any:
        """The response; ConnectionError where the broker closes instead."""
        self._correlation_id += 1
        self._socket.sendall(encode_request(request, version, self._correlation_id, "asker"))
        (size,) = struct.unpack(">i", self._take(4))
        frame = memoryview(self._take(size))
        correlation_id, response = decode_response(ApiKey(request.API_KEY), frame, version)
        assert correlation_id == self._correlation_id
        return response

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                raise ConnectionError("the broker closed the connection")
            data += chunk
        return data

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_topic(asker: Asker, name: str = TOPIC, **configs: str) -> None:
    """One partition, one replica; returns when its leader takes requests."""
    from protocol.messages.create_topics import (
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
    )
    from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

    entries = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    topic = CreatableTopic(name, 1, 1, [], entries)
    answer = asker.ask(CreateTopicsRequest([topic], 30_000), 5)
    assert answer.topics[0].error_code == 0, answer
    for _ in range(200):
        metadata = asker.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 8)
        partitions = metadata.topics[0].partitions
        if partitions and partitions[0].error_code == 0:
            return
    raise AssertionError("the topic has no leader")


def produce(asker: Asker, version: int, records: bytes | None, topic: str = TOPIC) -> Any:
    """The one partition's answer to Produce with acks -1."""
    from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, records)])
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data])
    return asker.ask(request, version).responses[0].partition_responses[0]


def end_offset(asker: Asker, topic: str = TOPIC) -> int:
    """The partition's latest offset."""
    from protocol.messages.list_offsets import (
        ListOffsetsPartition,
        ListOffsetsRequest,
        ListOffsetsTopic,
    )

    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [partition])])
    answer = asker.ask(request, 4).topics[0].partitions[0]
    assert answer.error_code == 0, answer
    return int(answer.offset)


def answers_of(port: int) -> dict[str, dict[str, Any]]:
    """What the broker at `port` says to each case: error, message, records appended, log start."""
    answers: dict[str, dict[str, Any]] = {}
    with Asker(port) as asker:
        create_topic(asker, retention_ms="-1")  # the records are old
    for name, (version, records) in CASES.items():
        with Asker(port) as asker:
            before = end_offset(asker)
            try:
                answer = produce(asker, version, records)
            except ConnectionError:
                answers[name] = {"error": "closed"}
                continue
            except TimeoutError:
                answers[name] = {"error": "no answer"}
                continue
            said: dict[str, Any] = {
                "error": ErrorCode(answer.error_code).name,
                "appended": end_offset(asker) - before,
                "start": answer.log_start_offset,
            }
            if answer.error_message:
                said["message"] = answer.error_message
            if answer.record_errors:
                said["records"] = [
                    [each.batch_index, each.batch_index_error_message]
                    for each in answer.record_errors
                ]
            answers[name] = said
    return answers


def main() -> None:
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        answers = answers_of(kafka.port)
    write_json(ANSWERS, answers)


if __name__ == "__main__":
    assert messages_of(ApiKey.PRODUCE)
    main()
