"""Differences that are faults and not mended yet: looked over, counted, and no row.

Each is a pattern of a finding's signature (`API place Kafka's-value Ottla's-value`). It goes away
with the fault.
"""

from __future__ import annotations

import re

GOES_ON = ("aborted", "authorized", "text", "log start", "timestamp", "without a name", "echo")
"""Those after which both brokers have the same state; after the others a sequence ends."""
OPEN: tuple[tuple[str, str], ...] = ()


def open_fault_of(signature: tuple[str, ...]) -> str | None:
    """The fault that this finding is, by its text."""
    joined = " ".join(signature)
    return next((text for pattern, text in OPEN if re.search(pattern, joined)), None)


def goes_on_after(text: str) -> bool:
    """Whether the two brokers still have the same state."""
    return any(word in text for word in GOES_ON)
