"""What is answered to damaged batches: by Apache Kafka, and by Ottla where that differs."""

from __future__ import annotations

import json

from tests.golden.damaged_batches import ANSWERS

_RECORDED = json.loads(ANSWERS.read_text())
KAFKA = {name: answer["error"] for name, answer in _RECORDED.items()}
KAFKAS_START = {name: answer.get("start") for name, answer in _RECORDED.items()}
# On purpose: a batch goes into the log by its header; its records' bytes are the consumer's.
RECORDS_ARE_NOT_DECODED = [
    "codec gzip over plain records",
    "base timestamp far ahead",
    "record length too small",
    "record length too large",
    "record length negative",
    "record varint endless",
    "record key length -2",
    "record key length too large",
    "gzip damaged",
    "lz4 damaged",
    "zstd damaged",
    "snappy damaged",
]
# Answered by the Produce API, before a log is asked.
REFUSED_EARLIER = ["null records", "transactional without producer", "zstd in produce 6"]
DIFFERENT = {
    # Kafka decodes and computes it anew; unread, it is held to message.timestamp.after.max.ms.
    "max timestamp far ahead": "INVALID_TIMESTAMP",
    # Kafka runs into exceptions of its own here.
    "codec 5": "UNSUPPORTED_COMPRESSION_TYPE",
    "codec 7": "UNSUPPORTED_COMPRESSION_TYPE",
    "batch length 2^31-1": "INVALID_RECORD",
}


def expected(name: str) -> str:
    if name in RECORDS_ARE_NOT_DECODED:
        return "NONE"
    return DIFFERENT.get(name, str(KAFKA[name]))
