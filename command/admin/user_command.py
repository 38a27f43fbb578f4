"""`ottla user add|list|delete`: users who log in by SCRAM.

The command line around `client.access.users`: options, the password, the output. The password is
typed at a terminal without an echo, or read from a file or from standard input. It is never
printed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from broker.config.start_error import StartError
from client.access.users import Credential, credentials, delete, set_password
from client.cluster import ClusterClient
from client.refusals import Refused
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.help_pages.command_group import CommandGroup
from command.help_pages.number_ranges import WholeNumber
from command.output import echo, show
from controller.metadata.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SCRAM_MECHANISMS,
)

DEFAULT_MECHANISM = "SCRAM-SHA-512"
_PASSWORD_CHARACTERS_MAX = 65_536

_mechanism_of = click.Choice(list(SCRAM_MECHANISMS))


@click.group(cls=CommandGroup)
def user() -> None:
    """Add, list and delete users who log in by SCRAM.

    The cluster's metadata has salted hashes of their passwords. ACLs decide what a user may do: see
    ottla acl.
    Works with Apache Kafka too.

    \b
    ottla user add alice
    ottla user list
    """


@user.command("add")
@click.argument("name")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=_mechanism_of,
    help=f"Let the user log in by this mechanism; may be repeated. [default: {DEFAULT_MECHANISM}]",
)
@click.option(
    "--password",
    metavar="PASSWORD",
    help="Set this password. The list of processes shows it to others: omit --password to be asked "
    "for it.",
)
@click.option(
    "--password-file",
    metavar="FILE",
    help="Read the password from the first line of FILE.",
)
@click.option(
    "--iterations",
    type=WholeNumber(ITERATIONS_MIN, ITERATIONS_MAX),
    default=ITERATIONS_MIN,
    show_default=True,
    metavar="N",
    help="Hash the password N times.",
)
@with_bootstrap_server
@with_command_config
@with_json
def add(
    name: str,
    mechanisms: tuple[str, ...],
    password: str | None,
    password_file: str | None,
    iterations: int,
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Add the user NAME, or set another password for an existing user.

    \b
    In a terminal, the command asks for the password. Elsewhere the password is
    the first line of standard input:
      ottla user add alice
      head -c 18 /dev/urandom | base64 | tee alice.secret | ottla user add alice
    """
    if not name:
        raise StartError("the name of a user must not be empty")
    secret = _read_password(password, password_file)
    added = []
    with ClusterClient(bootstrap_server, command_config) as cluster:
        for mechanism in dict.fromkeys(mechanisms or (DEFAULT_MECHANISM,)):
            kind = SCRAM_MECHANISMS[mechanism]
            set_password(cluster.call, name, kind, iterations, secret, os.urandom)
            added.append(Credential(name, mechanism, iterations))
    if as_json:
        _print_users(added, as_json=True)
        return
    echo(f"user {name} can log in by {_mechanism_names(added)}")


@user.command("list")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@with_bootstrap_server
@with_command_config
@with_json
def list_users(
    names: tuple[str, ...], bootstrap_server: str, command_config: str | None, as_json: bool
) -> None:
    """List the users NAME, or all users.

    \b
    ottla user list
    ottla user list alice
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        listed = credentials(cluster.call, names)
    _print_users(listed, as_json=as_json)
    if not listed:
        echo("no user can log in by SCRAM: ottla user add NAME makes one", to_stderr=True)


@user.command("delete")
@click.argument("name")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=_mechanism_of,
    help="Delete only the login by this mechanism; may be repeated. [default: all mechanisms]",
)
@with_bootstrap_server
@with_command_config
@with_json
def delete_user(
    name: str,
    mechanisms: tuple[str, ...],
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Delete the user NAME, who can then no longer log in.

    Open connections stay open. ACLs of the user stay, too (ottla acl list --principal).

    \b
    ottla user delete alice
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        existing = credentials(cluster.call, [name])
        deleted = [
            credential
            for credential in existing
            if not mechanisms or credential.mechanism in mechanisms
        ]
        if not deleted:
            raise Refused(f"user {name} logs in by {_mechanism_names(existing)} alone")
        for credential in deleted:
            delete(cluster.call, name, SCRAM_MECHANISMS[credential.mechanism])
    if as_json:
        _print_users(deleted, as_json=True)
        return
    echo(f"user {name} can no longer log in by {_mechanism_names(deleted)}; open connections stay")


def _read_password(typed: str | None, file: str | None) -> str:
    """Return the password from the option, a file, a prompt or standard input.

    Raises StartError if both options are set or the password is empty, OSError if the file cannot
    be read.
    """
    if typed is not None and file is not None:
        raise StartError("--password and --password-file are both given: leave one out")
    password = typed
    if file is not None:
        with open(file, encoding="utf-8-sig") as opened:
            password = _first_line(file, opened)
    elif password is None and sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    elif password is None:
        password = _first_line("standard input", sys.stdin)
    if not password:
        raise StartError("the password is empty: nobody could log in with it")
    return password


def _first_line(name: str, file: TextIO) -> str:
    """Return the first line, without its end or a byte order mark. Raises StartError if it is not
    UTF-8 or longer than _PASSWORD_CHARACTERS_MAX."""
    try:
        line = file.readline(_PASSWORD_CHARACTERS_MAX + 2)
    except UnicodeDecodeError as error:
        raise StartError(f"{name}: the password is not UTF-8") from error
    password = line.removeprefix("\ufeff").rstrip("\r\n")
    if len(password) > _PASSWORD_CHARACTERS_MAX:
        raise StartError(
            f"{name}: its first line is the password, of {_PASSWORD_CHARACTERS_MAX} characters at "
            "most; this one is longer"
        )
    return password


def _mechanism_names(listed: Sequence[Credential]) -> str:
    """Return the mechanisms of the credentials, with "and" between them."""
    return " and ".join(credential.mechanism for credential in listed)


def _print_users(listed: Sequence[Credential], *, as_json: bool) -> None:
    show(Credential._fields, listed, as_json=as_json)
