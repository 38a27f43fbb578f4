"""The turns of Ottla's loop, by the histogram of its `/metrics`: the CPU time of the longest."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.error import HTTPError
from urllib.request import urlopen

GOAL_S = 0.010
"""A bound of the histogram."""
TIMEOUT_S = 30.0
_LOOP = "kafka_server_event_loop"
_BUCKET = re.compile(_LOOP + r'_turn_cpu_seconds_bucket\{le="([^"]+)"\} (\S+)')
_LONGEST = re.compile(rf"^{_LOOP}_longest_turn_cpu_seconds (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turns:
    """What a node tells of them.

    `counts`  by upper bound, seconds: how many took at most so long, since the start
    `lately`  seconds of the longest one of the last minute or two; None where it does not tell
    """

    counts: Mapping[float, float] = field(default_factory=dict)
    lately: float | None = None


def turns_of(port: int | None) -> Turns:
    """Now; nothing where the peer has no such metric. HTTPError where it does not tell in time."""
    if port is None:
        return Turns()
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with urlopen(f"http://localhost:{port}/metrics", timeout=TIMEOUT_S) as answer:
                return parsed(answer.read().decode())
        except HTTPError:  # its loop has no time for it now
            if time.monotonic() > deadline:
                raise


def parsed(text: str) -> Turns:
    """What the text format says of them."""
    counts = {float(bound): float(count) for bound, count in _BUCKET.findall(text)}
    lately = _LONGEST.search(text)
    return Turns(counts, float(lately[1]) if lately else None)


def longest(before: Turns, after: Turns) -> float | None:
    """Seconds that no turn in between went beyond; None where none was counted.

    The bound of the histogram, or less where no turn lately was so long. Infinite where one went
    beyond the last bound and nothing more is known.
    """
    counted = _between(before, after)
    most = max(counted.values(), default=0.0)
    if not most:
        return None
    bound = min(bound for bound, count in counted.items() if count == most)
    return bound if after.lately is None else min(bound, after.lately)


def beyond(before: Turns, after: Turns, bound_s: float = GOAL_S) -> float | None:
    """How many turns took longer than a bound of the histogram; None where there is no such."""
    counted = _between(before, after)
    if bound_s not in counted:
        return None
    return max(counted.values()) - counted[bound_s]


def _between(before: Turns, after: Turns) -> Mapping[float, float]:
    return {bound: count - before.counts.get(bound, 0.0) for bound, count in after.counts.items()}
