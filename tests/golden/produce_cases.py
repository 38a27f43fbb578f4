"""What a broker answers to odd Produce requests, and to markers that no coordinator writes: a
conversation with Apache Kafka, kept.

`python -m tests.golden.produce_cases` records `produce_answers_kafka.json` from a real
broker; `tests/unit/broker/apis/test_produce_kafka.py` has it with Ottla. An answer is
[error, base offset, log append time, log start offset] of each partition, by topic and index, or
its error alone: in which order they come is told by nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import ProduceRequest, TopicProduceData
from protocol.record_batch import HEADER_SIZE
from protocol.records import Record, write_varint
from tests.batches import build_batch
from tests.golden.produce_conversation import (
    CLOSED,
    NOW_MS,
    Batch,
    Call,
    Conversation,
    batch,
    damaged,
    partition_data,
    with_attributes,
)
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "produce_answers_kafka.json"
ADMIN = "__admin_client"
INTERNAL = ("__consumer_offsets", "__transaction_state")
UNUSED, ADMINS = 3, 4  # partitions of those where no coordinator writes meanwhile


def _to_internal_topics(talk: Conversation) -> None:
    """Only `__admin_client` may; what is no batch is said to be none first."""
    for kind, key in enumerate(("group", "transaction")):
        talk.until_good(FindCoordinatorRequest(key, kind), 3)
    talk.create("plain")
    for topic in INTERNAL:
        ask = partial(_one, talk, topic)
        for version in (3, 7, 8, 9, 12, 13):
            for acks in (-1, 0, 1):
                ask(f"v{version} acks {acks}", batch(), version=version, acks=acks)
        for client_id in (None, "", "admin", ADMIN + "-1", ADMIN.upper()):
            ask(f"by {client_id!r}", batch(), client_id=client_id)
        ask("sixty bytes", batch()[:60])
        ask("two batches", batch() + batch())
        ask("no bytes", b"")
        ask("a wrong checksum", damaged())
        ask("no key", batch(key=None))
        ask("acks 2", batch(), acks=2)
        ask("a partition that is not there", batch(), index=77)
        talk.produce(
            f"{topic} beside another", ("plain", [(0, batch())]), (topic, [(UNUSED, batch())])
        )
        for version in (11, 12):
            name = f"{topic}-{version}"
            made = talk.until_good(InitProducerIdRequest(name, 60_000), 4)
            options = {
                "producer_id": made.producer_id,
                "producer_epoch": made.producer_epoch,
                "base_sequence": 0,
            }
            ask(f"idempotent v{version}", batch(**options), version=version)
            ask(
                f"transactional v{version}",
                batch(**options, is_transactional=True),
                version=version,
                transactional_id=name,
            )
        talk.keep(f"{topic}: its end after all this", talk.end(topic, UNUSED))
        for acks in (-1, 1):
            ask(f"by its admin, acks {acks}", batch(), index=ADMINS, acks=acks, client_id=ADMIN)
        ask("no key, by its admin", batch(key=None), index=ADMINS, client_id=ADMIN)
        ask("by me after its admin", batch(), index=ADMINS)
        talk.keep(f"{topic}: what its admin wrote", talk.end(topic, ADMINS))
    for topic in ("__cluster_metadata", "__share_group_state"):
        _one(talk, topic, "", batch())


MARKERS: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "of the producer id -1": ((-1, 0, 0, 0),),
    "of the epoch -1": ((5, -1, 0, 0),),
    "of no producer": ((-1, -1, 0, 2),),
    "of the transaction version -1": ((6, 0, 0, -1),),
    "of the producer id -2": ((-2, 0, 0, 0),),
    "of the epoch -2": ((7, -2, 0, 0),),
    "of the coordinator epoch -1": ((8, 0, -1, 0),),
    "of the coordinator epoch -2": ((9, 0, -2, 0),),
    "of the transaction version -2": ((10, 0, 0, -2),),
    "of a transaction version to come": ((11, 0, 0, 127),),
    "beside one of a version that is none": ((14, 0, 0, 0), (15, 0, 0, -1), (16, 0, 0, 0)),
    "twice": ((17, 0, 0, 0), (17, 0, 0, 0)),
    "twice, at last an old epoch": ((18, 5, 0, 0), (18, 0, 0, 0)),
    "twice, at first an old epoch": ((18, 0, 0, 0), (18, 7, 0, 0)),
}
"""(producer id, producer epoch, coordinator epoch, transaction version) of each marker."""


def _markers(talk: Conversation) -> None:
    topic = talk.create("marked")
    for place in (topic, "__consumer_offsets", "__transaction_state", "nowhere"):
        for name, markers in MARKERS.items():
            for version in (1, 2):
                talk.mark(f"marker {name}, in {place}, v{version}", place, markers, version)
    talk.keep("after all markers", talk.end(topic))
    beside = (12, 0, 0, 0), (-1, 0, 0, 0), (13, 0, 0, 0)
    talk.mark("markers beside one of no producer", topic, beside, 2)


def _refused_by_logs(talk: Conversation) -> None:
    """Which refusals tell where the log starts; damaged bytes are `damaged_batches`' cases."""
    plain = partial(_one, talk, talk.create("refusing"), index=0)
    plain("its first", _of_producer(0, 1, NOW_MS, epoch=3))
    plain("a gap in the sequence", _of_producer(7, 1, NOW_MS, epoch=3))
    plain("an old epoch", _of_producer(1, 1, NOW_MS, epoch=2))
    plain("a new epoch that begins late", _of_producer(1, 1, NOW_MS, epoch=4))
    plain("a time to come", _of_producer(1, 1, NOW_MS * 3, epoch=3))
    plain("a time to come, v3", _of_producer(1, 1, NOW_MS * 3, epoch=3), version=3)
    plain("a wrong checksum", damaged())
    plain("a wrong checksum, v5", damaged(), version=5)
    large = build_batch([Record(-1, NOW_MS, b"k", bytes(1_100_000))])
    for topic, configs in {
        "small": {"max_message_bytes": "1000"},
        "short": {"max_message_bytes": "3000000", "segment_bytes": "1048576"},
    }.items():
        _one(talk, talk.create(topic, **configs), "too large", large, index=0)
    compacted = partial(_one, talk, talk.create("compacted", cleanup_policy="compact"), index=0)
    compacted("no key", batch(key=None))


def _wrong_acks(talk: Conversation) -> None:
    """Of more than one thing that is wrong."""
    topic = talk.create("acks", 3)
    own = {"producer_id": 3, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    for acks in (2, -2, 32_767):
        sent = [(0, batch()), (1, batch()[:20]), (2, damaged()), (9, batch()), (8, b"")]
        talk.produce(f"acks {acks}", (topic, sent), ("nowhere", [(0, batch())]), acks=acks)
    talk.produce("acks 2 in a transaction", (topic, [(0, batch())]), acks=2, transactional_id="a")
    talk.produce("acks 2 of a transaction", (topic, [(0, batch(**own))]), acks=2)
    zstd = batch(compression=4)
    talk.produce("acks 2, zstd in v6", (topic, [(0, zstd)]), version=6, acks=2)
    talk.keep("after wrong acks", talk.end(topic))


def _named_twice(talk: Conversation) -> None:
    """Each batch has its own count of records, so that the ends tell which were written."""
    topic, other = talk.create("twice", 3), talk.create("once")

    def ask(name: str, *topics: tuple[str, Sequence[tuple[int, Batch]]], **options: Any) -> None:
        talk.produce(f"twice: {name}", *topics, **options)
        talk.keep(f"twice: the end after {name}", talk.end(topic))

    for version in (3, 9, 12, 13):
        ask(f"in a topic, v{version}", (topic, [(0, batch(1)), (0, batch(2))]), version=version)
        twice = (topic, [(0, batch(3))]), (topic, [(0, batch(4))])
        ask(f"in two, v{version}", *twice, version=version)
    ask("thrice", (topic, [(0, batch(5)), (1, batch()), (0, batch(6)), (0, batch(7))]), acks=-1)
    ask("the first is damaged", (topic, [(0, damaged()), (0, batch(8))]))
    ask("the first is damaged, acks 0", (topic, [(0, batch(8)), (0, damaged())]), acks=0)
    ask("the last is damaged", (topic, [(0, batch(9)), (0, damaged())]))
    ask("no batch, then one", (topic, [(0, b""), (0, batch(10))]))
    ask(
        "a topic in two parts",
        (topic, [(1, batch())]),
        (other, [(0, batch())]),
        (topic, [(2, batch())]),
    )
    ask("what is not there", (topic, [(7, batch()), (7, batch())]), ("nowhere", [(0, batch())] * 2))
    ask("a topic without partitions", (topic, []), (other, [(0, batch())]))
    ask("nothing", (topic, []))


def _attributes(talk: Conversation) -> None:
    """Which of a batch's sixteen bits are kept."""
    for topic in (
        talk.create("bits-by-producer"),
        talk.create("bits-by-broker", message_timestamp_type="LogAppendTime"),
        talk.create("bits-packed", message_timestamp_type="LogAppendTime", compression_type="gzip"),
        talk.create("bits-unpacked", compression_type="uncompressed"),
    ):
        found = []
        for codec in (0, 1):
            for bits in (0, 0x08, 0x40, 0x80, 0x4000, 0x8000, 0xFF80, 0x88):
                one = with_attributes(codec | bits, codec)
                request = [TopicProduceData(topic, partition_data=[partition_data(0, one)])]
                answer = talk.call(ProduceRequest(None, 1, 5_000, request), 12)
                error = answer.responses[0].partition_responses[0].error_code
                found.append(
                    f"{codec | bits:#x}: error {error}"
                    if error
                    else f"{codec | bits:#x}: {talk.last_attributes(topic):#x}"
                )
        talk.keep(topic, found)


def _duplicates(talk: Conversation) -> None:
    for topic in (
        talk.create("by-producers-time"),
        talk.create("by-brokers-time", message_timestamp_type="LogAppendTime"),
    ):
        ask = partial(_one, talk, topic, index=0)
        for sequence in range(3):
            ask(f"batch {sequence}", _of_producer(2 * sequence, 2, NOW_MS - 10 * sequence))
        for version in (3, 7, 12):
            for acks in (-1, 1):
                again = _of_producer(2, 2, NOW_MS - 10)
                ask(f"batch 1 again v{version} acks {acks}", again, version=version, acks=acks)
        ask("batch 1 with other times", _of_producer(2, 2, NOW_MS - 500))
        talk.keep(f"{topic}: its end after duplicates", talk.end(topic))


def _large_records(talk: Conversation) -> None:
    """Around `max.decompressed.message.bytes`, which counts single records, without their length,
    of compressed batches."""
    limit = {"max_decompressed_message_bytes": "1000"}
    ask = partial(_one, talk, talk.create("sizes", **limit), index=0)
    for codec in range(5):
        for size in (999, 1000, 1001):
            ask(f"codec {codec}, {size} bytes", _of_sizes(size, compression=codec))
        ask(f"codec {codec}, two of 600", _of_sizes(600, 600, compression=codec))
        ask(f"codec {codec}, large at last", _of_sizes(600, 1001, compression=codec))
    for codec in ("gzip", "uncompressed", "zstd"):
        ask = partial(
            _one, talk, talk.create(f"sizes-{codec}", compression_type=codec, **limit), index=0
        )
        for own in (0, 1, 4):
            for size in (1000, 1001):
                ask(f"from {own}, {size} bytes", _of_sizes(size, compression=own))
    keyed = partial(
        _one, talk, talk.create("sizes-keyed", cleanup_policy="compact", **limit), index=0
    )
    keyless = Record(-1, NOW_MS, None, b"v")
    for records in ((keyless, _of_size(1001)), (_of_size(1001), keyless), (_of_size(1001),)):
        name = ", ".join("large" if record.key else "keyless" for record in records)
        keyed(name, build_batch(list(records), compression=1))
        keyed(f"{name}, not compressed", build_batch(list(records)))
    _looked_up(talk)


def _looked_up(talk: Conversation) -> None:
    """Look-ups by time, after the limit has sunk below a record."""
    for codec in (0, 2):
        topic = talk.create(f"sizes-by-time-{codec}")
        ask = partial(_one, talk, topic, index=0)
        ask("first", _of_sizes(100, 1001, 100, compression=codec))
        ask("second", _of_sizes(100, compression=codec, start=3))
        for limit in ("1001", "1000"):
            talk.alter(topic, max_decompressed_message_bytes=limit)
            for after in range(5):
                name = f"{topic}: {limit}, {after} ms later"
                talk.keep(name, talk.offset_at(topic, NOW_MS + after))
            talk.keep(f"{topic}: {limit}, the latest", talk.offset_at(topic, -3))
        ask("third", _of_sizes(100, 100, 1001, compression=codec, start=8))
        ask("fourth", _of_sizes(1001, start=4))
        talk.keep(f"{topic}: the latest at last", talk.offset_at(topic, -3))
    topic = talk.create("sizes-behind")
    build = _of_size(100)._replace(timestamp=NOW_MS + 9), _of_size(1001)
    _one(talk, topic, "behind", build_batch(list(build), compression=3), index=0)
    talk.alter(topic, max_decompressed_message_bytes="1000")
    talk.keep("sizes-behind: the latest", talk.offset_at(topic, -3))
    talk.keep("sizes-behind: the same by its time", talk.offset_at(topic, NOW_MS + 9))


def _of_size(size: int) -> Record:
    """Return a record that takes `size` bytes without its length."""
    for length in range(max(size - 12, 0), size):
        record = Record(-1, NOW_MS, b"k", bytes(length))
        batch_size = len(build_batch([record]))
        if batch_size - HEADER_SIZE - len(_length_of(size)) == size:
            return record
    raise AssertionError(size)


def _length_of(size: int) -> bytearray:
    written = bytearray()
    write_varint(written, size)
    return written


def _of_sizes(*sizes: int, start: int = 0, **options: Any) -> bytearray:
    """Records of these sizes, whose times grow by 1."""
    records = [
        _of_size(size)._replace(timestamp=NOW_MS + start + one) for one, size in enumerate(sizes)
    ]
    return build_batch(records, **options)


def _of_producer(sequence: int, count: int, timestamp: int, epoch: int = 0) -> bytearray:
    """Its times grow by 1 from `timestamp` on."""
    records = [Record(-1, timestamp + one, b"k", b"v") for one in range(count)]
    return build_batch(records, producer_id=77, producer_epoch=epoch, base_sequence=sequence)


def _one(
    talk: Conversation, topic: str, name: str, records: Batch, index: int = UNUSED, **options: Any
) -> None:
    talk.produce(f"{topic} {name}".strip(), (topic, [(index, records)]), **options)


def converse(call: Call, pause: Callable[[], None]) -> dict[str, Any]:
    """The whole conversation."""
    talk = Conversation(call, pause)
    _to_internal_topics(talk)
    _markers(talk)
    _duplicates(talk)
    _refused_by_logs(talk)
    _wrong_acks(talk)
    _named_twice(talk)
    _attributes(talk)
    _large_records(talk)
    return talk.answers


def record() -> None:
    """Ask a real broker."""
    from tests.clients.wire_client import WireClient
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:

        def call(request: Any, version: int, client_id: str | None = "me") -> Any:
            with WireClient(kafka.port, client_id) as wire:
                wire.send(request, version)
                try:
                    return wire.receive()
                except ConnectionError:
                    return CLOSED

        answers = converse(call, lambda: time.sleep(0.05))
    write_json(RECORDED, answers, sort_keys=True)


if __name__ == "__main__":
    record()
