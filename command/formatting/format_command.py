"""`ottla format`: data folders are formatted before the first start of a node.

The command line around `broker.process.server.format_folders`. Options have the names and meanings
of `kafka-storage format`. Never starts a node.
"""

from __future__ import annotations

from functools import partial

import click

from command.nodes.node_options import load_node_config, with_cluster_id, with_node_config
from command.output import echo

_ADD_SCRAM_HELP = (
    "Add a user who can log in by SCRAM from the first start on. The keys are name, password, "
    "iterations, salt, saltedpassword (in place of password; both in base64). May be repeated; add "
    "the same users on every controller. The list of processes shows this option to others: "
    "change the password with ottla user add after the first start."
)


@click.command()
@with_cluster_id
@click.option(
    "--add-scram",
    "add_scram",
    multiple=True,
    metavar="MECHANISM=[KEY=VALUE,…]",
    help=_ADD_SCRAM_HELP,
)
@with_node_config
def format(
    config_file: str | None,
    overrides: tuple[str, ...],
    cluster_id: str | None,
    add_scram: tuple[str, ...],
    jaas_file: str | None,
) -> None:
    """Format the data folders of a node, as kafka-storage format does.

    For a node that is a cluster of its own, ottla serve formats the folders. All nodes of a larger
    cluster need the same cluster ID; the command proposes an ID if --cluster-id is missing.
    Folders that are formatted already stay as they are; folders of another cluster are rejected.

    \b
    ottla format --config broker.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg
    ottla format --add-scram 'SCRAM-SHA-512=[name=admin,password=PASSWORD]'
    """
    config = load_node_config(config_file, overrides, jaas_file=jaas_file)
    from broker.process.server import format_folders
    from command.scram_argument import scram_record

    users = [partial(scram_record, text) for text in add_scram]
    for line in format_folders(config, cluster_id, users):
        echo(line)
