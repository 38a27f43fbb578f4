"""`ottla config show|set|explain|example`: settings of topics, brokers and groups, and their keys.

The command line around `client.configs.settings` (the requests to a running cluster),
`client.configs.explanation` (the meaning of keys) and the example `conf/server.properties`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import click

from broker.config.file import Machine
from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.configs.settings import (
    BROKER,
    GROUP,
    OWN_SOURCES,
    SOURCES,
    TOPIC,
    ConfigResource,
    alter_configs,
    configs_of,
    parse_pairs,
)
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.completion.completing import complete_groups, complete_topics
from command.help_pages.command_group import CommandGroup
from command.output import done, echo, echo_json, echo_lines, note, show
from protocol.messages.describe_configs import DescribeConfigsResourceResult

_EXAMPLE_FILE = f"{__file__.rpartition('/command/')[0]}/conf/server.properties"
"""The example's path, in a checkout and, by `setup.py`, in an installation."""
_HIDDEN = "[hidden]"
_FROM_FILE = 4

_COMPLETED = {"topic": complete_topics, "group": complete_groups}

Command = Callable[..., None]


class _Shown(NamedTuple):
    key: str
    value: str | None
    source: str


def _with_resource(command: Command) -> Command:
    """Return the command with the options that name the topic, broker or group."""
    for name, metavar, text in (
        ("group", "NAME", "Name the consumer group that has the configs."),
        (
            "broker",
            "ID",
            "Name the broker that has the configs; all means those that apply to all brokers.",
        ),
        ("topic", "NAME", "Name the topic that has the configs."),
    ):
        complete = _COMPLETED.get(name)
        command = click.option(f"--{name}", metavar=metavar, help=text, shell_complete=complete)(
            command
        )
    return command


def _resource(topic: str | None, broker: str | None, group: str | None) -> ConfigResource:
    """Return the resource that the options name. Raises StartError unless they name exactly one."""
    named = [(TOPIC, topic), (BROKER, broker), (GROUP, group)]
    resources = [ConfigResource(kind, name) for kind, name in named if name is not None]
    if len(resources) != 1:
        raise StartError("name one of --topic NAME, --broker ID, --broker all, --group NAME")
    (resource,) = resources
    if resource.kind != BROKER:
        return resource
    if resource.name == "all":
        return ConfigResource(BROKER, "")
    if not resource.name.isdecimal():
        raise StartError(f"--broker {resource.name}: give a broker's number, or all")
    return resource


@click.group(cls=CommandGroup)
def config() -> None:
    """Show, set and explain configs, print an example file. Works with Apache Kafka too.

    \b
    ottla config show --topic orders
    ottla config explain retention.ms
    """


@config.command("show")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@_with_resource
@click.option("--all", "every", is_flag=True, help="Show configs with their defaults, too.")
@with_bootstrap_server
@with_command_config
@with_json
def show_configs(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    keys: tuple[str, ...],
    topic: str | None,
    broker: str | None,
    group: str | None,
    every: bool,
) -> None:
    """Show the configs that were set, or those named KEY.

    \b
    ottla config show --topic orders
    ottla config show --broker 1 --all
    """
    resource = _resource(topic, broker, group)
    with ClusterClient(bootstrap_server, command_config) as cluster:
        if resource.kind == TOPIC:
            cluster.topics([resource.name])
        configs = configs_of(cluster, resource, list(keys) or None)
    _check_found(keys, configs, resource)
    wanted = [config for config in configs if every or keys or _is_set(config, resource)]
    show(_Shown._fields, [_row(config) for config in wanted], as_json=as_json)
    if not wanted:
        note(f"nothing is set for {resource}: --all shows the defaults")


def _check_found(
    keys: Sequence[str], configs: Sequence[DescribeConfigsResourceResult], resource: ConfigResource
) -> None:
    """Check that the response has all `keys`. Raises StartError for one that does not exist."""
    existing_keys = [config.name for config in configs]
    for key in keys:
        if key not in existing_keys:
            raise StartError(f"{resource} has no config {key}: ottla config explain shows all")


def _is_set(config: DescribeConfigsResourceResult, resource: ConfigResource) -> bool:
    """Return whether the config was set for the resource itself; for a broker, in its file counts,
    too."""
    own_sources = OWN_SOURCES[resource.kind]
    return config.config_source in own_sources or (
        resource.kind == BROKER and config.config_source == _FROM_FILE
    )


def _row(config: DescribeConfigsResourceResult) -> _Shown:
    """Return the table's row of a config, with `[hidden]` for a sensitive value."""
    value = _HIDDEN if config.is_sensitive else config.value
    return _Shown(config.name, value, SOURCES.get(config.config_source, str(config.config_source)))


@config.command("set")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@_with_resource
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
def set_configs(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    pairs: tuple[str, ...],
    topic: str | None,
    broker: str | None,
    group: str | None,
    removed: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Set configs, or reset them to their defaults.

    \b
    ottla config set --topic orders retention.ms=86400000 --unset cleanup.policy
    ottla config set --broker all log.cleaner.threads=2
    """
    resource = _resource(topic, broker, group)
    values = parse_pairs(pairs)
    if not (values or removed):
        raise StartError("nothing to change: give KEY=VALUE or --unset KEY")
    with ClusterClient(bootstrap_server, command_config) as cluster:
        if resource.kind == TOPIC:
            cluster.topics([resource.name])
        alter_configs(cluster, resource, values, removed, dry_run=dry_run)
    message = "a dry run: nothing was changed" if dry_run else f"{resource} is changed"
    done(message, {**_named(resource), "changed": not dry_run}, as_json=as_json)


def _named(resource: ConfigResource) -> dict[str, str]:
    """Return the resource under the name of its option, for JSON."""
    words = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}
    return {words[resource.kind]: resource.name or "all"}


@config.command("explain")
@click.argument("words", nargs=-1, metavar="[KEY]...")
@with_json
def explain(words: tuple[str, ...], as_json: bool) -> None:
    """Explain the configs named KEY, or all whose names contain every KEY. Needs no cluster.

    \b
    ottla config explain retention.ms
    ottla config explain cleaner
    """
    from client.configs.explanation import explanation_lines, keys_like

    for number, key in enumerate(keys_like(words)):
        if as_json:
            echo_json(key._asdict())
            continue
        if number:
            echo()
        echo_lines(explanation_lines(key))


@config.command("example")
def example() -> None:
    """Print an example of a node's configuration file: every key, with its default and its effect.

    \b
    ottla config example > server.properties
    ottla serve --config server.properties
    """
    echo(Machine().read(_EXAMPLE_FILE).rstrip("\n"))
