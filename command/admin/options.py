"""The options that every command on a running cluster has, with the same names and help in each.

The cluster's address and the client properties may come from the environment, for all commands of
a shell, or from a profile (`client.profiles`). Only declares options of click; commands use them.
"""

from __future__ import annotations

import click
from click.core import ParameterSource


def _bootstrap_server() -> str:
    """Return the address of the profile in use, localhost:9092 without a profile. Raises StartError
    if the profiles cannot be read."""
    from client.profiles import default_bootstrap_server

    return default_bootstrap_server()


def _command_config() -> str | None:
    """Return the path of the client properties file of the profile in use, None if it has none.

    None also if the user named another cluster, because that cluster has other users. Raises
    StartError if the profiles cannot be read.
    """
    context = click.get_current_context()
    if context.get_parameter_source("bootstrap_server") is not ParameterSource.DEFAULT:
        return None
    from client.profiles import default_command_config

    return default_command_config()


with_bootstrap_server = click.option(
    "-b",
    "--bootstrap-server",
    envvar="OTTLA_BOOTSTRAP_SERVERS",
    default=_bootstrap_server,
    metavar="HOST:PORT",
    help="Connect to the cluster through this node; separate several with commas. [default: "
    "OTTLA_BOOTSTRAP_SERVERS, else the profile in use, else localhost:9092]",
)
with_command_config = click.option(
    "--command-config",
    envvar="OTTLA_COMMAND_CONFIG",
    default=_command_config,
    metavar="FILE",
    help="Use the client properties in FILE for TLS and logins, as Kafka's tools do. [default: "
    "OTTLA_COMMAND_CONFIG, else the profile in use]",
)
with_json = click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object on each line."
)
