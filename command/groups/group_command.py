"""`ottla group list|describe|reset|delete`: options and output.

The command line around `client.groups.groups` and `client.groups.committed`. Moving or deleting a
group is only shown, unless --execute is given.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.groups import GroupDescription, MemberDescription
from client.core.leaders import Partition
from client.groups.committed import commit_offsets, committed_offsets
from client.groups.groups import (
    GroupSummary,
    Standing,
    check_is_idle,
    delete,
    described,
    listed,
    standings,
)
from client.groups.moving import Moved, planned
from client.groups.total_lag import TotalLag, total_lag
from client.places import parse_place
from client.tables import Cell
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.completion.completing import complete_groups, complete_topics
from command.help_pages.command_group import CommandGroup
from command.output import Styled, echo, echo_json, note, show


@click.group(cls=CommandGroup)
def group() -> None:
    """List, describe, reset and delete consumer groups. Works with Apache Kafka too.

    \b
    ottla group list
    ottla group describe billing
    """


@group.command("list")
@click.option("-q", "--quiet", is_flag=True, help="Print only the names.")
@with_bootstrap_server
@with_command_config
@with_json
def list_groups(
    bootstrap_server: str, command_config: str | None, as_json: bool, quiet: bool
) -> None:
    """List consumer groups.

    \b
    ottla group list
    ottla group list --quiet
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        groups = listed(cluster)
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
@with_json
def describe_groups(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    members: bool,
) -> None:
    """Show the state of groups, and their committed offsets and lag.

    Each partition has a row with the committed offset, the end, the lag, and the member that reads
    the partition. --json prints the members, too.

    \b
    ottla group describe billing
    ottla group describe billing --members
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        for number, name in enumerate(dict.fromkeys(names)):
            group = described(cluster, name)
            rows = standings(cluster, group)
            if as_json:
                echo_json(_group_as_object(group, rows))
            else:
                _print_group(group, rows, apart=number > 0, with_members=members)


def _group_as_object(group: GroupDescription, rows: Sequence[Standing]) -> dict[str, object]:
    """Return the group as JSON shows it."""
    lag = _lag(rows)
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
        "partitions": [row._asdict() for row in rows],
    }


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


def _print_group(
    group: GroupDescription, rows: Sequence[Standing], *, apart: bool, with_members: bool
) -> None:
    """Print the heading and a table of members or partitions, after a blank line if `apart`."""
    if apart:
        echo()
    echo(Styled(group.name), f"  {_heading(group, rows)}")
    if with_members:
        headings = ("member", "host", "epoch", "assignment", "target", "instance", "id")
        show(headings, [_member_row(member) for member in group.members], as_json=False)
    else:
        show(Standing._fields, rows, as_json=False)


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
    help="Reset all partitions for which the group has committed offsets.",
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
    """Set the committed offsets of a group whose members have stopped.

    Shows the new offsets, and sets them only with --execute.

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
        if all_topics:
            check_is_idle(described(cluster, name))
        committed = committed_offsets(cluster, name)
        wanted = list(committed) if all_topics else _chosen_partitions(cluster, chosen)
        rows = planned(cluster, committed, dict.fromkeys(wanted, place))
        if execute:
            commit_offsets(cluster, name, {(row.topic, row.partition): row.new for row in rows})
    show(Moved._fields, rows, as_json=as_json)
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
    execute: bool,
) -> None:
    """Delete groups whose members have stopped, with their committed offsets.

    Shows the offsets, and deletes the groups only with --execute.

    \b
    ottla group delete billing
    ottla group delete billing --execute
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        rows = []
        for name in dict.fromkeys(names):
            check_is_idle(described(cluster, name))
            offsets = committed_offsets(cluster, name)
            rows += [(name, *at, offset) for at, offset in offsets.items()]
        for name in dict.fromkeys(names) if execute else ():
            delete(cluster, name)
            note(f"group {name} is deleted")
    show(("group", "topic", "partition", "committed"), rows, as_json=as_json)
    if not execute:
        note("a dry run: nothing was deleted; add --execute to do it")
