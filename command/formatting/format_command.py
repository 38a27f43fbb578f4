"""`ottla format`: data folders are formatted before the first start of a node.

The command line around `broker.process.formatting`. The options have the names and meanings of
`kafka-storage format`. Never starts a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from command.nodes.node_options import load_node_config, with_cluster_id, with_node_config
from command.output import echo

if TYPE_CHECKING:
    from broker.config.values import BrokerConfig
    from broker.process.formatting import NewUser

_ADD_SCRAM_HELP = (
    "Add a user who can log in by SCRAM from the first start on. The keys are name, password, "
    "iterations, salt, saltedpassword (in place of password; both in base64). May be repeated; add "
    "the same users on every controller. The list of processes shows this option to others: "
    "change the password with ottla user add after the first start."
)
_FEATURE_HELP = (
    "Begin the metadata with this level of a feature, such as group.version=0. May be repeated; "
    "give the same levels to every controller. [default: the levels of --release-version]"
)
_RELEASE_VERSION_HELP = (
    "Begin the metadata with the feature levels of this release of Kafka, such as 4.2, or of a "
    "level of metadata.version, such as 4.2-IV0. [default: the newest that this release has]"
)
_IGNORE_FORMATTED_HELP = (
    "Format the folders that are not formatted yet, and leave the others as they are; options "
    "about the metadata then have no effect on these."
)

_STANDALONE_HELP = (
    "Make this controller the only voter of a new quorum, to which others can be added. Set "
    "controller.quorum.bootstrap.servers, not controller.quorum.voters."
)
_INITIAL_HELP = (
    "Begin the quorum with these controllers, ID@HOST:PORT:DIRECTORY-ID for each, separated by "
    "commas; give the same value to every node. A directory ID is a new random ID, such as "
    "kafka-storage random-uuid prints."
)
_NO_INITIAL_HELP = (
    "Format a node that joins a quorum that there is, at first without a vote "
    "(kafka-metadata-quorum add-controller, or controller.quorum.auto.join.enable=true)."
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
@click.option(
    "-f", "--feature", "features", multiple=True, metavar="NAME=LEVEL", help=_FEATURE_HELP
)
@click.option("-r", "--release-version", metavar="VERSION", help=_RELEASE_VERSION_HELP)
@click.option("-g", "--ignore-formatted", is_flag=True, help=_IGNORE_FORMATTED_HELP)
@click.option("-s", "--standalone", is_flag=True, help=_STANDALONE_HELP)
@click.option("-I", "--initial-controllers", metavar="CONTROLLERS", help=_INITIAL_HELP)
@click.option("-N", "--no-initial-controllers", is_flag=True, help=_NO_INITIAL_HELP)
@with_node_config
def format(
    config_file: str | None,
    overrides: tuple[str, ...],
    cluster_id: str | None,
    add_scram: tuple[str, ...],
    features: tuple[str, ...],
    release_version: str | None,
    ignore_formatted: bool,
    standalone: bool,
    initial_controllers: str | None,
    no_initial_controllers: bool,
    jaas_file: str | None,
) -> None:
    """Format the data folders of a node, as kafka-storage format does.

    For a node that is a cluster of its own, ottla serve formats the folders. All nodes of a larger
    cluster need the same cluster ID; the command proposes an ID if --cluster-id is missing.
    Folders that are formatted already stay as they are; folders of another cluster are rejected.

    \b
    ottla format --config broker.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg
    ottla format --add-scram 'SCRAM-SHA-512=[name=admin,password=PASSWORD]'
    ottla format --release-version 4.2 --feature group.version=0
    ottla format --config broker.properties --standalone
    """
    config = load_node_config(config_file, overrides, jaas_file=jaas_file)
    from broker.node.preparation.first_voters import FirstVoters
    from broker.process.formatting import format_folders

    levels = _levels(config, release_version, features)
    users = _users(add_scram, levels)
    chosen = FirstVoters(standalone, initial_controllers, no_initial_controllers)
    lines = format_folders(
        config, cluster_id, users, levels, ignore_formatted=ignore_formatted, chosen=chosen
    )
    for line in lines:
        echo(line)


def _levels(
    config: BrokerConfig, release_version: str | None, features: Sequence[str]
) -> dict[str, int] | None:
    """Return the feature levels that the user chose, None without a choice. Raises StartError if
    they cannot be used."""
    from command.formatting.feature_arguments import feature_levels

    is_dynamic = "controller.quorum.voters" not in config.originals
    return feature_levels(release_version, features, dynamic_quorum=is_dynamic)


def _users(add_scram: Sequence[str], levels: Mapping[str, int] | None) -> list[NewUser]:
    """Return the users to add. Raises StartError if metadata of these levels has no users."""
    from broker.config.start_error import StartError
    from command.scram_argument import OPTION, scram_record
    from controller.metadata.version import METADATA_VERSION, has_scram

    if add_scram and levels is not None and not has_scram(levels[METADATA_VERSION]):
        raise StartError(
            f"{OPTION}: SCRAM is only supported in metadata.version 3.5-IV2 or later. Choose "
            "--release-version 3.5 or later"
        )
    return [partial(scram_record, text) for text in add_scram]
