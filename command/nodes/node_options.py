"""The options of commands with a node's configuration, the same in each, and that configuration.

Declares options of click, and prints the warnings of a configuration. Never starts a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from broker.process.standard_streams import say

if TYPE_CHECKING:
    from broker.config.values import BrokerConfig

_CONFIG_HELP = (
    "Read the configuration from FILE, in the form of Kafka's server.properties; the environment "
    "variable OTTLA_CONFIG names a file, too. Without a file, the single-node profile applies."
)
_CLUSTER_ID_HELP = (
    "Format empty data folders with this cluster ID, 22 characters of base64url. A single node "
    "generates its own; all nodes of a larger cluster need the same ID."
)
_JAAS_HELP = "Take logins of listeners from this JAAS file instead of the one in KAFKA_OPTS."
_OVERRIDE_HELP = (
    "Set this key of Kafka's server.properties; takes precedence over the file. May be repeated."
)

with_cluster_id = click.option(
    "--cluster-id", metavar="ID", envvar="OTTLA_CLUSTER_ID", help=_CLUSTER_ID_HELP
)


def with_node_config(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options `--config`, `--override` and `--jaas-config`, which every
    command with a node's configuration has."""
    with_override = click.option(
        "--override", "overrides", multiple=True, metavar="KEY=VALUE", help=_OVERRIDE_HELP
    )
    with_file = click.option(
        "--config", "config_file", metavar="FILE", envvar="OTTLA_CONFIG", help=_CONFIG_HELP
    )
    with_jaas = click.option("--jaas-config", "jaas_file", metavar="FILE", help=_JAAS_HELP)
    return with_file(with_override(with_jaas(command)))


def load_node_config(
    config_file: str | None,
    overrides: tuple[str, ...],
    below: dict[str, str] | None = None,
    jaas_file: str | None = None,
) -> BrokerConfig:
    """Return the node's config from the file, the overrides and the defaults in `below`. Raises
    StartError with a line for each fault.

    Prints to stderr the profile that is used without a file, and the config's warnings.
    """
    from broker.config.file import load_config

    config = load_config(config_file, overrides, below, jaas_file)
    if config.profile_name is not None:
        say(
            f"ottla: no --config: using the {config.profile_name} profile "
            f"(node {config.node_id}, data in {shown_folders(config)})",
            error=True,
        )
    for warning in config.warnings:
        say(f"ottla: warning: {warning}", error=True)
    return config


def shown_folders(config: BrokerConfig) -> str:
    """Return the data folders as a user can type them: relative ones begin with `./`."""
    return ", ".join(
        folder if folder.startswith(("/", ".")) else f"./{folder}" for folder in config.log_dirs
    )
