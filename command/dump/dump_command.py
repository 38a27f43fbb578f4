"""`ottla dump-log`: its options and its output.

The command line around `command.dump.files` (the files to read) and `client.records.decoders`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from broker.config.start_error import StartError
from client.records.decoders import DECODERS
from command.admin.options import with_json
from command.dump.files import SegmentTail, entries_in, files_of
from command.output import ReaderGone, Styled, echo, echo_json
from storage.dump_log import DumpEntry, UnknownFile, line_of, object_of

_POLL_S = 0.2
_FIRST_MS = -62_135_596_800_000
"""The beginning of the year 1, in ms since the epoch."""
_END_MS = 253_402_300_800_000
"""The beginning of the year 10000, in ms since the epoch."""


@click.command("dump-log")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--records", is_flag=True, help="Print each record of a segment, too.")
@click.option(
    "--decode",
    "decoder",
    type=click.Choice(DECODERS),
    help="Decode records of this kind; none decodes nothing. [default: by the folder's name]",
)
@click.option(
    "-f",
    "--follow",
    is_flag=True,
    help="Keep printing what is appended to a segment, until Ctrl-C.",
)
@click.option("--ms", is_flag=True, help="Print times in milliseconds, as Kafka's tool does.")
@with_json
def dump_log(
    paths: tuple[str, ...],
    records: bool,
    decoder: str | None,
    follow: bool,
    ms: bool,
    as_json: bool,
) -> None:
    """Print the contents of files in a data folder.

    \b
    ottla dump-log data/orders-0                    all files of a partition
    ottla dump-log data/orders-0/*.log --records    its segments, record by record
    ottla dump-log data/__consumer_offsets-12 --records --follow

    PATH may be a segment (.log), an index (.index, .timeindex, .txnindex), a snapshot of producers
    or of metadata (.snapshot, .checkpoint), an offset or epoch checkpoint, partition.metadata,
    quorum-state or meta.properties, or a folder of such files. Records of __consumer_offsets,
    __transaction_state and __cluster_metadata are decoded. Damage is reported; nothing is modified.
    Passwords and users' credentials in the metadata are not shown.
    """
    printer = _Printer(as_json=as_json, time_text=str if ms else readable)
    if follow:
        if len(paths) != 1:
            raise StartError("--follow takes one segment, or the folder of one partition")
        _follow(printer, SegmentTail(paths[0], decoder, with_records=records))
        return
    files = files_of(paths)
    printer.with_names = len(files) > 1
    for file in files:
        try:
            printer.put(file, entries_in(file, decoder, with_records=records))
        except UnknownFile as error:
            raise click.UsageError(str(error)) from error


def _follow(printer: _Printer, tail: SegmentTail) -> None:
    """Print new entries of a segment, and of later ones, until Ctrl-C or until the pipe is
    closed."""
    try:
        while True:
            entries = list(tail.read())
            printer.put(tail.file, entries)
            if not entries:
                time.sleep(_POLL_S)
    except (KeyboardInterrupt, ReaderGone):
        return  # the user or the reader of the pipe has stopped


class _Printer:
    """The printer of entries on standard output; it remembers the file that it named last."""

    def __init__(self, *, as_json: bool, time_text: Callable[[int], str]) -> None:
        self.with_names = False
        self._as_json = as_json
        self._time_text = time_text
        self._last_named: Path | None = None

    def put(self, file: Path, entries: Iterable[DumpEntry]) -> None:
        """Print the entries of a file, under its name if `with_names`."""
        if self.with_names and not self._as_json and file != self._last_named:
            echo(Styled(f"Dumping {file}"))
        self._last_named = file
        for entry in entries:
            if self._as_json:
                echo_json({"file": str(file), **object_of(entry)})
            else:
                echo(line_of(entry, self._time_text))


def readable(ms: int) -> str:
    """Return a time (ms since the epoch) as `2026-11-26T08:00:00.123Z`.

    A time outside of the years 1 to 9999 stays a number.
    """
    if not _FIRST_MS <= ms < _END_MS:
        return str(ms)
    at = time.gmtime(ms // 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', at)}.{ms % 1000:03d}Z"
