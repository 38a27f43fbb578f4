"""The purpose of each field of a batch's header and of a record, in sentences for the page.

The texts are by the names of `anatomy`. Sources: KIP-98 (the format), KIP-32 (timestamps), KIP-82
(headers), KIP-101 (leader epochs), KIP-534 (delete horizon), KIP-679 (idempotent by default).
"""

from __future__ import annotations

NOTES = {
    # a batch's header
    "baseOffset": (
        "The offset of the first record. The producer writes 0, and the leader replaces it by the "
        "real offset. The CRC does not cover this field, so the leader computes no new checksum."
    ),
    "batchLength": (
        "The number of bytes after this field. With it, a broker scans from batch to batch without "
        "reading the records."
    ),
    "partitionLeaderEpoch": (
        "The epoch of the leader that appended the batch. After a change of leaders, followers "
        "compare epochs to find where the logs diverge. The CRC does not cover this field."
    ),
    "magic": "The version of the format: 2 since Kafka 0.11. It is byte 16 in all versions.",
    "crc": (
        "The CRC-32C of all bytes from the attributes to the end of the batch. The producer "
        "computes it, and the broker and the consumer check it."
    ),
    "attributes": "Sixteen bits, of which seven have a meaning. Each is explained below.",
    "lastOffsetDelta": (
        "The last offset minus the base offset. Compaction removes records but does not change "
        "this field, so a batch keeps covering its original offsets."
    ),
    "baseTimestamp": (
        "The timestamp of the first record, to which the records' deltas are relative. If bit 6 is "
        "set, it is the delete horizon: the time after which compaction removes the tombstones."
    ),
    "maxTimestamp": (
        "The largest timestamp of the records, or the time of the append for LogAppendTime. The "
        "time index and the retention by time use it."
    ),
    "producerId": (
        "The id of the idempotent producer that sent the batch. By id, epoch and sequence a broker "
        "recognizes a retry."
    ),
    "producerEpoch": (
        "Rises when a transactional producer restarts. Brokers reject batches of an older epoch, "
        "which fences zombie producers."
    ),
    "baseSequence": (
        "The sequence number of the first record. A producer numbers the records that it sends to "
        "this partition, and the next batch must follow without a gap."
    ),
    "recordsCount": "The number of records in the batch: after compaction, fewer than its offsets.",
    # a record
    "length": "The number of bytes in the rest of the record, as a varint like its other numbers.",
    "timestampDelta": (
        "The timestamp minus the batch's base timestamp, in ms. The records of a batch are close "
        "in time, so one or two bytes are enough."
    ),
    "offsetDelta": (
        "The offset minus the batch's base offset. So the leader assigns the offsets of all "
        "records by changing the base offset."
    ),
    "keyLength": "The number of bytes in the key; -1 means null.",
    "key": (
        "The key decides the partition if the producer partitions by key. Compaction keeps the "
        "last record of each key. A broker does not use the key for anything else."
    ),
    "valueLength": (
        "The number of bytes in the value; -1 means null. In a compacted topic, a record with a "
        "key and a null value is a tombstone: it deletes the key."
    ),
    "value": "The content of the record. A broker does not interpret these bytes.",
    "headersCount": "The number of headers.",
    "headerKeyLength": "The number of bytes in the header's key, which is never null.",
    "headerKey": "The header's key, in UTF-8. A record may have several headers with one key.",
    "headerValueLength": "The number of bytes in the header's value; -1 means null.",
    "headerValue": "The header's value. A broker does not interpret these bytes.",
    "headers": "The remaining headers, which are too many to show one by one.",
    # bits of a batch's attributes
    "compression": "The codec that compresses all records of the batch together.",
    "timestampType": "CreateTime: the producer sets the timestamps. LogAppendTime: the broker.",
    "isTransactional": (
        "The batch is part of a transaction. A consumer with isolation.level=read_committed gets "
        "it only after the transaction commits."
    ),
    "isControl": (
        "A batch that brokers wrote, such as a commit marker. It has an offset, but consumers skip "
        "it."
    ),
    "hasDeleteHorizon": (
        "Compaction has found tombstones or markers in the batch. The base timestamp is the time "
        "until which they stay."
    ),
    "unused": "Unused bits.",
}

RECORD_ATTRIBUTES = "Eight unused bits."


def note_on(name: str, type_name: str) -> str:
    """Return the text for a field or some bits of `anatomy`, by name and type."""
    return RECORD_ATTRIBUTES if (name, type_name) == ("attributes", "int8") else NOTES[name]


VARINT = (
    "A varint uses 7 bits of each byte, the lowest first. The eighth bit says that more bytes "
    "follow. Zigzag makes small negative numbers short: 0, -1, 1, -2 are written 0, 1, 2, 3."
)
