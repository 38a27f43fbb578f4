"""When a job is killed: at any moment of its life, or a moment after it came to some stage.

The second kind is for what lasts milliseconds: the log of Delta, or the metadata of Iceberg, is
watched for its first change, and the kill falls into the commit itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compat.table_kills.job_process import JobProcess
from tests.compat.table_kills.staged_job import BETWEEN, LETTERS, LOOKS, MERGE, ROWS

_STAGE_S = 45.0
_LOG_S = 20.0
_LOOK_S = 0.0005
_LOGS = {"delta": "_delta_log", "iceberg": "metadata"}


@dataclass(frozen=True, slots=True)
class Moment:
    """Within `at_most_s` from its first stage of these on, or from the log's change behind it."""

    name: str
    weight: int
    at_most_s: float
    stages: tuple[str, ...] = ()
    log: bool = False
    before: bool = False
    """While it still starts."""


MOMENTS = (
    Moment("its start", 1, 4.0, before=True),
    Moment("any moment", 9, 15.0),
    Moment("dead letters", 2, 0.8, (LETTERS,)),
    Moment("between both commits", 3, 0.6, (BETWEEN,)),
    Moment("a merge", 4, 1.5, (MERGE,)),
    Moment("the log's commit, of rows", 4, 0.03, (BETWEEN, ROWS), log=True),
    Moment("the log's commit, of dead letters", 2, 0.03, (LETTERS,), log=True),
    Moment("the log's commit, of a merge", 3, 0.03, (MERGE,), log=True),
    Moment("its look at the topic", 1, 3.0, (LOOKS,)),
)


def chosen(chance: random.Random, number: int) -> list[Moment]:
    """So many, in the shares of their weights as far as they go, in no order."""
    weights = [one.weight for one in MOMENTS]
    shares = [weight * number // sum(weights) for weight in weights]
    found = [one for one, share in zip(MOMENTS, shares, strict=True) for _ in range(share)]
    found += chance.choices(MOMENTS[1:], weights[1:], k=number - len(found))
    chance.shuffle(found)
    return found


def waits(job: JobProcess, moment: Moment, chance: random.Random, tables: Sequence[Path]) -> None:
    """Until that moment of a job that has begun; until another one, if it never comes."""
    delay_s = chance.uniform(0, moment.at_most_s)
    # Of its first run, or of a later one.
    times = chance.choice((1, 1, 2)) if moment.stages else 0
    came = [job.comes_to(moment.stages, _STAGE_S) for _ in range(times)]
    if moment.log and all(came):
        letters = job.stage == LETTERS
        changes(log_of(tables[1 if letters else 0]), _LOG_S)
    job.waits(delay_s)


def log_of(table: Path) -> Path:
    """The folder that a commit is written to."""
    there = [table / name for name in _LOGS.values() if (table / name).is_dir()]
    return there[0] if there else table


def changes(folder: Path, timeout_s: float) -> None:
    """Until a name comes or goes there."""
    before, end = _changed(folder), time.monotonic() + timeout_s
    while _changed(folder) == before and time.monotonic() < end:
        time.sleep(_LOOK_S)


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def left_in_log(table: Path) -> set[str]:
    """What commits that were cut off have left in the table's log: files that were to be renamed,
    and Iceberg's metadata that its hint does not name yet."""
    folder = log_of(table)
    if not folder.is_dir():
        return set()
    names = {one.name for one in folder.iterdir()}
    left = {name for name in names if name.endswith(".tmp")}
    if folder.name == _LOGS["iceberg"]:
        metadata = {name for name in names if name.endswith(".metadata.json")}
        left |= {name for name in metadata if not name.startswith("v")}
        hint = folder / "version-hint.text"
        named = int(hint.read_text()) if hint.exists() else 0
        left |= {name for name in metadata - left if int(name[1:].partition(".")[0]) > named}
    return left
