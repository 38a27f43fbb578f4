"""The option `--from`: the offsets at which a new table begins.

Owns the option's forms, which are those of `ottla consume --from` as far as they apply, and the
offsets after `find`: a job that waits for a broker keeps them when it goes on.
"""

from __future__ import annotations

import re
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.errors import PipelineError
from pipeline.tables.progress import Progress
from pipeline.topics import Offsets

FORMS = (
    "earliest, latest, a time (@2h ago, @2026-11-26T08:00Z, @1764144000000 in milliseconds), or "
    "the offsets of partitions (0:100,1:250)"
)
EARLIEST, LATEST = ("earliest", "start", "beginning"), ("latest", "end")
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"(\d{1,9})([smhd])", re.ASCII)
_OFFSETS = re.compile(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(slots=True)
class FirstOffsets:
    """The place that `--from` names. Without a time, offsets and `is_end`, it is the topic's
    start."""

    text: str
    is_end: bool = False
    time_ms: int | None = None
    offsets: Mapping[int, int] = field(default_factory=dict)
    found: dict[int, int] | None = None
    """The offset of each partition, after the call of `find`."""

    def find(
        self,
        topic: str,
        there: Mapping[int, Offsets],
        first_from: Callable[[int], Mapping[int, int]],
    ) -> dict[int, int]:
        """Return the offset at which the table begins in each partition; all calls return the same.

        `first_from` returns the first offset of a time (ms since the epoch) in each partition that
        has one. Raises PipelineError if the topic does not have the offsets.
        """
        if self.found is None:
            self.found = self._find(topic, there, first_from)
        return self.found

    def _find(
        self,
        topic: str,
        there: Mapping[int, Offsets],
        first_from: Callable[[int], Mapping[int, int]],
    ) -> dict[int, int]:
        if self.is_end:
            return {partition: offsets.end for partition, offsets in there.items()}
        if self.time_ms is not None:
            first = first_from(self.time_ms)
            return {
                partition: min(max(first.get(partition, offsets.end), offsets.start), offsets.end)
                for partition, offsets in there.items()
            }
        for partition, offset in self.offsets.items():
            offsets = there.get(partition)
            if offsets is None:
                raise PipelineError(f"--from {self.text}: {topic} has no partition {partition}")
            if not offsets.start <= offset <= offsets.end:
                raise PipelineError(
                    f"--from {self.text}: {topic}-{partition} begins at offset {offsets.start} and "
                    f"ends at {offsets.end}"
                )
        return {
            partition: self.offsets.get(partition, offsets.start)
            for partition, offsets in there.items()
        }

    def refuse_table(self, path: str, progress: Progress) -> None:
        """Raise PipelineError for a table that has begun already."""
        ends = sorted(progress.ends.items())
        places = ",".join(f"{partition}:{end}" for partition, end in ends)
        raise PipelineError(
            f"--from is for a new table, and {path} holds the topic up to {places} (run "
            f"{progress.run}): leave --from out to go on there, or name another --table"
        )


def first_offsets(text: str, now_ms: int | None = None) -> FirstOffsets:
    """Return the place that the option's text names. Raises ArgumentTypeError, for argparse.

    `now_ms` is the time in ms to which an age such as `@2h` is relative, by default the present.
    """
    if text in EARLIEST:
        return FirstOffsets(text)
    if text in LATEST:
        return FirstOffsets(text, is_end=True)
    if _OFFSETS.fullmatch(text):
        pairs = [entry.split(":") for entry in text.split(",")]
        offsets = {int(partition): int(offset) for partition, offset in pairs}
        if len(offsets) < len(pairs):
            raise ArgumentTypeError(f"{text!r} names a partition twice")
        return FirstOffsets(text, offsets=offsets)
    return FirstOffsets(text, time_ms=_time_ms(text, now_ms))


def _time_ms(text: str, now_ms: int | None) -> int:
    """Return the time that the text names, in ms since the epoch."""
    word = text.removeprefix("@")
    is_marked = word != text
    ago = _AGO.fullmatch(word)
    if is_marked and ago is not None:
        now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return max(now_ms - int(ago[1]) * _UNITS_MS[ago[2]], 0)
    if is_marked and _NUMBER.fullmatch(word):
        return int(word)
    try:
        moment = datetime.fromisoformat(word) if "-" in word else None
    except ValueError:
        moment = None
    if moment is None:
        raise ArgumentTypeError(f"{text!r}: give {FORMS}")
    at = moment.replace(tzinfo=moment.tzinfo or UTC)
    return max(int(at.timestamp() * 1000), 0)
