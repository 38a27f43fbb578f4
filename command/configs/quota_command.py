"""`ottla quota list|set|remove`: quotas of clients.

The command line around `client.configs.quotas`: options and output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from client.cluster import ClusterClient
from client.configs.quotas import (
    CLIENT_ID,
    IP,
    TYPES,
    USER,
    Entity,
    ListedQuota,
    alter,
    as_text,
    check_key,
    entity_of,
    listed,
    parse_rates,
)
from client.configs.settings import parse_pairs
from client.refusals import Refused
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.help_pages.command_group import CommandGroup
from command.output import note, show

Command = Callable[..., None]


def _with_entity(command: Command) -> Command:
    """Return the command with the options that name the user, client id or address."""
    for name, metavar, text in (
        (
            IP,
            "ADDRESS",
            "Name the address that has the quota; '*' means every address without its own quota.",
        ),
        (
            CLIENT_ID,
            "ID",
            "Name the client id that has the quota; '*' means every id without its own quota.",
        ),
        (
            USER,
            "NAME",
            "Name the user who has the quota; '*' means every user without their own quota.",
        ),
    ):
        command = click.option(f"--{name}", metavar=metavar, help=text)(command)
    return command


@click.group(cls=CommandGroup)
def quota() -> None:
    """List, set and remove quotas of users, client ids and addresses. Works with Apache Kafka too.

    \b
    producer_byte_rate        bytes a second, at each broker
    consumer_byte_rate        bytes a second, at each broker
    request_percentage        percent of the event loop's time, at each broker
                              (Apache Kafka: percent of one thread's time)
    controller_mutation_rate  partitions created or deleted a second
    connection_creation_rate  new connections a second, for --ip only

    \b
    ottla quota set --user alice producer_byte_rate=10MB
    ottla quota list
    """


@quota.command("list")
@_with_entity
@with_bootstrap_server
@with_command_config
@with_json
def list_quotas(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    user: str | None,
    client_id: str | None,
    ip: str | None,
) -> None:
    """List all quotas, or those of a user, a client id or an address.

    \b
    ottla quota list
    ottla quota list --user alice
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        quotas = listed(cluster, {USER: user, CLIENT_ID: client_id, IP: ip})
    show(ListedQuota._fields, quotas, as_json=as_json)
    if not quotas:
        note("no quotas")


@quota.command("set")
@click.argument("pairs", nargs=-1, required=True, metavar="QUOTA=VALUE...")
@_with_entity
@click.option(
    "--dry-run", is_flag=True, help="Let the cluster check the request, but change nothing."
)
@with_bootstrap_server
@with_command_config
@with_json
def set_quotas(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    pairs: tuple[str, ...],
    user: str | None,
    client_id: str | None,
    ip: str | None,
    dry_run: bool,
) -> None:
    """Set quotas of a user, a client id, a user with a client id, or an address.

    \b
    ottla quota set --user alice producer_byte_rate=10MB
    ottla quota set --user '*' --client-id reports request_percentage=50
    """
    entity = entity_of({USER: user, CLIENT_ID: client_id, IP: ip})
    rates = parse_rates(parse_pairs(pairs, "quota"), entity)
    with ClusterClient(bootstrap_server, command_config) as cluster:
        alter(cluster, entity, rates, dry_run=dry_run)
    if as_json:
        _show_changes(entity, rates, "dry_run" if dry_run else "set")
    else:
        note("a dry run: nothing was changed" if dry_run else f"{as_text(entity)}: quotas are set")


@quota.command("remove")
@click.argument("keys", nargs=-1, metavar="[QUOTA]...")
@_with_entity
@with_bootstrap_server
@with_command_config
@with_json
def remove_quotas(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    keys: tuple[str, ...],
    user: str | None,
    client_id: str | None,
    ip: str | None,
) -> None:
    """Remove the named quotas, or all quotas, of a user, a client id or an address.

    \b
    ottla quota remove --user alice
    ottla quota remove --user alice producer_byte_rate
    """
    entity = entity_of({USER: user, CLIENT_ID: client_id, IP: ip})
    for key in keys:
        check_key(key, entity)
    with ClusterClient(bootstrap_server, command_config) as cluster:
        existing = _own(cluster, entity)
        removed = [key for key in keys or existing if key in existing]
        if not removed:
            which = f"no {', '.join(keys)}" if keys else "no quotas"
            raise Refused(f"{as_text(entity)}: there are {which} (ottla quota list shows all)")
        alter(cluster, entity, {}, removed)
    if as_json:
        _show_changes(entity, dict.fromkeys(removed), "removed")
    else:
        note(f"{as_text(entity)}: {', '.join(removed)} removed")


def _show_changes(entity: Entity, rates: Mapping[str, float | None], change: str) -> None:
    """Print a JSON object for each quota, as `list` does, with the change that was made to it."""
    names = dict(entity)
    owner_columns = [names.get(kind) for kind in TYPES]
    rows = [(*owner_columns, key, value, change) for key, value in rates.items()]
    show((*ListedQuota._fields, "change"), rows, as_json=True)


def _own(cluster: ClusterClient, entity: Entity) -> list[str]:
    """Return the keys of the quotas of exactly this entity. Raises Refused."""
    names = dict(entity)
    quotas = listed(cluster, dict.fromkeys(TYPES) | names)
    wanted = tuple(names.get(kind) for kind in TYPES)
    return [quota.quota for quota in quotas if (quota.user, quota.client_id, quota.ip) == wanted]
