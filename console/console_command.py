"""`ottla console`: words, and what they stand for. The console itself is in `server`."""

from __future__ import annotations

from pathlib import Path

import click

from command.admin.decode_options import DecodeOptions, with_decode_options
from command.admin.options import with_bootstrap_server, with_command_config
from command.console_process import check_console_installed
from console.options import ConsoleOptions


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
@with_decode_options
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
    decode: DecodeOptions,
) -> None:
    """Serve a web page in which the cluster is looked at, of Ottla or of Apache Kafka.

    \b
    ottla console --bootstrap-server localhost:9092 --data ./data

    Prints a link with a token in it: whoever has that link sees what the login of this command may
    see. The page changes nothing without --allow-writes. It is reached from this machine alone,
    unless --host says otherwise; there is no TLS, so let others come through a proxy that has it.
    """
    check_console_installed()
    from console.server import run

    options = ConsoleOptions(
        bootstrap_server,
        command_config,
        data,
        allow_writes,
        host,
        port,
        allowed_hosts,
        decode,
    )
    run(options, while_stdin=while_stdin)
