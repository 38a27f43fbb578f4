"""The types of a job's options, which argparse calls with an option's text, and checks of paths.

A type raises ArgumentTypeError if the text does not fit, and a check raises PipelineError: before a
broker is asked, Spark starts or a file is written. Owns the forms alone (numbers, spans of time,
topics, paths). Never opens a file, but looks whether a path of this machine exists.
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
    """Return a type for whole numbers from `least` to `most`; None stands for no upper limit."""

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
    """Return a type for finite numbers from `least` to `most`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and math.isfinite(value)):
            to = f" to {most:g}" if most < math.inf else ""
            raise ArgumentTypeError(f"{text!r}: a number from {least:g}{to} is wanted")
        return value

    return read


def topic(text: str) -> str:
    """Return the name of a topic, by the rules of Kafka's `Topic.validate`."""
    if not _TOPIC.fullmatch(text) or text in (".", ".."):
        raise ArgumentTypeError(
            f"{text!r} is no topic's name: letters, digits, '.', '_' and '-', at most 249 of them"
        )
    return text


def servers(text: str) -> str:
    """Return addresses `host:port`, separated by commas."""
    for server in text.split(","):
        address = _SERVER.fullmatch(server.strip())
        if address is None or not 0 < int(address[2]) <= _PORT_MAX:
            raise ArgumentTypeError(f"{server!r}: HOST:PORT is wanted, such as localhost:9092")
    return text


def pair(text: str) -> str:
    """Return a setting `KEY=VALUE`."""
    key, equals, _ = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"{text!r}: KEY=VALUE is wanted")
    return text


def span(text: str) -> str:
    """Return a span of time, longer than 0, that Spark's windows and watermarks take."""
    if span_ms(text) <= 0:
        raise ArgumentTypeError(f"{text!r}: a span of time longer than nothing is wanted")
    return text


def delay(text: str) -> str:
    """Return a span of time, which may be 0."""
    span_ms(text)
    return text


def span_ms(text: str) -> int:
    """Return the milliseconds of a text such as `1 day 12 hours`: units of a fixed length."""
    rest, total = text.strip().lower(), 0
    while rest:
        part = _PART.match(rest)
        unit = part[2].removesuffix("s") if part is not None else ""
        if part is None or unit not in _UNITS_MS:
            total = -1
            break
        total += int(part[1]) * _UNITS_MS[unit]
        rest = rest[part.end() :].lstrip()
    if total < 0 or not text.strip():
        raise ArgumentTypeError(
            f"{text!r} is no span of time: say 30 seconds, 15 minutes, 1 hour or 1 day"
        )
    return total


def names(text: str) -> str:
    """Return names separated by commas. No name is blank or occurs twice."""
    listed = text.split(",")
    if not all(name.strip() for name in listed) or len(set(listed)) < len(listed):
        raise ArgumentTypeError(f"{text!r}: names parted by commas are wanted, each once")
    return text


def word(text: str) -> str:
    """Return a text that is not blank."""
    if not text.strip():
        raise ArgumentTypeError("it is empty: leave it out, or give it a value")
    return text


def place(text: str) -> str:
    """Return a URI, or the absolute path of a path: Spark may run in another folder."""
    word(text)
    return str(Path(text).absolute()) if not _SCHEME.match(text) else text


def table_place(text: str) -> str:
    """Return the place of a table, a folder with folders beside it: no whole bucket or disk."""
    path = place(text)
    if _TOP.fullmatch(path):
        raise ArgumentTypeError(
            f"{text!r} is no folder of a table: name one in it, {path.rstrip('/')}/NAME"
        )
    return path


def as_spark_has_it(path: str) -> str:
    """Return a path for Spark. Without a scheme, this is a path of a disk, although the default
    file system of Spark may be HDFS."""
    return path if _SCHEME.match(path) else f"file://{place(path)}"


def exactly(path: str) -> str:
    """Return the pattern that matches this path alone, for Spark's readers of files: `[`, `{`, `*`
    and the like stand for themselves. Source: Hadoop's `GlobPattern`."""
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


def is_local(path: str) -> bool:
    """Return whether a path is on a disk of a machine, not in an object store or HDFS."""
    return path.startswith("file:") or not _SCHEME.match(path)


def local(path: str) -> Path:
    """Return a path of this machine, which may be given as `file:///…`."""
    return Path(re.sub(r"^file:(//(localhost)?(?=/))?", "", path))


def check_folder(option: str, path: str) -> None:
    """Raise PipelineError if a folder of this machine cannot be made or written."""
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
    """Raise PipelineError if a file of this machine cannot be written."""
    check_folder(option, str(Path(path).parent))
    if Path(path).is_dir():
        raise PipelineError(f"{option} {path} is a folder: name a file")


def check_table(option: str, path: str) -> None:
    """Raise PipelineError if a path is no place of a table."""
    try:
        table_place(path)
    except ArgumentTypeError as error:
        raise PipelineError(f"{option}: {error}") from error


def check_there(option: str, path: str) -> None:
    """Raise PipelineError if no file of this machine fits a path or pattern."""
    if not is_local(path):
        return
    file = local(path)
    # Spark's patterns have {a,b}, Python's do not.
    if "{" in path or (has_magic(str(file)) and next(iglob(str(file)), None) is not None):
        return
    if not file.exists():
        raise PipelineError(f"{option} {path}: there are no such files; check the path")
