"""`ottla group list|describe|reset|delete`: words and what is printed.

The shell around `client.groups.groups` and `committed`. What moves or removes a group is
shown first, and done with --execute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from broker.config.start_error import StartError
from client.cluster import Cluster
from client.core.groups import Group, Member
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
from command.output import Styled, echo, echo_json, note, show

_with_execute = click.option("--execute", is_flag=True, help="Do it; else it is only shown.")


@click.group()
def group() -> None:
    """List and show consumer groups, move them, remove them. Works with Apache Kafka too."""


@group.command("list")
@click.option("-q", "--quiet", is_flag=True, help="Names only.")
@with_bootstrap_server
@with_command_config
@with_json
def list_groups(
    bootstrap_server: str, command_config: str | None, as_json: bool, quiet: bool
) -> None:
    """List groups."""
    with Cluster(bootstrap_server, command_config) as cluster:
        found = listed(cluster)
    if quiet and not as_json:
        for one in found:
            echo(one.group)
    else:
        show(GroupSummary._fields, found, as_json=as_json)
    if not found:
        note("no groups that you may see: a consumer that commits makes one")


@group.command("describe")
@click.argument(
    "names", nargs=-1, required=True, metavar="GROUP...", shell_complete=complete_groups
)
@with_bootstrap_server
@with_command_config
@click.option("-m", "--members", is_flag=True, help="The members, in place of the partitions.")
@with_json
def describe_groups(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    members: bool,
) -> None:
    """Show groups: their state, and for each partition the committed offset, the end, the lag, and
    the member that reads it. --json has the members too."""
    with Cluster(bootstrap_server, command_config) as cluster:
        for number, name in enumerate(dict.fromkeys(names)):
            found = described(cluster, name)
            rows = standings(cluster, found)
            if as_json:
                echo_json(_as_object(found, rows))
            else:
                _print_group(found, rows, apart=number > 0, with_members=members)


def _as_object(found: Group, rows: Sequence[Standing]) -> dict[str, object]:
    lag = _lag(rows)
    return {
        "group": found.name,
        "type": found.type,
        "state": found.state,
        "coordinator": found.coordinator,
        "assignor": found.assignor,
        "epoch": found.epoch,
        "target_epoch": found.target_epoch,
        "members": [_member_as_object(one) for one in found.members],
        "lag": lag.records,
        "partitions_without_lag": lag.unknown,
        "partitions": [one._asdict() for one in rows],
    }


def _member_as_object(one: Member) -> dict[str, object]:
    return {
        "member": one.name,
        "id": one.member_id,
        "instance": one.instance_id,
        "host": one.host,
        "protocol": one.protocol,
        "epoch": one.epoch,
        "assignment": by_topic(one.partitions),
        "target": None if one.target is None else by_topic(one.target),
    }


def by_topic(partitions: Sequence[Partition]) -> dict[str, list[int]]:
    """Partition numbers by topic, both in order."""
    found: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        found.setdefault(topic, []).append(index)
    return found


def _print_group(
    found: Group, rows: Sequence[Standing], *, apart: bool, with_members: bool
) -> None:
    if apart:
        echo()
    echo(Styled(found.name), f"  {_heading(found, rows)}")
    if with_members:
        headings = ("member", "host", "epoch", "assignment", "target", "instance", "id")
        show(headings, [_member_row(one) for one in found.members], as_json=False)
    else:
        show(Standing._fields, rows, as_json=False)


def _heading(found: Group, rows: Sequence[Standing]) -> str:
    """`consumer, stable, epoch 3, assignor uniform, coordinator 1, 2 members, lag 5`."""
    words = [found.type, found.state.lower()]
    if found.epoch is not None:
        behind = "" if found.epoch == found.target_epoch else f" (assigned: {found.target_epoch})"
        words.append(f"epoch {found.epoch}{behind}")
    if found.assignor is not None:
        words.append(f"assignor {found.assignor}")
    plural = "" if len(found.members) == 1 else "s"
    words.append(f"coordinator {found.coordinator}")
    return ", ".join([*words, f"{len(found.members)} member{plural}", f"lag {_lag(rows)}"])


def _member_row(one: Member) -> Sequence[Cell]:
    target = None if one.target is None else _in_words(one.target)
    has = _in_words(one.partitions)
    return one.name, one.host, one.epoch, has, target, one.instance_id, one.member_id


def _in_words(partitions: Sequence[Partition]) -> str | None:
    """`orders:0,1 payments:3`, as `--topic` of `ottla group reset` takes them."""
    return (
        " ".join(
            f"{topic}:{','.join(map(str, numbers))}"
            for topic, numbers in by_topic(partitions).items()
        )
        or None
    )


def _lag(rows: Sequence[Standing]) -> TotalLag:
    return total_lag(one.lag for one in rows)


@group.command("reset")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.option("--to", "where", required=True, metavar="PLACE")
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:PARTITION,…]",
    shell_complete=complete_topics,
)
@click.option("--all-topics", is_flag=True, help="All that the group has committed.")
@_with_execute
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
    """Move a group whose members have stopped: shows where to, and does it with --execute.

    \b
    PLACE is start, end, an offset, -N for N records before the end, or @TIME.
      ottla group reset billing --topic orders --to @2h
      ottla group reset billing --topic orders:0,3 --to 4711 --execute
      ottla group reset billing --all-topics --to end --execute
    """
    place = parse_place(where, time.time_ns() // 1_000_000, "--to")
    chosen = [_parse_topic(one) for one in topics]
    if bool(chosen) == all_topics:
        raise StartError("name what to move: --topic TOPIC, which may be repeated, or --all-topics")
    with Cluster(bootstrap_server, command_config) as cluster:
        if all_topics:
            check_is_idle(described(cluster, name))
        committed = committed_offsets(cluster, name)
        wanted = list(committed) if all_topics else _places(cluster, chosen)
        rows = planned(cluster, committed, dict.fromkeys(wanted, place))
        if execute:
            commit_offsets(cluster, name, {(one.topic, one.partition): one.new for one in rows})
    show(Moved._fields, rows, as_json=as_json)
    if not execute:
        note("a dry run: nothing was moved; add --execute to do it")


def _parse_topic(text: str) -> tuple[str, list[int]]:
    name, colon, numbers = text.partition(":")
    found = [one for one in numbers.split(",") if one]
    if not name or not all(one.isdecimal() for one in found) or (colon and not found):
        raise StartError(f"--topic {text}: write it as TOPIC, or TOPIC:0,3 for some partitions")
    return name, [int(one) for one in found]


def _places(cluster: Cluster, chosen: Sequence[tuple[str, list[int]]]) -> list[Partition]:
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
@_with_execute
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
    """Remove groups whose members have stopped, with all that they have committed: shows what, and
    does it with --execute."""
    with Cluster(bootstrap_server, command_config) as cluster:
        rows = []
        for name in dict.fromkeys(names):
            check_is_idle(described(cluster, name))
            found = committed_offsets(cluster, name)
            rows += [(name, *at, offset) for at, offset in found.items()]
        for name in dict.fromkeys(names) if execute else ():
            delete(cluster, name)
            note(f"group {name} is deleted")
    show(("group", "topic", "partition", "committed"), rows, as_json=as_json)
    if not execute:
        note("a dry run: nothing was deleted; add --execute to do it")
