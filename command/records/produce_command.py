"""`ottla produce`: lines, JSON or whole files become the records of a topic.

The command line around `client.records.batching` and `client.records.writing`: options, input,
progress. Input that arrives slowly is sent as it arrives; input that is available at once is sent
in large batches.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence

import click

from broker.config.start_error import StartError
from broker.network.readiness import readable
from client.cluster import ClusterClient
from client.configs.settings import TOPIC, ConfigResource, configs_of
from client.records.batching import Batching, NoRecord, Settings
from client.records.writing import Writer
from client.refusals import Refused
from client.tables import counted
from client.topics import create_for_producer
from command.admin.options import with_bootstrap_server, with_command_config
from command.completion.completing import complete_topics
from command.help_pages.number_ranges import WholeNumber
from command.output import echo, note
from command.records.progress import Progress
from command.terminal.live_screen import can_redraw
from protocol.compression import Codec

_STDIN = 0
_CHUNK_BYTES = 256 * 1024
_MORE_WITHIN_S = 0.005
"""The wait for more input before the lines read so far are sent."""
_MAX_MESSAGE = "max.message.bytes"
_REDRAWN_AFTER_S = 0.1

_CODECS = {codec.name.lower(): codec for codec in Codec}


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("-k", "--key", metavar="KEY", help="Give all records this key.")
@click.option(
    "-K",
    "--key-separator",
    metavar="SEP",
    help=r"Split each line at the first SEP, such as : or \t, into key and value.",
)
@click.option(
    "-H",
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give all records this header; may be repeated.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Read each line as a JSON object, such as consume --json prints.",
)
@click.option("--whole", is_flag=True, help="Write each FILE as one record.")
@click.option("--tombstone", is_flag=True, help="Write one record with the --key and no value.")
@click.option(
    "-p",
    "--partition",
    type=WholeNumber(0),
    metavar="N",
    help="Write all records to partition N. [default: chosen by the key]",
)
@click.option(
    "--compression",
    type=click.Choice(list(_CODECS)),
    default="none",
    show_default=True,
    help="Compress the records with this codec.",
)
@with_bootstrap_server
@with_command_config
def produce(
    bootstrap_server: str,
    command_config: str | None,
    topic: str,
    files: tuple[str, ...],
    whole: bool,
    tombstone: bool,
    compression: str,
    **options: object,
) -> None:
    """Write each line of the FILEs, or of standard input, as a record to TOPIC.

    \b
    echo hello | ottla produce greetings
    ottla produce orders -K : orders.txt          lines such as 4711:shipped
    ottla consume orders --json | ottla produce copy --json

    A line is written as it is, up to its \\n: the \\r of a file with CRLF, and a byte order mark,
    stay. Records with a key go to the partition that Kafka's own clients choose for it. When the
    command ends, all in-sync replicas have the records. A missing TOPIC is created if the brokers
    allow it (auto.create.topics.enable).
    """
    settings = Settings.of(options, whole=whole, codec=int(_CODECS[compression]))
    if whole and not files:
        raise StartError("--whole needs a FILE")
    if tombstone and (files or settings.key is None):
        raise StartError("--tombstone needs a --key, and no FILE")
    with ClusterClient(bootstrap_server, command_config) as cluster:
        partitions = create_for_producer(cluster, topic)
        if partitions is not None:
            note(f"created topic {topic} ({counted(partitions, 'partition')})")
        writer = Writer(cluster, topic)
        batching = Batching(settings, topic, _bytes_max(cluster, topic), writer, _now_ms)
        progress = _ProgressLine(_size_of(files), batching)
        try:
            _send_all(batching, writer, files, progress, tombstone=tombstone)
        except KeyboardInterrupt:
            note("stopped: what was read is still written")
        except NoRecord as refusal:
            writer.flush()
            raise StartError(f"{refusal} ({writer.acknowledged} records were written)") from refusal
        writer.flush()
    progress.end(writer)


def _send_all(
    batching: Batching,
    writer: Writer,
    files: Sequence[str],
    progress: _ProgressLine,
    *,
    tombstone: bool,
) -> None:
    """Pass the tombstone, standard input or the files to `batching`, which sends them as records.

    Raises NoRecord if a file cannot be read or a line is no record.
    """
    if tombstone:
        batching.tombstone()
        return
    if not files:
        if sys.stdin.isatty():
            note("a record a line; Ctrl-D ends")
        _send_lines(batching, writer, _STDIN, "standard input", progress)
    for name in files:
        try:
            _send_file(batching, writer, name, progress)
        except OSError as error:
            raise NoRecord(f"{name}: {error.strerror or error}") from error


def _send_file(batching: Batching, writer: Writer, name: str, progress: _ProgressLine) -> None:
    """Pass a file's lines, or all of it as one record, to `batching`, which sends them. "-" is
    standard input.

    Raises OSError if the file cannot be read, NoRecord if it has a line that is no record.
    """
    if batching.settings.whole:
        with open(name, "rb") as file:
            batching.whole(name, file.read(batching.record_bytes_max + 1))
        return
    descriptor = _STDIN if name == "-" else os.open(name, os.O_RDONLY)
    try:
        _send_lines(batching, writer, descriptor, name, progress)
    finally:
        if descriptor != _STDIN:
            os.close(descriptor)


def _send_lines(
    batching: Batching, writer: Writer, descriptor: int, name: str, progress: _ProgressLine
) -> None:
    """Pass the lines of an open file to `batching`, which sends them, until the file's end, and
    show the progress. Raises NoRecord."""
    batching.begin(name)
    for data in _chunks(descriptor, writer):
        batching.lines(data)
        progress.update()
    batching.end()


def _chunks(descriptor: int, writer: Writer) -> Iterator[bytes]:
    """Yield the input in chunks: large ones if much is available, small ones if it arrives slowly.

    Before waiting for more input, flush the writer.
    """
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    while True:
        data = _read(descriptor)
        if not data:
            return
        parts, size, ended = [data], len(data), False
        while size < _CHUNK_BYTES and (regular or _has_more(descriptor)):
            data = _read(descriptor)
            if not data:
                ended = True
                break
            parts.append(data)
            size += len(data)
        yield b"".join(parts)
        if ended:
            return
        if not regular and not _has_more(descriptor):
            writer.flush()


def _read(descriptor: int) -> bytes:
    """Return the next bytes of the input, at most _CHUNK_BYTES; none at its end. Waits for
    input."""
    return os.read(descriptor, _CHUNK_BYTES)


def _has_more(descriptor: int) -> bool:
    """Return whether there is more input, or its end, within _MORE_WITHIN_S."""
    return bool(readable([descriptor], _MORE_WITHIN_S))


def _bytes_max(cluster: ClusterClient, topic: str) -> int | None:
    """Return the topic's max.message.bytes, None if this login may not see configs."""
    try:
        configs = configs_of(cluster, ConfigResource(TOPIC, topic), [_MAX_MESSAGE])
    except Refused:
        return None
    return int(configs[0].value) if configs and configs[0].value else None


def _now_ms() -> int:
    """Return the wall clock's time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def _size_of(files: Sequence[str]) -> int | None:
    """Return the size of the input in bytes, None if it is not known (a pipe, a missing file)."""
    try:
        states = [os.stat(name) for name in files] if files else [os.fstat(_STDIN)]
    except OSError:
        return None  # opening the file reports the error
    if not all(stat.S_ISREG(state.st_mode) for state in states):
        return None
    return sum(state.st_size for state in states)


class _ProgressLine:
    """The progress on the last line of a terminal; without a terminal nothing is drawn."""

    def __init__(self, total: int | None, batching: Batching) -> None:
        """Begin at 0 of `total` bytes; None: the size is not known. The line is drawn only if
        stderr is a terminal with a cursor and stdin is none."""
        self._seen = can_redraw(sys.stderr) and not sys.stdin.isatty()
        self._batching = batching
        self._progress = Progress(total, time.monotonic())
        self._drawn_at = 0.0

    def update(self) -> None:
        """Redraw the line, unless that was done within _REDRAWN_AFTER_S or the line is not drawn at
        all."""
        now = time.monotonic()
        if self._seen and now - self._drawn_at > _REDRAWN_AFTER_S:
            self._drawn_at = now
            self._draw(now)

    def end(self, writer: Writer) -> None:
        """Draw the final progress and a newline. If input is typed at a terminal, print the number
        of written records instead. Without a terminal for stderr, print nothing."""
        if self._seen:
            self._draw(time.monotonic())
            echo(to_stderr=True)
        elif sys.stderr.isatty():
            note(f"{writer.acknowledged} records written")

    def _draw(self, now: float) -> None:
        """Overwrite the terminal's current line with the progress at `now`."""
        text = self._progress.line(self._batching.records, self._batching.bytes_read, now)
        echo(text, to_stderr=True, in_place=True)
