"""`ottla consume`: print the records of topics.

The command line around `client.records.reading` and `client.records.rendering`: options, where to
begin and to end, standard output. Commits nothing without --commit; with it, commits every five
seconds, at the end, and when SIGTERM or SIGHUP ends the command.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial

import click

from broker.config.start_error import StartError
from client.cluster import ClusterClient, partitions_of
from client.core.leaders import Partition
from client.core.offsets import READ_COMMITTED, READ_UNCOMMITTED
from client.place_offsets import offsets_at, spans
from client.places import END, LAST, Place, parse_place
from client.records.reading import Follow, Reader, ReadPosition
from client.records.rendering import RenderOptions, render
from client.records.separators import separator_of
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.completion.completing import complete_groups, complete_topics
from command.help_pages.number_ranges import WholeNumber
from command.output import note
from command.terminal.ending_signals import ended_by_signals
from protocol.messages.metadata import MetadataResponseTopic
from protocol.record_batch import CorruptBatch

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, if the command has not reached the end that it was to reach."""
_STDOUT = 1
_COMMITTED_EACH_S = 5
"""The interval of commits, the default of Kafka's consumers (auto.commit.interval.ms)."""

Commits = Callable[[Mapping[Partition, int]], None]
"""A function that commits offsets for a group."""


@click.command()
@click.argument(
    "topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=complete_topics
)
@click.option(
    "--from",
    "begin",
    default="start",
    show_default=True,
    metavar="PLACE",
    help="Begin at this place in each partition.",
)
@click.option(
    "--to",
    "until",
    metavar="PLACE",
    help="Stop at this place in each partition. [default: the end when the command starts]",
)
@click.option("-f", "--follow", is_flag=True, help="Wait for new records, until Ctrl-C.")
@click.option("-n", "--count", type=WholeNumber(1), metavar="N", help="Stop after N records.")
@click.option(
    "-p",
    "--partition",
    "chosen",
    multiple=True,
    type=WholeNumber(0),
    metavar="N",
    help="Read only partition N; may be repeated.",
)
@click.option(
    "--grep",
    "pattern",
    metavar="REGEX",
    help="Print only records with a match in the key, the value or a header's value.",
)
@click.option("-k", "--keys", is_flag=True, help="Print the key before the value.")
@click.option("-H", "--headers", is_flag=True, help="Print NAME=VALUE,… before key and value.")
@click.option(
    "-w",
    "--where",
    is_flag=True,
    help="Print topic, partition, offset and time (ms) before the record.",
)
@click.option(
    "--separator",
    default=r"\t",
    show_default=True,
    metavar="SEP",
    help="Print SEP between the parts of a line.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Begin at the committed offsets of this group. Partitions without one begin at --from.",
    shell_complete=complete_groups,
)
@click.option(
    "--commit",
    is_flag=True,
    help="Commit the offsets after the printed records for --group.",
)
@click.option(
    "--share-group",
    metavar="NAME",
    help="Join this share group, and accept each record after it is printed.",
    shell_complete=complete_groups,
)
@click.option(
    "--uncommitted",
    is_flag=True,
    help="Print records of transactions that are open or were aborted, too.",
)
@with_bootstrap_server
@with_command_config
@with_json
def consume(  # one argument an option
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    topics: tuple[str, ...],
    begin: str,
    until: str | None,
    follow: bool,
    count: int | None,
    chosen: tuple[int, ...],
    group: str | None,
    commit: bool,
    share_group: str | None,
    uncommitted: bool,
    **view_options: object,
) -> None:
    """Print the values of records, one a line, from the start to the present end of each partition.

    \b
    PLACE is start, end, an offset, -N for the last N records of each partition,
    or @TIME: @2h ago, @2026-11-26T08:00Z, @1764144000000 in milliseconds.
      ottla consume orders --from -10
      ottla consume orders --from @2h --grep 'status":"failed' --json
      ottla consume orders --follow --from end

    The command joins no group, and commits nothing without --commit. With --share-group NAME, it is
    a worker: it prints the records that this share group gives it, accepts each after it is
    written, and ends if none comes for five seconds.
    """
    view = _view(as_json=as_json, view_options=view_options)
    if share_group is not None:
        _check_share_options(begin, until, chosen, group, commit, uncommitted, view)
        with ClusterClient(bootstrap_server, command_config) as cluster:
            _print_share_group(cluster, share_group, topics, view, count, follow=follow)
        return
    start, stop = _begin_and_end(begin, until)
    _check_options(start, stop, follow=follow, commit=commit, group=group)
    level = READ_UNCOMMITTED if uncommitted else READ_COMMITTED
    with ClusterClient(bootstrap_server, command_config) as cluster:
        topics_by_name = cluster.led_topics(topics)
        wanted = _chosen_partitions(topics_by_name, chosen)
        positions = _positions(cluster, topics_by_name, wanted, (start, stop), level)
        if group is not None:
            _begin_at_group(cluster, group, positions)
        reader = _reader(cluster, positions, level, follow=follow, all_partitions=not chosen)
        printed, code = _Printed(reader), 0
        if group is None or not commit:
            printed.print_all(view, count)
        else:
            # Commits need separate connections: those of the reader have a Fetch in flight.
            with ClusterClient(bootstrap_server, command_config) as committing:
                code = _print_and_commit(printed, view, count, _committer(committing, group))
    _say_the_rest(printed, reader)
    if printed.interrupted and not follow:
        code = code or INTERRUPTED
    if code:
        raise click.exceptions.Exit(code)


def _reader(
    cluster: ClusterClient,
    positions: dict[Partition, ReadPosition],
    level: int,
    *,
    follow: bool,
    all_partitions: bool,
) -> Reader:
    """Return the reader of the records. With `follow` it has no end; with `all_partitions` it then
    also reads partitions that are added."""
    if not follow:
        return Reader(cluster, positions, level)
    for position in positions.values():
        position.follow()
    followed = Follow(note, new_partitions=all_partitions)
    return Reader(cluster, positions, level, follow=followed)


def _begin_and_end(begin: str, until: str | None) -> tuple[Place, Place | None]:
    """Return the places at which to begin and to stop. Raises StartError."""
    now_ms = time.time_ns() // 1_000_000
    start = parse_place(begin, now_ms, "--from")
    return start, None if until is None else parse_place(until, now_ms, "--to")


def _check_options(
    start: Place, stop: Place | None, *, follow: bool, commit: bool, group: str | None
) -> None:
    """Raise StartError if options exclude each other."""
    if stop is not None and follow:
        raise StartError("--to ends and --follow does not: leave one of them out")
    if commit and group is None:
        raise StartError("--commit needs the --group that is moved")
    if stop is not None and stop.kind == LAST and start == END:
        raise StartError("--from end is behind --to")


def _check_share_options(  # one argument an option
    begin: str,
    until: str | None,
    chosen: Sequence[int],
    group: str | None,
    commit: bool,
    uncommitted: bool,
    view: RenderOptions,
) -> None:
    """Raise StartError if an option has no meaning for a share group, whose brokers choose the
    records."""
    excluded = {
        "--from": begin != "start",
        "--to": until is not None,
        "--partition": bool(chosen),
        "--group": group is not None,
        "--commit": commit,
        "--uncommitted": uncommitted,
        "--grep": view.matches is not None,
    }
    for option, is_given in excluded.items():
        if is_given:
            raise StartError(
                f"--share-group and {option}: the share group decides which records come, and each "
                "of them is accepted"
            )


def _print_share_group(
    cluster: ClusterClient,
    group: str,
    topics: Sequence[str],
    view: RenderOptions,
    count: int | None,
    *,
    follow: bool,
) -> None:
    """Print records as a member of a share group. Raises Exit with the code after a signal,
    Refused, StartError."""
    from command.records.share_printing import print_share_group

    code = print_share_group(cluster, group, topics, view, count, _write_stdout, follow=follow)
    if code:
        raise click.exceptions.Exit(code)


def _view(*, as_json: bool, view_options: Mapping[str, object]) -> RenderOptions:
    """Return the options by which records are chosen and printed. Raises StartError at a bad
    pattern or separator."""
    matches = None
    pattern = view_options["pattern"]
    if isinstance(pattern, str):
        try:
            matches = re.compile(os.fsencode(pattern)).search
        except re.error as error:
            raise StartError(
                f"--grep {pattern}: this is no regular expression ({error})"
            ) from error
    return RenderOptions(
        as_json=as_json,
        keys=bool(view_options["keys"]),
        headers=bool(view_options["headers"]),
        where=bool(view_options["where"]),
        separator=separator_of("--separator", str(view_options["separator"])),
        matches=matches,
        for_terminal=sys.stdout.isatty(),
    )


def _committer(cluster: ClusterClient, group: str) -> Commits:
    """Return the function that commits offsets for the group."""
    from client.groups.committed import commit_offsets

    return partial(commit_offsets, cluster, group)


def _print_and_commit(
    printed: _Printed, view: RenderOptions, count: int | None, to: Commits
) -> int:
    """Print records, and pass the offsets after them to `to`: regularly, at the end, and before a
    signal ends the run. Return the exit code: 0, or 128 and a signal's number."""
    printed.commit_to(to)
    with ended_by_signals() as signals:
        try:
            printed.print_all(view, count, signals.whole)
        finally:
            with suppress(KeyboardInterrupt), signals.whole():
                printed.commit()
    return signals.exit_code


# --- where to begin and to end -------------------------------------------------------------------


def _chosen_partitions(
    topics: Mapping[str, MetadataResponseTopic], numbers: Sequence[int]
) -> list[Partition]:
    """Return the topics' partitions of these numbers; without numbers, all.

    Raises StartError if a topic lacks a partition.
    """
    every = partitions_of(topics)
    if not numbers:
        return every
    for name, topic in topics.items():
        for number in numbers:
            if number >= len(topic.partitions):
                last = len(topic.partitions) - 1
                raise StartError(f"topic {name} has partitions 0 to {last}, and no {number}")
    return [place for place in every if place[1] in numbers]


def _positions(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Sequence[Partition],
    places: tuple[Place, Place | None],
    level: int,
) -> dict[Partition, ReadPosition]:
    """Look up the offsets at which each partition's reading starts and stops.

    Without a place to stop, that is the end as it is now. Raises Refused.
    """
    held = spans(cluster, topics, wanted, level)
    start, stop = places
    begins = offsets_at(cluster, topics, held, start)
    stops = offsets_at(cluster, topics, held, END if stop is None else stop)
    return {at: ReadPosition(begins[at], stops[at]) for at in held}


def _begin_at_group(
    cluster: ClusterClient, group: str, positions: dict[Partition, ReadPosition]
) -> None:
    """Move the positions to the group's committed offsets; a partition without one keeps its
    position. Raises Refused."""
    from client.groups.committed import committed_offsets

    for at, offset in committed_offsets(cluster, group).items():
        if at in positions:
            positions[at].move(offset)


# --- printing ------------------------------------------------------------------------------------


class _Printed:
    """The printer of records, which remembers how far it has printed."""

    def __init__(self, reader: Reader) -> None:
        """Begin with nothing printed and without commits."""
        self._reader = reader
        self.records = 0
        self.interrupted = False
        """Whether a signal has ended the printing."""
        self._ends: dict[Partition, int] = {}
        self._commits: Commits | None = None
        self._committed_at = time.monotonic()

    def print_all(
        self,
        view: RenderOptions,
        most: int | None,
        whole: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Print until the reader's end, until `most` records are printed, or until Ctrl-C. Commit
        in between, if `commit_to` was called.

        Each batch is printed and counted inside `whole`, which signals do not interrupt. Raises
        StartError at records that cannot be read.
        """
        try:
            for batch in self._reader.batches():
                left = None if most is None else most - self.records
                rendered = render(batch, view, left)
                with whole():
                    if rendered.data:
                        _write_stdout(rendered.data)
                    self.records += rendered.records
                    self._ends[batch.topic, batch.partition] = rendered.end
                if time.monotonic() - self._committed_at >= _COMMITTED_EACH_S:
                    self.commit()
                if most is not None and self.records >= most:
                    return
        except KeyboardInterrupt:
            self.interrupted = True
        except BrokenPipeError:
            return  # the reader of the pipe has stopped
        except CorruptBatch as error:
            raise StartError(f"{error}; --from an offset behind it passes it over") from error

    def commit_to(self, commits: Commits) -> None:
        """Set the function that gets the offsets after the printed records, every _COMMITTED_EACH_S
        and at `commit`."""
        self._commits = commits

    def commit(self) -> None:
        """Commit the offsets after the printed records, if there is a group to commit for."""
        self._committed_at = time.monotonic()
        if self._commits is not None and self._ends:
            self._commits(self._ends)


def _write_stdout(data: bytes) -> None:
    """Write all of the data to standard output. Raises BrokenPipeError if its reader has ended."""
    view = memoryview(data)
    while view:
        view = view[os.write(_STDOUT, view) :]


def _say_the_rest(printed: _Printed, reader: Reader) -> None:
    """Print on stderr how many records were deleted unread, if any. On a terminal, print if no
    record was printed."""
    deleted = sum(position.deleted for position in reader.positions.values())
    if deleted:
        note(f"{deleted} records were deleted before they were read")
    if not printed.records and sys.stdout.isatty():
        note("no records there")
