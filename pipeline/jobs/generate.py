"""The job `generate`: sends a telecom operator's records to a topic, keyed by subscriber.

A plain producer in the driver, without Spark: a topic fills within a second of the start, and a
record's timestamp can be the operator's clock. Owns pace and progress; `pipeline.generator` makes
the records.

All records of five minutes of the operator's clock are acknowledged before the first of the next
five minutes is sent. So a broker that dies delays all partitions alike, and a stream's watermark
does not pass records that a partition still lacks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable

from pipeline.errors import PipelineError
from pipeline.generator import (
    DEFAULT_START_MS,
    HOURS,
    Generated,
    GeneratorSpec,
    generated,
    iso,
)
from pipeline.options import number, topic, whole
from pipeline.sender import Sender
from pipeline.spark import connection
from pipeline.topics import KEPT_FOR_EVER, Cluster

TOPIC = "cdr"
PARTITIONS = 6
APART_MAX_MS = 300_000
PROGRESS_S = 2.0
_PACE_EVERY = 50
_HOURS_MAX = 24 * 366
_START_MAX_MS = 4_102_444_800_000  # the year 2100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
    connection.add_arguments(parser)
    parser.add_argument(
        "--topic",
        type=topic,
        default=TOPIC,
        metavar="TOPIC",
        help="Send the records to this topic. [default: %(default)s]",
    )
    parser.add_argument(
        "--partitions",
        type=whole(1),
        default=PARTITIONS,
        metavar="N",
        help="Create the topic, if it is missing, with N partitions. [default: %(default)s]",
    )
    parser.add_argument(
        "--rate",
        type=number(0),
        default=0,
        metavar="N",
        help="Send N records a second; 0: as many as possible. [default: %(default)s]",
    )
    add_spec_arguments(parser)


def add_spec_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options on which the records depend. The job `audit` has them too."""
    default = GeneratorSpec()
    group = parser.add_argument_group("what is generated")
    group.add_argument(
        "--seed",
        type=int,
        default=default.seed,
        metavar="N",
        help="Generate the records of this seed, always the same. [default: %(default)s]",
    )
    group.add_argument(
        "--events",
        type=whole(1),
        default=default.events,
        metavar="N",
        help="Generate N records in all. [default: %(default)s]",
    )
    group.add_argument(
        "--start",
        type=whole(0, _START_MAX_MS),
        default=DEFAULT_START_MS,
        metavar="MS",
        help="Begin at this time of the network's clock, in ms since 1970. [default: %(default)s]",
    )
    group.add_argument(
        "--hours",
        type=whole(1, _HOURS_MAX),
        default=HOURS,
        metavar="N",
        help="Spread the events over N hours of that clock. [default: %(default)s]",
    )
    group.add_argument(
        "--subscribers",
        type=whole(1),
        default=default.subscribers,
        metavar="N",
        help="Generate events of N subscribers. [default: %(default)s]",
    )
    group.add_argument(
        "--cells",
        type=whole(1),
        default=default.cells,
        metavar="N",
        help="Generate events in N cells. [default: %(default)s]",
    )
    _add_fault_arguments(group)


def _add_fault_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of late, repeated and malformed records."""
    default = GeneratorSpec()
    group.add_argument(
        "--late",
        type=number(0, 1),
        default=default.late_share,
        metavar="SHARE",
        help="Delay this share of the records. [default: %(default)s]",
    )
    group.add_argument(
        "--duplicates",
        type=number(0, 1),
        default=default.duplicate_share,
        metavar="SHARE",
        help="Repeat earlier records as this share of the records. [default: %(default)s]",
    )
    group.add_argument(
        "--malformed",
        type=number(0, 1),
        default=default.malformed_share,
        metavar="SHARE",
        help="Make this share of the records malformed. [default: %(default)s]",
    )


def spec_of(options: argparse.Namespace) -> GeneratorSpec:
    """Return the spec that the options name. Raises PipelineError if their values do not fit."""
    try:
        return GeneratorSpec(
            seed=options.seed,
            events=options.events,
            start_ms=options.start,
            hours=options.hours,
            subscribers=options.subscribers,
            cells=options.cells,
            late_share=options.late,
            duplicate_share=options.duplicates,
            malformed_share=options.malformed,
        )
    except ValueError as error:
        raise PipelineError(f"generate: {error}") from error


def run(options: argparse.Namespace) -> int:
    """Send the records, and return the exit code. Raises PipelineError if a send fails."""
    spec = spec_of(options)
    target = connection.connection_of(options)
    cluster = Cluster(target)
    if cluster.ensure(options.topic, options.partitions, KEPT_FOR_EVER):
        _say(f"made topic {options.topic} with {options.partitions} partitions")
    else:
        there = sum(part.end - part.start for part in cluster.offsets(options.topic).values())
        if there:
            _say(f"topic {options.topic} holds {there:,} records already; these are appended")
    topic_id = cluster.topic_id(options.topic)
    sender = Sender(target.client(), options.topic)
    began = time.monotonic()
    send_paced(generated(spec), sender, options.rate, Progress(spec.events))
    spent = time.monotonic() - began
    cluster.check_kept(options.topic, topic_id)
    _say(
        f"done: {sender.acknowledged:,} records acknowledged in {spent:.1f} s, "
        f"{sender.acknowledged / spent:,.0f}/s (seed {spec.seed})"
    )
    return 0


class Progress:
    """The lines about progress, `PROGRESS_S` apart."""

    def __init__(self, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._now = now
        self._said_s = now()
        self._said_count = 0

    def at(self, count: int, timestamp_ms: int) -> str | None:
        """Return a line if one is due, else None. `timestamp_ms` is the operator's clock."""
        now = self._now()
        if now - self._said_s < PROGRESS_S:
            return None
        rate = (count - self._said_count) / (now - self._said_s)
        self._said_s, self._said_count = now, count
        clock = iso(timestamp_ms)[:16].replace("T", " ")
        return (
            f"{count:,} of {self._total:,} ({100 * count // self._total} %), {rate:,.0f}/s, "
            f"the operator's clock is at {clock}"
        )


def send_paced(
    records: Iterable[Generated],
    sender: Sender,
    rate: float,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Send all records, at most `rate` a second (0: no limit). On return, all are acknowledged.

    Raises PipelineError if a record is not stored.
    """
    began = now()
    barrier_ms: int | None = None
    for count, record in enumerate(records):
        if barrier_ms is None or record.timestamp_ms >= barrier_ms:
            sender.flush()
            barrier_ms = record.timestamp_ms - record.timestamp_ms % APART_MAX_MS + APART_MAX_MS
        if count % _PACE_EVERY == 0:
            if rate > 0:
                early = began + count / rate - now()
                if early > 0:
                    sleep(early)
            line = progress.at(count, record.timestamp_ms)
            if line is not None:
                _say(line)
        sender.send(record.key, record.value, record.timestamp_ms)
    sender.flush()


def _say(text: str) -> None:
    print(f"generate: {text}", file=sys.stderr, flush=True)
