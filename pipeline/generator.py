"""The records of a telecom operator, made from a seed: the same spec gives the same bytes.

Owns the form of a record, the population (subscribers with a home cell, cells of which some are
bad at their worst hour), the rhythm of a day, and the faults: late, repeated and malformed
records. Plain Python in one pass, so that the sums can be computed a second time without Spark
(`pipeline.auditing.expected`). Never sends a record: `pipeline.jobs.generate` does.

Records come in the order of their arrival. `timestamp_ms` is when a record arrived, `event_time_ms`
when its event happened; the difference is the event-time lag.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from pipeline.reasons import (
    BAD_DURATION,
    BAD_TIME,
    FUTURE,
    NO_CELL,
    NO_EVENT_ID,
    NOT_JSON,
    TOO_LATE,
    UNKNOWN_KIND,
)

HOUR_MS = 3_600_000
HOURS = 24
# Monday 2026-03-02 00:00 UTC.
DEFAULT_START_MS = 1_772_409_600_000

CALL, DATA, HANDOVER = "call", "data", "handover"
KINDS = (CALL, DATA, HANDOVER)

# The weight of each hour of a day: quiet before dawn, a noon and an evening peak.
RHYTHM = (3, 2, 1, 1, 1, 2, 4, 7, 10, 11, 11, 12, 13, 12, 11, 11, 12, 14, 16, 17, 15, 12, 8, 5)

# The reasons for which malformed records must be rejected by the stream job.
MISCHIEF = (
    NOT_JSON,
    NO_EVENT_ID,
    NO_CELL,
    UNKNOWN_KIND,
    BAD_DURATION,
    BAD_TIME,
    FUTURE,
    TOO_LATE,
)

_REPEATED_WITHIN = 400
_WORST_HOUR = 19


@dataclass(frozen=True, slots=True)
class GeneratorSpec:
    """Everything on which the records depend. Shares are between 0 and 1.

    Raises ValueError if a share or a number does not fit.
    """

    seed: int = 1
    events: int = 200_000
    """The number of all records, repeated and malformed records too."""
    start_ms: int = DEFAULT_START_MS
    hours: int = HOURS
    """The hours of the operator's clock from the first record to the last."""
    subscribers: int = 2_000
    cells: int = 60
    late_share: float = 0.02
    late_max_s: int = 600
    duplicate_share: float = 0.01
    malformed_share: float = 0.005

    def __post_init__(self) -> None:
        shares = (self.late_share, self.duplicate_share, self.malformed_share)
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError("shares must lie between 0 and 1, and together not above 1")
        if min(self.events, self.hours, self.subscribers, self.cells) < 1:
            raise ValueError("events, hours, subscribers and cells must be 1 or more")


@dataclass(frozen=True, slots=True)
class Usage:
    """An event as it happened, before its record gets a fault."""

    event_id: str
    kind: str
    event_time_ms: int
    subscriber: str
    cell: str
    duration_s: int
    dropped: bool
    bytes: int

    def json(self) -> str:
        """Return the value of the event's record."""
        return (
            f'{{"event_id":"{self.event_id}","kind":"{self.kind}",'
            f'"event_time":"{iso(self.event_time_ms)}","subscriber":"{self.subscriber}",'
            f'"cell":"{self.cell}","duration_s":{self.duration_s},'
            f'"dropped":{"true" if self.dropped else "false"},"bytes":{self.bytes}}}'
        )


@dataclass(frozen=True, slots=True)
class Generated:
    """A record of the topic, and the event and the faults behind it."""

    key: bytes
    value: bytes
    timestamp_ms: int
    usage: Usage
    malformed: str | None
    """The reason for which the record must be rejected; None for a good record."""
    repeated: bool
    """Whether an earlier record has the same event."""


def iso(time_ms: int) -> str:
    """Return a time in ms since 1970 as `2026-03-02T10:00:00.123Z`, faster than `datetime` does."""
    days, in_day = divmod(time_ms, HOUR_MS * HOURS)
    if days not in _DATES:
        _DATES[days] = _date(days)
    seconds, ms = divmod(in_day, 1000)
    return f"{_DATES[days]}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}Z"


_DATES: dict[int, str] = {}


def _date(days_since_1970: int) -> str:
    """Return the date of a day, by Howard Hinnant's algorithm for the Gregorian calendar."""
    shifted = days_since_1970 + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return f"{year:04}-{month:02}-{day:02}"


def arrival_times(spec: GeneratorSpec) -> Iterator[int]:
    """Yield the time of arrival of each record, in ms since 1970: rising, dense in busy hours."""
    first_hour = spec.start_ms // HOUR_MS
    weights = [RHYTHM[(first_hour + hour) % HOURS] for hour in range(spec.hours)]
    ends = list(accumulate(weights))
    total = ends[-1]
    for number in range(spec.events):
        # In whole numbers: the same on every machine.
        position = (2 * number + 1) * total
        hour = bisect_right(ends, position // (2 * spec.events))
        into = position - (ends[hour] - weights[hour]) * 2 * spec.events
        fraction_ms = into * HOUR_MS // (weights[hour] * 2 * spec.events)
        yield spec.start_ms + hour * HOUR_MS + fraction_ms


def generated(spec: GeneratorSpec) -> Iterator[Generated]:
    """Yield all records of a spec, in the order of their arrival."""
    # Reproducible by design, so not a source of secrets.
    chance = random.Random(f"ottla-cdr-{spec.seed}")  # noqa: S311
    network = _Network(spec, chance)
    recent: deque[Usage] = deque(maxlen=_REPEATED_WITHIN)
    duplicate_below = spec.malformed_share + spec.duplicate_share
    late_below = duplicate_below + spec.late_share
    for number, arrival_ms in enumerate(arrival_times(spec)):
        drawn = chance.random()
        # An event is not repeated so late that it would be rejected for its age.
        while recent and arrival_ms - recent[0].event_time_ms > spec.late_max_s * 1000:
            recent.popleft()
        if spec.malformed_share <= drawn < duplicate_below and recent:
            usage = recent[chance.randrange(len(recent))]
            value = usage.json().encode()
            yield Generated(usage.subscriber.encode(), value, arrival_ms, usage, None, True)
            continue
        late = duplicate_below <= drawn < late_below
        delay_ms = chance.randrange(5_000, spec.late_max_s * 1000 + 5_001) if late else 0
        usage = network.usage(number, arrival_ms - delay_ms - chance.randrange(50, 3_000))
        reason = None
        text = usage.json()
        if drawn < spec.malformed_share:
            reason = MISCHIEF[chance.randrange(len(MISCHIEF))]
            text = _spoilt(text, reason, arrival_ms)
        elif not late:
            recent.append(usage)
        yield Generated(usage.subscriber.encode(), text.encode(), arrival_ms, usage, reason, False)


class _Network:
    """The subscribers and cells of the operator, and their next events."""

    def __init__(self, spec: GeneratorSpec, chance: random.Random) -> None:
        self._spec = spec
        self._chance = chance
        self._home = [chance.randrange(spec.cells) for _ in range(spec.subscribers)]
        # One cell in ten loses calls, most of all in its worst hours.
        self._bad = [chance.random() < 0.1 for _ in range(spec.cells)]

    def usage(self, number: int, event_time_ms: int) -> Usage:
        """Return event `number`, of a random subscriber, mostly in the subscriber's home cell."""
        chance, spec = self._chance, self._spec
        # The square favours the low numbers: a few subscribers talk a lot.
        subscriber = int(spec.subscribers * chance.random() ** 2)
        cell = self._home[subscriber] if chance.random() < 0.7 else chance.randrange(spec.cells)
        drawn = chance.random()
        kind = CALL if drawn < 0.5 else DATA if drawn < 0.9 else HANDOVER
        duration_s = volume = 0
        dropped = False
        if kind == CALL:
            duration_s = 1 + int(chance.expovariate(1 / 90))
            dropped = chance.random() < self._drop_share(cell, event_time_ms)
        elif kind == DATA:
            volume = 1_000 + int(chance.expovariate(1 / 400_000))
        return Usage(
            event_id=f"{spec.seed}-{number:010}",
            kind=kind,
            event_time_ms=event_time_ms,
            subscriber=f"S{subscriber:07}",
            cell=f"C{cell:04}",
            duration_s=duration_s,
            dropped=dropped,
            bytes=volume,
        )

    def _drop_share(self, cell: int, event_time_ms: int) -> float:
        if not self._bad[cell]:
            return 0.015
        hour = event_time_ms // HOUR_MS % HOURS
        return 0.25 if abs(hour - _WORST_HOUR) <= 1 else 0.06


def _spoilt(text: str, reason: str, arrival_ms: int) -> str:
    """Return the record `text` with the fault that `reason` names."""
    if reason == NOT_JSON:
        return text[: len(text) // 2]
    fields = json.loads(text)
    if reason == NO_EVENT_ID:
        del fields["event_id"]
    elif reason == NO_CELL:
        fields["cell"] = None
    elif reason == UNKNOWN_KIND:
        fields["kind"] = "telegram"
    elif reason == BAD_DURATION:
        fields["duration_s"] = "long"
    elif reason == BAD_TIME:
        fields["event_time"] = "yesterday"
    elif reason == FUTURE:
        fields["event_time"] = iso(arrival_ms + 30 * HOURS * HOUR_MS)
    else:
        assert reason == TOO_LATE, reason
        fields["event_time"] = iso(arrival_ms - 6 * HOUR_MS)
    return json.dumps(fields, separators=(",", ":"))
