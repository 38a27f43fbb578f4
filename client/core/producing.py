"""New records: their batches, and the Produce request for a batch.

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
"""The last version of Produce that has topic names instead of topic ids."""
ACKS_OF_ALL = -1

_RECORD_OVERHEAD_BYTES = 24
"""The largest size of a record's numbers, without its headers."""
_HEADER_OVERHEAD_BYTES = 10


class Producer(NamedTuple):
    """The identity of a batch's producer, and the sequence number of its first record."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


class NewRecord(NamedTuple):
    """A record to be written; `timestamp` None: the time of writing."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> NewRecord:
        """Return a record from plain values; a key or value that is left out becomes None."""
        headers = tuple((name, value) for name, value in fields.get("headers") or ())
        return cls(fields.get("key"), fields.get("value"), headers, fields.get("timestamp"))

    def time_ms(self, now_ms: int) -> int:
        """Return the record's timestamp, `now_ms` if it has none."""
        return now_ms if self.timestamp is None else self.timestamp

    @property
    def size_max(self) -> int:
        """The largest size that the record can take in a batch, in bytes."""
        headers = sum(
            len(name.encode("utf-8", "surrogateescape"))
            + len(value or b"")
            + _HEADER_OVERHEAD_BYTES
            for name, value in self.headers
        )
        return _RECORD_OVERHEAD_BYTES + len(self.key or b"") + len(self.value or b"") + headers


def in_batches(records: Sequence[NewRecord], bytes_max: int) -> Iterator[Sequence[NewRecord]]:
    """Yield the records in slices, each for a batch of at most `bytes_max`. A larger record gets
    its own batch.

    A new batch begins, too, if a timestamp's delta to the batch's first does not fit in 64 bits.
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
    """Return a record batch with base offset 0, compressed by `codec` (0: none). A record without a
    timestamp gets `now_ms`."""
    identity = producer or Producer()
    builder = RecordBatchBuilder(
        compression=codec,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        base_sequence=identity.sequence,
    )
    for record in records:
        builder.append(record.key, record.value, record.time_ms(now_ms), record.headers)
    return builder.build()


def produce_request(place: Partition, batch: Records, acks: int, timeout_ms: int) -> ProduceRequest:
    """Return a Produce request with one batch for one partition."""
    data = [PartitionProduceData(place[1], batch)]
    return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(place[0], partition_data=data)])
