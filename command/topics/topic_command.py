"""`ottla topic list|create|describe|alter|delete`: options and output.

The command line around `client.topics`, which sends the requests.
"""

from __future__ import annotations

import sys

import click

from broker.config.start_error import StartError
from client.cluster import ClusterClient, partitions_of
from client.configs.settings import (
    OWN_SOURCES,
    TOPIC,
    ConfigResource,
    alter_configs,
    configs_of,
    parse_pairs,
)
from client.offsets import ends
from client.topics import (
    ListedTopic,
    PlacedPartition,
    add_partitions,
    check_names,
    create,
    delete,
    listed,
    log_sizes,
    placed,
    visible,
)
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.completion.completing import complete_topics
from command.help_pages.command_group import CommandGroup
from command.help_pages.number_ranges import WholeNumber
from command.output import Styled, done, echo, echo_json, note, show
from protocol.messages.metadata import MetadataResponseTopic

_MADE = ("topic", "partitions", "replicas")

_with_configs = click.option(
    "-c",
    "--config",
    "configs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set this config of the topics; may be repeated.",
)


@click.group(cls=CommandGroup)
def topic() -> None:
    """List, create, describe, alter and delete topics. Works with Apache Kafka too.

    \b
    ottla topic create orders -p 3
    ottla topic list
    """


@topic.command("list")
@click.option("--internal", is_flag=True, help="List internal topics, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the names.")
@with_bootstrap_server
@with_command_config
@with_json
def list_topics(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    internal: bool,
    quiet: bool,
) -> None:
    """List topics.

    RECORDS is the number of offsets: a compacted topic has fewer records. BYTES is the size of all
    replicas together.

    \b
    ottla topic list
    ottla topic list --quiet --internal
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        names = visible(cluster.metadata(None).topics, internal=internal)
        if quiet:
            for name in names:
                echo_json({"topic": name}) if as_json else echo(name)
            return
        show(ListedTopic._fields, listed(cluster, names), as_json=as_json)
    if not names:
        note("no topics that you may see: ottla topic create NAME makes one")


_partitions = WholeNumber(1, 2**31 - 1)


@topic.command("create")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "-p",
    "--partitions",
    type=_partitions,
    metavar="N",
    help="Give each topic N partitions. [default: the brokers' num.partitions]",
)
@click.option(
    "-r",
    "--replicas",
    type=WholeNumber(1, 32767),
    metavar="N",
    help="Give each partition N replicas. [default: the brokers' default.replication.factor]",
)
@_with_configs
@click.option("--if-not-exists", is_flag=True, help="Skip topics that exist already.")
@click.option(
    "--dry-run", is_flag=True, help="Let the cluster check the request, but create nothing."
)
@with_bootstrap_server
@with_command_config
@with_json
def create_topics(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    partitions: int | None,
    replicas: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
) -> None:
    """Create topics.

    \b
    ottla topic create orders -p 3 -r 3 -c retention.ms=86400000
    """
    check_names(names)
    settings = parse_pairs(configs)
    with ClusterClient(bootstrap_server, command_config) as cluster:
        created = create(
            cluster,
            names,
            partitions,
            replicas,
            settings,
            if_not_exists=if_not_exists,
            dry_run=dry_run,
        )
    show(_MADE, created, as_json=as_json)
    if dry_run:
        note("a dry run: nothing was made")


@topic.command("describe")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_topics)
@with_bootstrap_server
@with_command_config
@with_json
def describe_topics(
    bootstrap_server: str, command_config: str | None, as_json: bool, names: tuple[str, ...]
) -> None:
    """Show the partitions of topics and the configs that were set for them.

    Each partition has a row with its leader, replicas, in-sync replicas, offsets and size.

    \b
    ottla topic describe orders
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        topics = cluster.topics(names)
        first, last = ends(cluster, topics, partitions_of(topics))
        sizes = log_sizes(cluster, topics)
        for number, (name, described) in enumerate(sorted(topics.items())):
            rows = placed(described, first, last, sizes)
            own_configs = _own_configs(cluster, name)
            if as_json:
                echo_json(_topic_as_object(described, rows, own_configs))
            else:
                _print_topic(described, rows, own_configs, apart=number > 0)


def _own_configs(cluster: ClusterClient, name: str) -> dict[str, str | None]:
    """Return the configs that were set for the topic itself. Raises Refused."""
    configs = configs_of(cluster, ConfigResource(TOPIC, name))
    return {
        config.name: config.value
        for config in configs
        if config.config_source in OWN_SOURCES[TOPIC]
    }


def _topic_as_object(
    topic: MetadataResponseTopic, rows: list[PlacedPartition], own_configs: dict[str, str | None]
) -> dict[str, object]:
    """Return the topic as JSON shows it."""
    return {
        "topic": topic.name,
        "id": _topic_id(topic),
        "internal": topic.is_internal,
        "configs": own_configs,
        "partitions": [
            row._asdict() | {"replicas": _numbers(row.replicas), "isr": _numbers(row.isr)}
            for row in rows
        ],
    }


def _numbers(text: str) -> list[int]:
    """Return the numbers of a text such as `1,2,3`."""
    return [int(number) for number in text.split(",") if number]


def _print_topic(
    topic: MetadataResponseTopic,
    rows: list[PlacedPartition],
    own_configs: dict[str, str | None],
    *,
    apart: bool,
) -> None:
    """Print the id, configs and a table of partitions, after a blank line if `apart`."""
    if apart:
        echo()
    echo(Styled(topic.name or ""), f"  id {_topic_id(topic)}")
    for key, value in own_configs.items():
        echo(f"{key}={value}")
    show(PlacedPartition._fields, rows, as_json=False)


def _topic_id(topic: MetadataResponseTopic) -> str:
    """Return the topic's id in base64url, as Kafka's tools print it."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(topic.topic_id).decode().rstrip("=")


@topic.command("alter")
@click.argument("name", shell_complete=complete_topics)
@click.argument("configs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "-p", "--partitions", type=_partitions, metavar="N", help="Raise the number of partitions to N."
)
@click.option(
    "--unset",
    "removed",
    multiple=True,
    metavar="KEY",
    help="Reset this config to its default; may be repeated.",
)
@click.option(
    "--dry-run", is_flag=True, help="Let the cluster check the request, but change nothing."
)
@with_bootstrap_server
@with_command_config
@with_json
def alter_topic(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    name: str,
    configs: tuple[str, ...],
    partitions: int | None,
    removed: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Change a topic's configs, or give it more partitions.

    \b
    ottla topic alter orders retention.ms=86400000 --unset cleanup.policy
    ottla topic alter orders --partitions 6
    """
    settings = parse_pairs(configs)
    if not (settings or removed or partitions):
        raise StartError("nothing to change: give KEY=VALUE, --unset KEY or --partitions N")
    with ClusterClient(bootstrap_server, command_config) as cluster:
        cluster.topics([name])
        if settings or removed:
            resource = ConfigResource(TOPIC, name)
            alter_configs(cluster, resource, settings, removed, dry_run=dry_run)
        if partitions:
            add_partitions(cluster, name, partitions, dry_run=dry_run)
    message = "a dry run: nothing was changed" if dry_run else f"topic {name} is changed"
    done(message, {"topic": name, "changed": not dry_run}, as_json=as_json)


@topic.command("delete")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_topics)
@click.option("--force", is_flag=True, help="Delete without asking.")
@click.option("--if-exists", is_flag=True, help="Skip topics that do not exist.")
@with_bootstrap_server
@with_command_config
@with_json
def delete_topics(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    names: tuple[str, ...],
    force: bool,
    if_exists: bool,
) -> None:
    """Delete topics with all their records.

    \b
    ottla topic delete orders
    ottla topic delete orders payments --force --if-exists
    """
    with ClusterClient(bootstrap_server, command_config) as cluster:
        if not force:
            if not sys.stdin.isatty():
                raise StartError(
                    "there is no terminal to ask whether to delete topics: add --force"
                )
            if not if_exists:
                cluster.topics(names)
            click.confirm(f"Delete {', '.join(names)} and all records?", abort=True, err=True)
        deleted = delete(cluster, names, if_exists=if_exists)
    for name in deleted:
        done(f"topic {name} is deleted", {"topic": name, "deleted": True}, as_json=as_json)
