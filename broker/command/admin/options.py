"""The options that every command on a running cluster takes, with the same words in each.

Where the cluster is and how one gets in may stand in the environment, for all commands of a shell.
Values of click alone: what a command does with them is its own.
"""

from __future__ import annotations

import click

with_bootstrap_server = click.option(
    "--bootstrap-server",
    envvar="OTTLA_BOOTSTRAP_SERVERS",
    show_envvar=True,
    default="localhost:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Any node of the cluster, or several, separated by commas.",
)
with_command_config = click.option(
    "--command-config",
    envvar="OTTLA_COMMAND_CONFIG",
    show_envvar=True,
    metavar="FILE",
    help="Client properties for listeners with TLS or SASL, as Kafka's tools take them "
    "(security.protocol, sasl.jaas.config, ssl.truststore.location, …).",
)
with_json = click.option("--json", "as_json", is_flag=True, help="Print one object of JSON a line.")
