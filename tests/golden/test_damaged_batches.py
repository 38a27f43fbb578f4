"""What the log's checks say to damaged batches, beside what Apache Kafka 4.3.0 answered to them.

Each difference is on purpose and named here with its reason.
"""

from __future__ import annotations

import json

import pytest

from storage.log.log_append_info import AppendOrigin
from storage.log.log_validator import Refusal, validate
from storage.log_config import LogConfig
from tests.golden.damaged_batches import ANSWERS, CASES, NOW_MS

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


def test_every_case_has_kafkas_answer() -> None:
    assert list(CASES) == list(KAFKA)


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED_EARLIER])
def test_damaged_batch(name: str) -> None:
    _, records = CASES[name]
    assert records is not None
    writable = memoryview(bytearray(records))
    verdict = validate(writable, LogConfig(), AppendOrigin.CLIENT, NOW_MS, "damaged-0")
    assert (verdict.error.name if isinstance(verdict, Refusal) else "NONE") == expected(name)
    names_start = not isinstance(verdict, Refusal) or verdict.names_log_start
    assert names_start is (KAFKAS_START[name] == 0)
