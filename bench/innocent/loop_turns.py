"""The CPU time of the longest turns of Ottla's loop, by the histogram of its `/metrics`."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.error import HTTPError
from urllib.request import urlopen

GOAL_S = 0.010
"""The longest turn that is allowed; a bound of the histogram."""
TIMEOUT_S = 30.0
_LOOP = "kafka_server_event_loop"
_BUCKET = re.compile(_LOOP + r'_turn_cpu_seconds_bucket\{le="([^"]+)"\} (\S+)')
_LONGEST = re.compile(rf"^{_LOOP}_longest_turn_cpu_seconds (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TurnDurations:
    """The turns of a node's loop.

    `counts`  the number of turns since the start, by upper bound in seconds
    `lately`  seconds of the longest turn in the last minute or two; None if there is no metric
    """

    counts: Mapping[float, float] = field(default_factory=dict)
    lately: float | None = None


def turns_of(port: int | None) -> TurnDurations:
    """Return the turns until now; none if the peer has no such metric.

    Raises HTTPError if the node does not answer in time.
    """
    if port is None:
        return TurnDurations()
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with urlopen(f"http://localhost:{port}/metrics", timeout=TIMEOUT_S) as answer:
                return parsed(answer.read().decode())
        except HTTPError:  # its loop is busy
            if time.monotonic() > deadline:
                raise


def parsed(text: str) -> TurnDurations:
    """Return the turns in a text of the Prometheus format."""
    counts = {float(bound): float(count) for bound, count in _BUCKET.findall(text)}
    lately = _LONGEST.search(text)
    return TurnDurations(counts, float(lately[1]) if lately else None)


def longest(before: TurnDurations, after: TurnDurations) -> float | None:
    """Return an upper bound in seconds of the turns between; None if none was counted.

    That is the bound of the histogram, or less if no recent turn was so long. It is infinite if a
    turn exceeded the last bound and there is no other metric.
    """
    counted = _between(before, after)
    most = max(counted.values(), default=0.0)
    if not most:
        return None
    bound = min(bound for bound, count in counted.items() if count == most)
    return bound if after.lately is None else min(bound, after.lately)


def beyond(before: TurnDurations, after: TurnDurations, bound_s: float = GOAL_S) -> float | None:
    """Return how many turns exceeded a bound of the histogram; None if it has no such bound."""
    counted = _between(before, after)
    if bound_s not in counted:
        return None
    return max(counted.values()) - counted[bound_s]


def _between(before: TurnDurations, after: TurnDurations) -> Mapping[float, float]:
    return {bound: count - before.counts.get(bound, 0.0) for bound, count in after.counts.items()}
