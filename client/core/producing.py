"""Records on their way into a log: batches of them, and the request that takes one to its leader.

Follows KIP-98 (idempotent producers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from client.core.leaders import Partition
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.primitives import Records
from protocol.records import Headers, RecordBatchBuilder

NAMES_VERSION_MAX = 12
"""The last version that names topics instead of numbering them."""
ACKS_OF_ALL = -1

_RECORD_OVERHEAD_BYTES = 24
"""A record's numbers, at most, without its headers."""
_HEADER_OVERHEAD_BYTES = 10


class Producer(NamedTuple):
    """The identity of a batch's producer, and the sequence number of its first record."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


class NewRecord(NamedTuple):
    """A record that is to be written; the time may be left to who writes it."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> NewRecord:
        """From plain values; what is left out is null, or none."""
        headers = tuple((name, value) for name, value in fields.get("headers") or ())
        return cls(fields.get("key"), fields.get("value"), headers, fields.get("timestamp"))

    def time_ms(self, now_ms: int) -> int:
        """When it was made."""
        return now_ms if self.timestamp is None else self.timestamp

    @property
    def size_max(self) -> int:
        """Return the largest size that the record can take in a batch, in bytes."""
        headers = sum(
            len(name.encode("utf-8", "surrogateescape"))
            + len(value or b"")
            + _HEADER_OVERHEAD_BYTES
            for name, value in self.headers
        )
        return _RECORD_OVERHEAD_BYTES + len(self.key or b"") + len(self.value or b"") + headers


def in_batches(records: Sequence[NewRecord], bytes_max: int) -> Iterator[Sequence[NewRecord]]:
    """Split records into batches, in order; a record that is larger gets a batch of its own.

    A new one begins, too, where a time is farther from the batch's first than 64 bits count.
    """
    first, size = 0, 0
    for number, record in enumerate(records):
        more = record.size_max
        apart = (record.timestamp or 0) - (records[first].timestamp or 0)
        is_full = size + more > bytes_max or abs(apart) >= 1 << 63
        if number > first and is_full:
            yield records[first:number]
            first, size = number, 0
        size += more
    if records:
        yield records[first:]


def batch_of(
    records: Sequence[NewRecord], now_ms: int, codec: int = 0, producer: Producer | None = None
) -> bytearray:
    """A batch, packed by `codec`."""
    who = producer or Producer()
    builder = RecordBatchBuilder(
        compression=codec,
        producer_id=who.producer_id,
        producer_epoch=who.epoch,
        base_sequence=who.sequence,
    )
    for one in records:
        builder.append(one.key, one.value, one.time_ms(now_ms), one.headers)
    return builder.build()


def produce_request(place: Partition, batch: Records, acks: int, timeout_ms: int) -> ProduceRequest:
    """One batch into one partition."""
    data = [PartitionProduceData(place[1], batch)]
    return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(place[0], partition_data=data)])
