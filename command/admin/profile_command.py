"""`ottla profile list|use|add|remove`: named clusters, and the one that commands use.

The command line around `client.profiles`.
"""

from __future__ import annotations

import os

import click

from broker.config.start_error import StartError
from client.connection import parse_addresses
from client.profiles import Profile, load_profiles, save_profiles
from command.admin.options import with_json
from command.help_pages.command_group import CommandGroup
from command.output import done, note, show


@click.group(cls=CommandGroup)
def profile() -> None:
    """Save clusters under names, and choose the one that commands use.

    \b
    ottla profile add test -b kafka-1:9092 --command-config test.properties
    ottla profile use test

    --bootstrap-server, OTTLA_BOOTSTRAP_SERVERS and OTTLA_PROFILE take precedence over the profile
    in use.
    """


@profile.command("list")
@with_json
def list_profiles(as_json: bool) -> None:
    """List profiles; a star marks the profile in use.

    \b
    ottla profile list
    """
    profiles = load_profiles()
    rows = [
        ("*" if name == profiles.in_use else "", name, saved.bootstrap_server, saved.command_config)
        for name, saved in sorted(profiles.by_name.items())
    ]
    show(("used", "profile", "bootstrap_server", "command_config"), rows, as_json=as_json)
    if not rows:
        note("no profiles: ottla profile add NAME --bootstrap-server HOST:PORT makes one")


@profile.command("use")
@click.argument("name", required=False)
@click.option("--none", is_flag=True, help="Use no profile: commands connect to localhost:9092.")
@with_json
def use(name: str | None, none: bool, as_json: bool) -> None:
    """Use the profile NAME in all commands from now on.

    \b
    ottla profile use test
    ottla profile use --none
    """
    profiles = load_profiles()
    if none == (name is not None):
        raise StartError("give the NAME of a profile, or --none")
    if name is not None and name not in profiles.by_name:
        raise StartError(f"there is no profile {name}: ottla profile list shows all")
    save_profiles(profiles._replace(in_use=name))
    message = f"profile {name} is used" if name is not None else "no profile is used"
    done(message, {"profile": name, "used": name is not None}, as_json=as_json)


@profile.command("add")
@click.argument("name")
@click.option(
    "-b",
    "--bootstrap-server",
    required=True,
    metavar="HOST:PORT",
    help="Save this address of a node, or several, separated by commas.",
)
@click.option(
    "--command-config",
    metavar="FILE",
    help="Save the path of this file of client properties, for TLS and logins.",
)
@with_json
def add(name: str, bootstrap_server: str, command_config: str | None, as_json: bool) -> None:
    """Save a cluster as the profile NAME. The first profile is in use at once.

    \b
    ottla profile add test --bootstrap-server kafka-1:9092,kafka-2:9092
    """
    parse_addresses(bootstrap_server)
    if command_config is not None:
        if not os.path.isfile(command_config):
            raise StartError(f"--command-config {command_config}: there is no such file")
        command_config = os.path.abspath(command_config)
    profiles = load_profiles()
    in_use = profiles.in_use if profiles.by_name else name
    added = {**profiles.by_name, name: Profile(bootstrap_server, command_config)}
    save_profiles(profiles._replace(in_use=in_use, by_name=added))
    message = f"profile {name} is there{' and used' if in_use == name else ''}"
    done(message, {"profile": name, "used": in_use == name}, as_json=as_json)


@profile.command("remove")
@click.argument("name")
@with_json
def remove(name: str, as_json: bool) -> None:
    """Remove the profile NAME.

    \b
    ottla profile remove test
    """
    profiles = load_profiles()
    if name not in profiles.by_name:
        raise StartError(f"there is no profile {name}: ottla profile list shows all")
    left = {other: profile for other, profile in profiles.by_name.items() if other != name}
    save_profiles(
        profiles._replace(in_use=None if profiles.in_use == name else profiles.in_use, by_name=left)
    )
    done(f"profile {name} is forgotten", {"profile": name, "removed": True}, as_json=as_json)
