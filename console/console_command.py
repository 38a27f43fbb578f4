"""The command line of `ottla console`: its options. The console itself is in `server`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from broker.config.start_error import StartError
from command.admin.decode_options import DecodeOptions, with_decode_options
from command.admin.options import with_bootstrap_server, with_command_config
from command.console_process import check_console_installed
from command.help_pages.number_ranges import WholeNumber
from command.output import echo
from console.login.passwords import add_user
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
    "--behind-tls",
    is_flag=True,
    help="Browsers reach the page only through a proxy with TLS: send them its cookie only by TLS.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take the token from FILE, so that it stays the same; the command makes a missing FILE. "
    "The environment variable OTTLA_CONSOLE_TOKEN has a token, too. [default: a new token]",
)
@click.option(
    "--password-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Let the users in FILE log in with a name and a password, instead of a token.",
)
@click.option(
    "--add-user",
    "new_user",
    metavar="NAME",
    help="Ask for a password, write the user NAME to the --password-file, and end.",
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
    behind_tls: bool,
    token_file: Path | None,
    password_file: Path | None,
    new_user: str | None,
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
    if new_user is not None:
        _add_user(password_file, new_user)
        return
    check_console_installed()
    from console.server import TOKEN_VARIABLE, run

    options = ConsoleOptions(
        bootstrap_server,
        command_config,
        data,
        allow_writes,
        host,
        port,
        allowed_hosts,
        behind_tls=behind_tls,
        token=os.environ.get(TOKEN_VARIABLE),
        token_file=token_file,
        password_file=password_file,
        decode=decode,
    )
    run(options, while_stdin=while_stdin)


def _add_user(password_file: Path | None, name: str) -> None:
    """Read a password from the terminal or from standard input, and write the user to the file."""
    if password_file is None:
        raise StartError("--add-user needs --password-file, the file with the users")
    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    add_user(password_file, name, password)
    echo(f"user {name} can log in to a console with --password-file {password_file}")
