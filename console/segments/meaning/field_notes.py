"""What each field of a batch's header and of a record is for, in a sentence or two for readers.

Texts alone, by the names of `anatomy`. Sources: KIP-98 (the format), KIP-32 (timestamps), KIP-82
(headers), KIP-101 (leader epochs), KIP-534 (delete horizon), KIP-679 (idempotent by default).
"""

from __future__ import annotations

NOTES = {
    # a batch's header
    "baseOffset": (
        "The offset of the first record. The producer writes 0; the leader puts the real one in "
        "its place when it appends. The CRC does not cover it, so that this costs no new checksum."
    ),
    "batchLength": (
        "How many bytes follow this field. It leads from batch to batch without a look at the "
        "records: that is how a broker scans from an index entry."
    ),
    "partitionLeaderEpoch": (
        "The epoch of the leader that appended the batch. After a change of leaders, followers "
        "compare epochs to find where their logs part. Not covered by the CRC."
    ),
    "magic": "The version of the format: 2 since Kafka 0.11. It stands at byte 16 in all versions.",
    "crc": (
        "CRC-32C of everything from the attributes to the end of the batch, made by the producer. "
        "Broker and consumer check it, so bytes are the same from end to end."
    ),
    "attributes": "Sixteen bits, of which seven mean something: see each of them.",
    "lastOffsetDelta": (
        "Last offset minus base offset. Compaction takes records away and leaves it as it is, so a "
        "batch still covers all offsets that it had at first."
    ),
    "baseTimestamp": (
        "The timestamp of the first record, which the records' deltas count from. If bit 6 is set, "
        "the delete horizon stands here: when compaction may drop the tombstones of the batch."
    ),
    "maxTimestamp": (
        "The largest timestamp of the records, or the time of the append for LogAppendTime. The "
        "time index and retention by time go by it."
    ),
    "producerId": (
        "Which idempotent producer sent the batch. With epoch and sequence, a broker knows a retry "
        "when it sees one."
    ),
    "producerEpoch": (
        "Rises when a transactional producer starts anew. Batches of an older epoch are refused: "
        "that is how a zombie is fenced off."
    ),
    "baseSequence": (
        "The number of the first record among all that this producer sent to this partition. The "
        "next batch has to follow without a gap."
    ),
    "recordsCount": "How many records the batch holds: after compaction fewer than its offsets.",
    # a record
    "length": "How many bytes of this record follow. As all its numbers it is a varint.",
    "timestampDelta": (
        "Timestamp minus the batch's base timestamp, in ms. Records of one batch lie close "
        "together in time, so a byte or two is enough."
    ),
    "offsetDelta": (
        "Offset minus the batch's base offset. The leader changes one number in the header, and "
        "all records of the batch have their offsets."
    ),
    "keyLength": "Bytes of the key; -1 says that there is none.",
    "key": (
        "Decides the partition, if the producer partitions by key, and what compaction keeps: the "
        "last record of each key. A broker takes no other interest in it."
    ),
    "valueLength": (
        "Bytes of the value; -1 is null. In a compacted topic a record with a key and a null value "
        "is a tombstone: it deletes the key."
    ),
    "value": "What the record is about. To a broker these are bytes and nothing else.",
    "headersCount": "How many headers follow.",
    "headerKeyLength": "Bytes of the header's key. A header always has one.",
    "headerKey": "The header's name, in UTF-8. The same name may come more than once.",
    "headerValueLength": "Bytes of the header's value; -1 is null.",
    "headerValue": "What the header says: bytes, like a value.",
    "headers": "Headers that are not taken apart here, since there are so many.",
    # bits of a batch's attributes
    "compression": "How everything behind the header is packed: all records of the batch together.",
    "timestampType": "Who set the timestamps: the producer, or the broker when it appended.",
    "isTransactional": (
        "The batch is part of a transaction. A consumer that reads committed records waits for the "
        "marker that ends it."
    ),
    "isControl": (
        "A batch that brokers wrote for each other, such as the marker of a commit. Consumers skip "
        "it, and it takes an offset all the same."
    ),
    "hasDeleteHorizon": (
        "Compaction has seen tombstones or markers in the batch, and the base timestamp now says "
        "until when they stay."
    ),
    "unused": "No meaning yet.",
}

RECORD_ATTRIBUTES = "Eight bits that nobody uses yet."


def note_on(name: str, type_name: str) -> str:
    """The text for a field of `anatomy`, by its name and type."""
    return RECORD_ATTRIBUTES if (name, type_name) == ("attributes", "int8") else NOTES[name]


VARINT = (
    "A varint takes 7 bits of each byte, the lowest first; the eighth says that more follows. "
    "Zigzag makes small negative numbers short: 0, -1, 1, -2 are written 0, 1, 2, 3."
)
