"""`ottla console`: words, and what they stand for. The console itself is in `server`."""

from __future__ import annotations

from pathlib import Path

import click

from broker.command.admin.options import with_bootstrap_server, with_command_config
from broker.command.console_process import check_console_installed
from broker.console.options import ConsoleOptions, DecodeOptions


@click.command()
@with_bootstrap_server
@with_command_config
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Data folder of a node on this machine, or of an ottla cluster: to see its segments, and "
    "how a record flows.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address of this machine to serve."
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which browsers may reach it, behind a proxy for example.",
)
@click.option("--allow-writes", is_flag=True, help="Let the page change something, too.")
@click.option(
    "--avro-schema",
    "avro",
    multiple=True,
    metavar="[TOPIC=]FILE",
    help="An .avsc file by which values are decoded, of a topic or of all.",
)
@click.option(
    "--proto-descriptors",
    "descriptors",
    metavar="FILE",
    help="Of protoc --include_imports --descriptor_set_out.",
)
@click.option(
    "--proto-message",
    "messages",
    multiple=True,
    metavar="[TOPIC=]NAME",
    help="The message in it that values are, with its package.",
)
@click.option("--registry", metavar="URL", help="A schema registry, asked by ids in the records.")
@click.option("--while-stdin", is_flag=True, hidden=True)
def console(
    bootstrap_server: str,
    command_config: str | None,
    data: tuple[Path, ...],
    port: int,
    host: str,
    allowed_hosts: tuple[str, ...],
    allow_writes: bool,
    while_stdin: bool,
    avro: tuple[str, ...],
    descriptors: str | None,
    messages: tuple[str, ...],
    registry: str | None,
) -> None:
    """Serve a web page in which the cluster is looked at, of Ottla or of Apache Kafka.

    \b
    ottla console --bootstrap-server localhost:9092 --data ./data

    Prints a link with a token in it: whoever has that link sees what the login of this command may
    see. The page changes nothing without --allow-writes. It is reached from this machine alone,
    unless --host says otherwise; there is no TLS, so let others come through a proxy that has it.
    """
    check_console_installed()
    from broker.console.server import run

    options = ConsoleOptions(
        bootstrap_server,
        command_config,
        data,
        allow_writes,
        host,
        port,
        allowed_hosts,
        DecodeOptions(avro, descriptors, messages, registry),
    )
    run(options, while_stdin=while_stdin)
