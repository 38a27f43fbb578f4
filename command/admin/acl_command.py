"""`ottla acl add|list|delete`: access control entries, with the options of `kafka-acls`.

The command line around `client.access.acl_words` (the meaning of options) and
`client.access.acls` (the requests to a cluster). The entries that are added, listed or removed are
printed as rows of one form.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click

from broker.config.start_error import StartError
from client.access.acl_words import (
    PATTERN_WORDS,
    TypedOptions,
    acl_warnings,
    entries_by_pattern,
    entries_to_add,
)
from client.access.acls import AclRow, Filter, add, filters_of, find, remove, row
from client.cluster import ClusterClient
from client.refusals import EXIT_REFUSED_BY_CLUSTER
from client.tables import table
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.help_pages.command_group import CommandGroup
from command.output import echo, note, show
from controller.metadata.acl import Acl
from ottla.plugins.authorizer import CLUSTER_NAME, Resource

_RESOURCE_OPTIONS = {
    "topic": (Resource.TOPIC, "Name the topic of the ACLs; * is every topic."),
    "group": (Resource.GROUP, "Name the consumer group of the ACLs; * is every group."),
    "transactional_id": (
        Resource.TRANSACTIONAL_ID,
        "Name the transactional id of the ACLs; * is every transactional id.",
    ),
    "delegation_token": (
        Resource.DELEGATION_TOKEN,
        "Name the delegation token of the ACLs by its id.",
    ),
    "user_principal": (
        Resource.USER,
        "Name the user (User:NAME) whose delegation tokens the ACLs are for.",
    ),
}

Command = Callable[..., None]


def _with_resources(command: Command) -> Command:
    """Return the command with the options that name resources and their pattern type."""
    command = click.option(
        "--resource-pattern-type",
        "pattern",
        type=click.Choice(list(PATTERN_WORDS), case_sensitive=False),
        default="literal",
        show_default=True,
        help="Choose how ACLs match NAME. literal: exactly; prefixed: all names that begin with "
        "NAME. In list and delete also match: all ACLs that apply to NAME; any: literal and "
        "prefixed ACLs.",
    )(command)
    command = click.option(
        "--cluster", is_flag=True, help="Choose the cluster itself as the resource of the ACLs."
    )(command)
    for name, (_, text) in reversed(_RESOURCE_OPTIONS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, multiple=True, metavar="NAME", help=text)(command)
    return command


def _with_entries(command: Command) -> Command:
    """Return the command with the options for roles, operations, principals and hosts."""
    for flag, text in (
        ("idempotent", "Add IdempotentWrite on the cluster to the operations of --producer."),
        (
            "consumer",
            "Name the operations of a consumer: Read and Describe on --topic, Read on --group.",
        ),
        (
            "producer",
            "Name the operations of a producer: Write, Describe and Create on --topic, Write and "
            "Describe on --transactional-id.",
        ),
    ):
        command = click.option(f"--{flag}", is_flag=True, help=text)(command)
    for name, metavar, text in (
        (
            "operation",
            "OPERATION",
            "Name an operation, such as Read, Write or Create. [default: All]",
        ),
        (
            "deny-host",
            "ADDRESS",
            "Deny --deny-principal only connections from this address or range, such as "
            "10.0.0.0/8. [default: all addresses]",
        ),
        (
            "allow-host",
            "ADDRESS",
            "Allow --allow-principal only connections from this address or range, such as "
            "10.0.0.0/8. [default: all addresses]",
        ),
        (
            "deny-principal",
            "User:NAME",
            "Deny this principal the operation, even if another ACL allows it.",
        ),
        (
            "allow-principal",
            "User:NAME",
            "Allow this principal the operation; User:* is every user.",
        ),
    ):
        plural = f"{name.replace('-', '_')}s"
        option = click.option(f"--{name}", plural, multiple=True, metavar=metavar, help=text)
        command = option(command)
    return command


@click.group(cls=CommandGroup)
def acl() -> None:
    """Add, list and delete access control entries (ACLs).

    An ACL allows or denies a principal an operation on a topic, a group, a transactional id or the
    cluster. An operation that no ACL allows is denied, except to super users. Principals, hosts,
    operations and resources may be repeated: each combination of them is an ACL. Works with Apache
    Kafka too.

    \b
    ottla acl add --allow-principal User:alice --producer --topic orders
    ottla acl list --topic orders
    """


@acl.command("add")
@_with_entries
@_with_resources
@with_bootstrap_server
@with_command_config
@with_json
def add_acls(bootstrap_server: str, command_config: str | None, as_json: bool, **_: object) -> None:
    """Add ACLs.

    The last example allows bob to read all topics whose names begin with team.

    \b
    ottla acl add --allow-principal User:alice --producer --topic orders
    ottla acl add --allow-principal User:bob --consumer --topic orders --group g
    ottla acl add --allow-principal User:bob --operation Read --topic team. \\
      --resource-pattern-type prefixed
    """
    acls = entries_to_add(_typed_options(click.get_current_context()))
    for line in acl_warnings(acls):
        echo(f"ottla: warning: {line}", to_stderr=True)
    with ClusterClient(bootstrap_server, command_config) as cluster:
        add(cluster.call, acls)
    _print_acls(sorted(acls), as_json=as_json)


@acl.command("list")
@click.option(
    "--principal",
    "principals",
    multiple=True,
    metavar="User:NAME",
    help="List only ACLs of this principal; may be repeated.",
)
@_with_resources
@with_bootstrap_server
@with_command_config
@with_json
def list_acls(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    principals: tuple[str, ...],
    **_: object,
) -> None:
    """List all ACLs, or those of the named resources and principals.

    \b
    All ACLs that apply to the topic orders, by its name, by a prefix or by *:
      ottla acl list --topic orders --resource-pattern-type match
    """
    patterns = _typed_options(click.get_current_context()).patterns()
    filters = filters_of(dict.fromkeys(patterns, ())) or [Filter()]
    by_principal = [
        acl_filter._replace(principal=principal)
        for acl_filter in filters
        for principal in principals or (None,)
    ]
    with ClusterClient(bootstrap_server, command_config) as cluster:
        acls = find(cluster.call, by_principal)
    _print_acls(acls, as_json=as_json)
    if not acls:
        echo("no ACLs found", to_stderr=True)


@acl.command("delete")
@click.option("--force", is_flag=True, help="Delete without asking.")
@_with_entries
@_with_resources
@with_bootstrap_server
@with_command_config
@with_json
def delete_acls(
    bootstrap_server: str, command_config: str | None, as_json: bool, force: bool, **_: object
) -> None:
    """Delete the ACLs that ottla acl add creates with the same options.

    Without a principal, delete all ACLs of the named resources.

    \b
    ottla acl delete --allow-principal User:alice --producer --topic orders
    ottla acl delete --topic orders
    """
    filters = filters_of(entries_by_pattern(_typed_options(click.get_current_context())))
    with ClusterClient(bootstrap_server, command_config) as cluster:
        acls = find(cluster.call, filters)
        if not acls:
            note("no ACL is just so: ottla acl list shows those that there are")
            raise click.exceptions.Exit(EXIT_REFUSED_BY_CLUSTER)
        if not force:
            _confirm(acls)
        removed = remove(cluster.call, filters)
    _print_acls(removed, as_json=as_json)


def _confirm(acls: Sequence[Acl]) -> None:
    """Show on stderr the entries that are to be removed, and ask whether to remove them.

    Raises click.Abort if the user declines, and StartError without a terminal, where --force is
    needed.
    """
    if not sys.stdin.isatty():
        raise StartError("there is no terminal to ask whether to remove ACLs: add --force")
    for line in table(AclRow._fields, [row(acl) for acl in acls], as_json=False):
        echo(line, to_stderr=True)
    click.confirm("Remove these?", abort=True, err=True)


def _typed_options(context: click.Context) -> TypedOptions:
    """Return the command line's options for resources and entries.

    `resources` leaves out types without a name.
    """
    typed = context.params
    by_type = {resource: typed[name] for name, (resource, _) in _RESOURCE_OPTIONS.items()}
    by_type[Resource.CLUSTER] = (CLUSTER_NAME,) if typed["cluster"] else ()
    resources = {resource: names for resource, names in by_type.items() if names}
    others = {field: typed[field] for field in TypedOptions._fields if field in typed}
    return TypedOptions(resources, **others)


def _print_acls(acls: Sequence[Acl], *, as_json: bool) -> None:
    """Print ACLs as a table, or as a JSON object a line."""
    show(AclRow._fields, [row(acl) for acl in acls], as_json=as_json)
