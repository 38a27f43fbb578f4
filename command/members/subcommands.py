"""The subcommands of `ottla cluster`, for another shell while it runs: kill, restart, grow, shrink.

Declares options of click, and prints what was done. Modules that do the work are imported where
they are used, because `command.cli` imports this one at each start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from client.tables import counted
from command.admin.options import with_json
from command.help_pages.number_ranges import WholeNumber
from command.output import done, echo_json, note

if TYPE_CHECKING:
    from command.nodes.running import RunningNode

_with_folder = click.option(
    "--dir",
    "folder",
    metavar="DIR",
    help="Name the folder of the cluster. [default: cluster]",
)


_with_admin_config = click.option(
    "--command-config",
    metavar="FILE",
    help="Change the cluster with the client properties in FILE. [default: DIR/admin.properties, "
    "if --secure created it]",
)


def _node(context: click.Context, folder: str | None, node_id: int) -> RunningNode:
    """Return the node of the cluster folder. Raises StartError if the folder has no such node."""
    from command.nodes.running import RunningNode

    return RunningNode(_folder(context, folder), node_id)


def _folder(context: click.Context, folder: str | None) -> str:
    """Return the cluster's folder; `--dir` may also stand before the subcommand."""
    assert context.parent is not None
    return folder or context.parent.params["folder"]


def _command_config(context: click.Context, file: str | None) -> str | None:
    """Return the file of client properties; the option may also stand before the subcommand."""
    assert context.parent is not None
    return file or context.parent.params["command_config"]


def _note_replicas(replicas: int | None) -> None:
    """Print how many replicas new topics get, if the files of the nodes have changed."""
    if replicas is not None:
        shown = counted(replicas, "replica")
        note(f"new topics get {shown} by default after ottla cluster restart N of each node")


def _report(text: str, values: Mapping[str, object], *, as_json: bool) -> None:
    """Print `text`, the report of finished work, on standard error; with --json print `values` on
    standard output instead."""
    if as_json:
        echo_json(values)
    else:
        note(text)


@click.command("kill")
@click.argument("node_id", type=WholeNumber(1), metavar="N")
@_with_folder
@with_json
@click.pass_context
def kill_node(context: click.Context, node_id: int, folder: str | None, as_json: bool) -> None:
    """Kill node N at once, without a clean stop, as a failure does.

    The node keeps its data. Requests that it has not answered yet get no answer.

    \b
    ottla cluster kill 2
    """
    process = _node(context, folder, node_id).kill_and_wait()
    text = f"node {node_id} (process {process}) was killed; ottla cluster restart {node_id} starts"
    done(f"{text} it again", {"node": node_id, "killed": process}, as_json=as_json)


@click.command("restart")
@click.argument("node_id", type=WholeNumber(1), metavar="N")
@_with_folder
@with_json
@click.pass_context
def restart_node(context: click.Context, node_id: int, folder: str | None, as_json: bool) -> None:
    """Stop node N cleanly, if it runs, and start it again.

    The command ends when the node accepts connections.

    \b
    ottla cluster restart 2
    """
    process = _node(context, folder, node_id).restart()
    text = f"node {node_id} serves again (process {process})"
    done(text, {"node": node_id, "process": process}, as_json=as_json)


@click.command("grow")
@click.argument("count", type=WholeNumber(1, 8), metavar="[N]", required=False)
@click.option(
    "--controllers/--no-controllers",
    "are_controllers",
    default=None,
    help="Let all new nodes be controllers, too, or none. [default: so many that the number of "
    "controllers stays odd, as in a new cluster of that size]",
)
@click.option(
    "--port",
    "first_port",
    type=WholeNumber(1, 65517),
    metavar="BASE",
    help="Give the first new node the port BASE for clients, the next node the next, and so on; "
    "controllers also listen on ports 10 above. [default: ports that follow from the ids]",
)
@_with_folder
@_with_admin_config
@with_json
@click.pass_context
def grow_cluster(
    context: click.Context,
    count: int | None,
    are_controllers: bool | None,
    first_port: int | None,
    folder: str | None,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Add N nodes to the running cluster.

    The command ends when the new nodes serve, and those that are controllers vote. The cluster
    serves its clients meanwhile. Without N, the command finishes what an earlier one began, or else
    adds one node.

    \b
    ottla cluster grow
    ottla cluster grow 2 --controllers
    """
    from command.members.growing import grow

    growth = grow(
        _folder(context, folder),
        count,
        are_controllers,
        first_port,
        _command_config(context, command_config),
        note,
    )
    shown = ", ".join(map(str, growth.nodes))
    text = f"new in the cluster: {shown}" if growth.nodes else "nothing was to be added"
    values = {"nodes": growth.nodes, "controllers": growth.controllers}
    _note_replicas(growth.replicas)
    _report(text, values, as_json=as_json)


@click.command("shrink")
@click.argument("node_id", type=WholeNumber(1), metavar="N")
@click.option(
    "--fewer-replicas",
    is_flag=True,
    help="Let a partition have one replica less, if no other broker is left for it.",
)
@_with_folder
@_with_admin_config
@with_json
@click.pass_context
def shrink_cluster(
    context: click.Context,
    node_id: int,
    fewer_replicas: bool,
    folder: str | None,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Remove node N from the running cluster, and delete its files.

    Its replicas move to other brokers first, so no record is lost, also if the node is dead. The
    cluster serves its clients meanwhile. If the command fails, it may be repeated.

    \b
    ottla cluster shrink 4
    """
    from command.members.shrinking import shrink

    end = shrink(
        _folder(context, folder),
        node_id,
        _command_config(context, command_config),
        note,
        fewer_replicas=fewer_replicas,
    )
    kept = f"; its data in {', '.join(end.kept_folders)} stays" if end.kept_folders else ""
    text = f"node {node_id} has left the cluster of nodes {', '.join(map(str, end.nodes))}{kept}"
    _note_replicas(end.replicas)
    _report(text, {"left": node_id, "nodes": end.nodes}, as_json=as_json)


SUBCOMMANDS = (kill_node, restart_node, grow_cluster, shrink_cluster)
