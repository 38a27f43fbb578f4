"""`ottla console`: words, and what they stand for. The console itself is in `server`."""

from __future__ import annotations

from pathlib import Path

import click

from command.admin.decode_options import DecodeOptions, with_decode_options
from command.admin.options import with_bootstrap_server, with_command_config
from command.console_process import check_console_installed
from command.help_pages.number_ranges import WholeNumber
from console.options import ConsoleOptions


@click.command()
@with_bootstrap_server
@with_command_config
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Show the segments and the flow of a record, too, from the data folder of a node on this "
    "machine or the folder of an ottla cluster; may be repeated.",
)
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=8080,
    show_default=True,
    metavar="PORT",
    help="Serve the page on this port; 0: any free port.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Serve the page at this address of the machine.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Accept requests of browsers to this host name, too, such as a proxy's; may be repeated.",
)
@click.option(
    "--allow-writes", is_flag=True, help="Let the page change the cluster, not only show it."
)
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
    """Serve a web page that shows a cluster, of Ottla or of Apache Kafka.

    \b
    ottla console --bootstrap-server localhost:9092 --data ./data

    Prints a link with a token: anyone who has the link sees what the login of this command may see.
    Without --allow-writes, the page changes nothing. Only browsers on this machine can reach the
    page, unless --host names another address. The page has no TLS: use a proxy with TLS for other
    machines.
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
