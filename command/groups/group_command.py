"""`ottla group list|describe|reset|delete`: options and output.

The command line around `client.groups.groups` and `client.groups.positions`. Moving or deleting a
group is only shown, unless --execute is given.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.deliveries import AVAILABLE, Delivered
from client.core.groups import CLASSIC, SHARE, GroupDescription, MemberDescription
from client.core.leaders import Partition
from client.groups.deliveries import delivered_ranges
from client.groups.groups import (
    GroupSummary,
    Standing,
    check_is_idle,
    delete,
    described,
    described_or_new,
    listed,
    standings,
)
from client.groups.moving import planned
from client.groups.positions import delete_offsets, offsets_of, positions, set_offsets
from client.groups.total_lag import TotalLag, total_lag
from client.places import parse_place
from client.tables import Cell
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.completion.completing import complete_groups, complete_topics
from command.help_pages.command_group import CommandGroup
from command.output import Styled, echo, echo_json, note, show


@click.group(cls=CommandGroup)
def group() -> None:
    """List, describe, reset and delete groups. Works with Apache Kafka too.

    \b
    ottla group list
    ottla group describe billing
    """


@group.command("list")
@click.option("-q", "--quiet", is_flag=True, help="Print only the names.")
@click.option(
    "-t",
    "--type",
    "group_type",
    type=click.Choice(["classic", "consumer", "share", "streams"], case_sensitive=False),
    help="List only groups of this type.",
)
@with_bootstrap_server
@with_command_config
@with_json
def list_groups(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    quiet: bool,
    group_type: str | None,
) -> None:
    """List groups of all types.

    \b
    ottla group list
    ottla group list --quiet
    ottla group list --type share
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        groups = listed(cluster, group_type)
    if quiet and not as_json:
        for group in groups:
            echo(group.group)
    else:
        show(GroupSummary._fields, groups, as_json=as_json)
    if not groups:
        note("no groups that you may see: a consumer that commits makes one")


@group.command("describe")
@click.argument(
    "names", nargs=-1, required=True, metavar="GROUP...", shell_complete=complete_groups
)
@with_bootstrap_server
@with_command_config
@click.option(
    "-m",
    "--members",
    is_flag=True,
    help="Show the members and their partitions, in place of the offsets.",
)
@click.option(
    "-d",
    "--deliveries",
    is_flag=True,
    help="Show the deliveries of a share group's records, in place of the offsets.",
)
@with_json
def describe_groups(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    members: bool,
    deliveries: bool,
) -> None:
    """Show the state of groups, and their committed offsets and lag.

    Each partition has a row with the committed offset, the end, the lag, and the member that reads
    the partition. In a share group it has the start offset instead, before which all records are
    finished, and the number of members; --deliveries shows the records after it.
    --json prints the members, too.

    \b
    ottla group describe billing
    ottla group describe billing --members
    ottla group describe workers --deliveries
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        for number, name in enumerate(dict.fromkeys(names)):
            group = described(cluster, name)
            rows = standings(cluster, group)
            ranges = _deliveries(cluster, group, rows) if deliveries else None
            if as_json:
                echo_json(_group_as_object(group, rows, ranges))
                continue
            if number:
                echo()
            echo(Styled(group.name), f"  {_heading(group, rows)}")
            if ranges is not None:
                _print_deliveries(ranges)
            else:
                _print_group(group, rows, with_members=members)


def _deliveries(
    cluster: ClusterClient, group: GroupDescription, rows: Sequence[Standing]
) -> list[Delivered]:
    """Return the deliveries of a share group's records. Raises StartError if the group has another
    type."""
    if group.type != SHARE:
        raise StartError(
            f"--deliveries: group {group.name} is a {group.type} group, and only a share group "
            "counts deliveries"
        )
    ends = {(row.topic, row.partition): row.end for row in rows if row.end is not None}
    return delivered_ranges(cluster, group.name, ends)


def _print_deliveries(ranges: Sequence[Delivered]) -> None:
    """Print the table of deliveries, and what the cluster does not report."""
    show(Delivered._fields, ranges, as_json=False)
    if any(delivered.state == AVAILABLE for delivered in ranges):
        note(
            "deliveries are counted when they end; the cluster does not report which of the "
            f"{AVAILABLE} records a member has locked now"
        )


def _group_as_object(
    group: GroupDescription, rows: Sequence[Standing], ranges: Sequence[Delivered] | None
) -> dict[str, object]:
    """Return the group as JSON shows it; `ranges` None: without deliveries."""
    lag = _lag(rows)
    headings, cells = _columns(group, rows)
    deliveries = None if ranges is None else [delivered._asdict() for delivered in ranges]
    return {
        "group": group.name,
        "type": group.type,
        "state": group.state,
        "coordinator": group.coordinator,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [_member_as_object(member) for member in group.members],
        "lag": lag.records,
        "partitions_without_lag": lag.unknown,
        "partitions": [dict(zip(headings, row, strict=True)) for row in cells],
        **({} if deliveries is None else {"deliveries": deliveries}),
    }


def _columns(
    group: GroupDescription, rows: Sequence[Standing]
) -> tuple[Sequence[str], list[Sequence[Cell]]]:
    """Return the headings and the rows of the table of partitions.

    A share-partition has a start offset and a number of members, other partitions have a committed
    offset and the member that reads them.
    """
    if group.type == SHARE:
        headings = ("topic", "partition", _offset_word(SHARE), "end", "lag", "members")
        return headings, [(*row[:5], row.members) for row in rows]
    return Standing._fields[:-1], [row[:-1] for row in rows]


def _member_as_object(member: MemberDescription) -> dict[str, object]:
    """Return the member as JSON shows it."""
    return {
        "member": member.name,
        "id": member.member_id,
        "instance": member.instance_id,
        "host": member.host,
        "protocol": member.protocol,
        "epoch": member.epoch,
        "assignment": by_topic(member.partitions),
        "target": None if member.target is None else by_topic(member.target),
    }


def by_topic(partitions: Sequence[Partition]) -> dict[str, list[int]]:
    """Return the partition numbers by topic, both in order."""
    numbers_by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        numbers_by_topic.setdefault(topic, []).append(index)
    return numbers_by_topic


def _print_group(group: GroupDescription, rows: Sequence[Standing], *, with_members: bool) -> None:
    """Print a table of members or partitions."""
    if with_members:
        headings = ("member", "host", "epoch", "assignment", "target", "instance", "id")
        show(headings, [_member_row(member) for member in group.members], as_json=False)
    else:
        show(*_columns(group, rows), as_json=False)


def _offset_word(group_type: str) -> str:
    """Return the heading of a group's offsets, by the type of the group."""
    return "start" if group_type == SHARE else "committed"


def _heading(group: GroupDescription, rows: Sequence[Standing]) -> str:
    """Return the text beside a group's name.

    `consumer, stable, epoch 3, assignor uniform, coordinator 1, 2 members, lag 5`
    """
    words = [group.type, group.state.lower()]
    if group.epoch is not None:
        behind = "" if group.epoch == group.target_epoch else f" (assigned: {group.target_epoch})"
        words.append(f"epoch {group.epoch}{behind}")
    if group.assignor is not None:
        words.append(f"assignor {group.assignor}")
    plural = "" if len(group.members) == 1 else "s"
    words.append(f"coordinator {group.coordinator}")
    return ", ".join([*words, f"{len(group.members)} member{plural}", f"lag {_lag(rows)}"])


def _member_row(member: MemberDescription) -> Sequence[Cell]:
    """Return the table's row of a member."""
    target = None if member.target is None else _in_words(member.target)
    has = _in_words(member.partitions)
    return member.name, member.host, member.epoch, has, target, member.instance_id, member.member_id


def _in_words(partitions: Sequence[Partition]) -> str | None:
    """Return text such as `orders:0,1 payments:3`, as `--topic` of `ottla group reset` takes it.
    None: there are no partitions."""
    return (
        " ".join(
            f"{topic}:{','.join(map(str, numbers))}"
            for topic, numbers in by_topic(partitions).items()
        )
        or None
    )


def _lag(rows: Sequence[Standing]) -> TotalLag:
    """Return the sum of the lags of all partitions, and how many lags are unknown."""
    return total_lag(row.lag for row in rows)


@group.command("reset")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.option(
    "--to",
    "where",
    required=True,
    metavar="PLACE",
    help="Set the offsets to this place in each partition.",
)
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:PARTITION,…]",
    help="Reset only this topic, or these partitions of it; may be repeated.",
    shell_complete=complete_topics,
)
@click.option(
    "--all-topics",
    is_flag=True,
    help="Reset all partitions for which the group has offsets.",
)
@click.option(
    "--execute",
    is_flag=True,
    help="Set the new offsets. Without --execute, the command only shows them.",
)
@with_bootstrap_server
@with_command_config
@with_json
def reset_group(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    name: str,
    where: str,
    topics: tuple[str, ...],
    all_topics: bool,
    execute: bool,
) -> None:
    """Set the offsets of a group whose members have stopped.

    Shows the new offsets, and sets them only with --execute. A share group then delivers all
    records from there on again, also those that were finished.

    \b
    PLACE is start, end, an offset, -N for N records before each partition's end,
    or @TIME: @2h ago, @2026-11-26T08:00Z, @1764144000000 in milliseconds.
      ottla group reset billing --topic orders --to @2h
      ottla group reset billing --topic orders:0,3 --to 4711 --execute
      ottla group reset billing --all-topics --to end --execute
    """
    place = parse_place(where, time.time_ns() // 1_000_000, "--to")
    chosen = [_parse_topic(text) for text in topics]
    if bool(chosen) == all_topics:
        raise StartError("name what to move: --topic TOPIC, which may be repeated, or --all-topics")
    with ClusterClient(bootstrap_server, command_config) as cluster:
        group = described(cluster, name) if all_topics else described_or_new(cluster, name)
        if all_topics:
            check_is_idle(group)
        old_positions = positions(cluster, name, group.type)
        wanted = list(old_positions) if all_topics else _chosen_partitions(cluster, chosen)
        rows = planned(cluster, offsets_of(old_positions), dict.fromkeys(wanted, place))
        if execute:
            new_offsets = {(row.topic, row.partition): row.new for row in rows}
            set_offsets(cluster, name, group.type, new_offsets)
    headings = ("topic", "partition", _offset_word(group.type), "new")
    show(headings, rows, as_json=as_json)
    if not execute:
        note("a dry run: nothing was moved; add --execute to do it")


def _parse_topic(text: str) -> tuple[str, list[int]]:
    """Return the name and partitions of `TOPIC` or `TOPIC:0,3`; an empty list stands for all.

    Raises StartError if the text has another form.
    """
    name, colon, numbers = text.partition(":")
    parts = [part for part in numbers.split(",") if part]
    if not name or not all(part.isdecimal() for part in parts) or (colon and not parts):
        raise StartError(f"--topic {text}: write it as TOPIC, or TOPIC:0,3 for some partitions")
    return name, [int(part) for part in parts]


def _chosen_partitions(
    cluster: ClusterClient, chosen: Sequence[tuple[str, list[int]]]
) -> list[Partition]:
    """Return the chosen partitions, each once; a topic without numbers stands for all of its
    partitions.

    Raises StartError if a partition does not exist, Refused if a topic does not.
    """
    topics = cluster.topics([name for name, _ in chosen])
    wanted = []
    for name, numbers in chosen:
        count = len(topics[name].partitions)
        for number in numbers or range(count):
            if number >= count:
                raise StartError(f"topic {name} has partitions 0 to {count - 1}, and no {number}")
            wanted.append((name, number))
    return list(dict.fromkeys(wanted))


@group.command("delete")
@click.argument(
    "names", nargs=-1, required=True, metavar="GROUP...", shell_complete=complete_groups
)
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="Delete only the offsets of this topic, and keep the group; may be repeated.",
    shell_complete=complete_topics,
)
@click.option(
    "--execute",
    is_flag=True,
    help="Delete the groups. Without --execute, the command only shows what would be lost.",
)
@with_bootstrap_server
@with_command_config
@with_json
def delete_groups(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    topics: tuple[str, ...],
    execute: bool,
) -> None:
    """Delete groups whose members have stopped, with their offsets, or only the offsets of a topic.

    Shows the offsets, and deletes them only with --execute.

    \b
    ottla group delete billing
    ottla group delete billing --execute
    ottla group delete billing --topic orders --execute
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        types_by_group: dict[str, str] = {}
        rows: list[tuple[str, str, int, int | None]] = []
        for name in dict.fromkeys(names):
            group = described(cluster, name)
            check_is_idle(group)
            types_by_group[name] = group.type
            old_positions = positions(cluster, name, group.type)
            _check_has_topics(name, topics, {topic for topic, _ in old_positions})
            rows += [
                (name, *at, position.offset)
                for at, position in old_positions.items()
                if not topics or at[0] in topics
            ]
        for name, group_type in types_by_group.items() if execute else ():
            if topics:
                places = [(topic, index) for owner, topic, index, _ in rows if owner == name]
                delete_offsets(cluster, name, group_type, places)
                note(f"the offsets of group {name} in {', '.join(topics)} are deleted")
            else:
                delete(cluster, name)
                note(f"group {name} is deleted")
    word = _offset_word(SHARE if set(types_by_group.values()) == {SHARE} else CLASSIC)
    show(("group", "topic", "partition", word), rows, as_json=as_json)
    if not execute:
        note("a dry run: nothing was deleted; add --execute to do it")


def _check_has_topics(group: str, topics: Sequence[str], topics_with_offsets: set[str]) -> None:
    """Check that the group has offsets in each of the named topics. Raises StartError."""
    for topic in topics:
        if topic not in topics_with_offsets:
            raise StartError(
                f"group {group} has no offsets in topic {topic} "
                f"(ottla group describe {group} shows those that it has)"
            )
