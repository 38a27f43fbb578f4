"""Differences that are faults and not mended yet: looked over, counted, and no row.

Each is a pattern of a finding's signature (`API place Kafka's-value Ottla's-value`). It goes away
with the fault.
"""

from __future__ import annotations

import re

GOES_ON = ("aborted", "authorized", "text", "log start", "timestamp", "without a name", "echo")
"""Those after which both brokers have the same state; after the others a sequence ends."""
OPEN = (
    (r"FETCH .*aborted_transactions", "aborted transactions of partitions with an error"),
    (r"FETCH .*session_id <session", "a session of no partitions"),
    (r"PRODUCE .*log_start_offset -1 0", "the log start of a refused batch"),
    (r"PRODUCE .*log_append_time_ms \d+ -1", "the timestamp of a duplicate"),
    (r"PRODUCE .*list of", "a partition twice"),
    (r"PRODUCE \S+ 47 49", "which of two wrongs is told"),
    (r"PRODUCE \S+ 3 21", "acks 2 on an unknown topic"),
    (r"PRODUCE \S+base_offset", "a partition twice"),
    (r"PRODUCE the answer|PRODUCE  no answer", "null records"),
    (r"(FETCH|LIST_OFFSETS) .*-1 0", "isolation levels that are none"),
    (r"FETCH responses", "small limits"),
    (r"LIST_OFFSETS ", "isolation levels, epochs below -1"),
    (r"FETCH ", "sessions"),
)


def open_fault_of(signature: tuple[str, ...]) -> str | None:
    """The fault that this finding is, by its text."""
    joined = " ".join(signature)
    return next((text for pattern, text in OPEN if re.search(pattern, joined)), None)


def goes_on_after(text: str) -> bool:
    """Whether the two brokers still have the same state."""
    return any(word in text for word in GOES_ON)
