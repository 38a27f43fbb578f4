"""What the options of a job may hold: each a function that argparse calls, and refuses by.

Checked while the command line is read: before a broker is asked, Spark starts or a file is
written. Owns the forms alone (numbers, spans of time, topics, paths); never opens anything, but
looks whether a path of this machine is there.
"""

from __future__ import annotations

import math
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from glob import has_magic, iglob
from pathlib import Path

from pipeline.errors import PipelineError

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_SERVER = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^\s:,/\[\]]+):(\d{1,5})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_TOP = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+:)?(//[^/]*)?/*")
_PART = re.compile(r"(\d+)\s+([a-z]+)")
_UNITS_MS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_PORT_MAX = 65_535


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A whole number from `least` on."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            to = f" to {most}" if most is not None else ""
            raise ArgumentTypeError(f"{text!r}: a whole number from {least}{to} is wanted")
        return number

    return read


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """A finite number between both."""

    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not (least <= found <= most and math.isfinite(found)):
            to = f" to {most:g}" if most < math.inf else ""
            raise ArgumentTypeError(f"{text!r}: a number from {least:g}{to} is wanted")
        return found

    return read


def topic(text: str) -> str:
    """A topic's name, as Kafka's `Topic.validate` has it."""
    if not _TOPIC.fullmatch(text) or text in (".", ".."):
        raise ArgumentTypeError(
            f"{text!r} is no topic's name: letters, digits, '.', '_' and '-', at most 249 of them"
        )
    return text


def servers(text: str) -> str:
    """`host:port`, more of them parted by commas."""
    for one in text.split(","):
        found = _SERVER.fullmatch(one.strip())
        if found is None or not 0 < int(found[2]) <= _PORT_MAX:
            raise ArgumentTypeError(f"{one!r}: HOST:PORT is wanted, such as localhost:9092")
    return text


def pair(text: str) -> str:
    """`KEY=VALUE`."""
    key, equals, _ = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"{text!r}: KEY=VALUE is wanted")
    return text


def span(text: str) -> str:
    """A span of time that Spark's windows and watermarks take, longer than nothing."""
    if span_ms(text) <= 0:
        raise ArgumentTypeError(f"{text!r}: a span of time longer than nothing is wanted")
    return text


def delay(text: str) -> str:
    """A span of time that may be nothing."""
    span_ms(text)
    return text


def span_ms(text: str) -> int:
    """Milliseconds of `1 hour`, `90 minutes`, `1 day 12 hours`: units of a fixed length."""
    rest, total = text.strip().lower(), 0
    while rest:
        found = _PART.match(rest)
        unit = found[2].removesuffix("s") if found is not None else ""
        if found is None or unit not in _UNITS_MS:
            total = -1
            break
        total += int(found[1]) * _UNITS_MS[unit]
        rest = rest[found.end() :].lstrip()
    if total < 0 or not text.strip():
        raise ArgumentTypeError(
            f"{text!r} is no span of time: say 30 seconds, 15 minutes, 1 hour or 1 day"
        )
    return total


def names(text: str) -> str:
    """Names parted by commas, each at least a letter and once."""
    found = text.split(",")
    if not all(one.strip() for one in found) or len(set(found)) < len(found):
        raise ArgumentTypeError(f"{text!r}: names parted by commas are wanted, each once")
    return text


def word(text: str) -> str:
    """Anything but blanks alone."""
    if not text.strip():
        raise ArgumentTypeError("it is empty: leave it out, or give it a value")
    return text


def place(text: str) -> str:
    """A path or URI; one of this machine in full, for a Spark that runs in another folder."""
    word(text)
    return str(Path(text).absolute()) if not _SCHEME.match(text) else text


def table_place(text: str) -> str:
    """The same for a table, a folder that has others beside it: a whole bucket or disk is none."""
    found = place(text)
    if _TOP.fullmatch(found):
        raise ArgumentTypeError(
            f"{text!r} is no folder of a table: name one in it, {found.rstrip('/')}/NAME"
        )
    return found


def as_spark_has_it(path: str) -> str:
    """A path for Spark, whose default file system may be HDFS: one without a scheme is a disk's."""
    return path if _SCHEME.match(path) else f"file://{place(path)}"


def exactly(path: str) -> str:
    """A path for Spark's readers of files, which take one for a pattern: `[`, `{`, `*` and the like
    stand for themselves. Source: Hadoop's `GlobPattern`."""
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


def is_local(path: str) -> bool:
    """Whether a path is one of a machine's own disks, not an object store's or HDFS'."""
    return path.startswith("file:") or not _SCHEME.match(path)


def local(path: str) -> Path:
    """A path of this machine, also one that is given as `file:///…`."""
    return Path(re.sub(r"^file:(//(localhost)?(?=/))?", "", path))


def check_folder(option: str, path: str) -> None:
    """PipelineError where a folder cannot be made or written; other file systems are Spark's."""
    if not is_local(path):
        return
    there = local(path).absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise PipelineError(f"{option} {path}: {there} is a file, a folder is wanted")
    if not os.access(there, os.W_OK | os.X_OK):
        raise PipelineError(f"{option} {path}: {there} cannot be written by this user")


def check_file(option: str, path: str) -> None:
    """PipelineError where a file of this machine cannot be written."""
    check_folder(option, str(Path(path).parent))
    if Path(path).is_dir():
        raise PipelineError(f"{option} {path} is a folder: name a file")


def check_table(option: str, path: str) -> None:
    """PipelineError where a path is no place of a table."""
    try:
        table_place(path)
    except ArgumentTypeError as error:
        raise PipelineError(f"{option}: {error}") from error


def check_there(option: str, path: str) -> None:
    """PipelineError where nothing of this machine fits a path or pattern."""
    if not is_local(path):
        return
    found = local(path)
    # Spark's patterns know {a,b}, which Python's do not.
    if "{" in path or (has_magic(str(found)) and next(iglob(str(found)), None) is not None):
        return
    if not found.exists():
        raise PipelineError(f"{option} {path}: there are no such files; check the path")
