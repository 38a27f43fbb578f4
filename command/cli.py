"""The command `ottla`: serve, cluster and status; others have files of their own.

Turns arguments into a configuration and hands over to `broker.process.server`. An error that the
user can correct is one line, `ottla: …`, with exit code 2; an error of the cluster has exit code 1.
Modules that a start does not need are imported where they are used: a broker accepts connections
within 0.5 s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from broker.config.start_error import StartError
from broker.process.standard_streams import say
from client.refusals import EXIT_REFUSED_BY_CLUSTER, Refused
from command.admin.decode_options import DecodeOptions, with_decode_options
from command.admin.options import with_bootstrap_server, with_command_config
from command.command_list import Commands
from command.completion import VARIABLE
from command.help_pages.number_ranges import WholeNumber
from command.members.subcommands import SUBCOMMANDS
from command.nodes.node_options import (
    load_node_config,
    shown_folders,
    with_cluster_id,
    with_node_config,
)
from command.output import ReaderGone, echo
from ground.config_def import ConfigError
from protocol.primitives import StringTooLong

if TYPE_CHECKING:
    from broker.config.endpoints import EndPoint
    from broker.config.values import BrokerConfig
    from command.console_process import ConsoleProcess

EXIT_REFUSED = 2

_HELP = """Ottla, a Kafka broker in Python, and commands for any Kafka cluster.

\b
  ottla serve          starts a broker on localhost:9092, its data in ./data
  ottla topic create greetings
  echo hello | ottla produce greetings
  ottla consume greetings
"""


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. An error that stops it is printed as one line on
    stderr: code 2, 1 if the cluster rejected a request, 130 after Ctrl-C, 0 if the
    reader of its output has ended."""
    if VARIABLE in os.environ:  # a shell asks for completions
        from command.completion.shells import use_own_shells

        use_own_shells()
    stdout = sys.stdout
    try:
        is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = False if is_plain else None
        code = ottla.main(list(arguments), prog_name="ottla", standalone_mode=False, color=color)
    except click.UsageError as error:
        if error.ctx is not None and _lacks_a_command(error):
            echo(error.ctx.get_help(), to_stderr=True)
            return EXIT_REFUSED
        return _refuse(_usage_line(error, arguments))
    except Refused as error:
        _refuse(str(error))
        return EXIT_REFUSED_BY_CLUSTER
    except (click.Abort, KeyboardInterrupt):
        return 130
    except ReaderGone:
        return 0  # the reader, such as head, has what it wanted
    except SystemExit:
        if sys.stdout is stdout:
            raise
        return 0  # the same, while click printed the help: click then replaces the stream
    except _STOPS as error:
        return _refuse(*_reasons(error))
    return code if isinstance(code, int) else 0  # click returns the code of an Exit


_STOPS = (
    click.ClickException,
    StartError,
    ConfigError,
    StringTooLong,
    UnicodeEncodeError,
    OSError,
)


def _reasons(error: Exception) -> tuple[str, ...]:
    """Return the lines that explain to the user why a command stops."""
    if isinstance(error, click.ClickException):
        return (error.format_message(),)
    if isinstance(error, StartError):
        return error.lines
    if isinstance(error, UnicodeEncodeError):
        return (f"{error.object} is not UTF-8, as all names of Kafka are",)
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return (f"{named}{error.strerror or str(error) or type(error).__name__}",)
    return (str(error),)


def _usage_line(error: click.UsageError, arguments: Sequence[str]) -> str:
    """Return click's complaint in plain words, with the command whose help to see."""
    command = error.ctx.command_path if error.ctx is not None else _command_of(arguments)
    message = error.format_message()
    for words, plain in _PLAIN_WORDS.items():
        message = message.replace(words, plain)
    return f"{message} (see: {command} --help)"


_PLAIN_WORDS = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
}


def _command_of(arguments: Sequence[str]) -> str:
    """Return the command that was typed, for an error in which click names none."""
    context = click.Context(ottla, info_name="ottla")
    for word in arguments:
        group = context.command
        subcommand = group.get_command(context, word) if isinstance(group, click.Group) else None
        if subcommand is None:
            break
        context = click.Context(subcommand, context, word)
    return context.command_path


def _lacks_a_command(error: click.UsageError) -> bool:
    """Return whether the error is that a group was typed without a command."""
    return type(error).__name__ == "NoArgsIsHelpError"


def _refuse(*reasons: str) -> int:
    """Print each reason on stderr as a line, and return EXIT_REFUSED."""
    for reason in reasons:
        say(f"ottla: {' '.join(reason.split())}", error=True)
    return EXIT_REFUSED


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the version and exit, if the option is set."""
    if wanted and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            echo(f"ottla {version('ottla')}")
        except PackageNotFoundError:
            echo("ottla, run from its sources")
        context.exit()


@click.group(
    cls=Commands,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def ottla(context: click.Context) -> None:
    """Print the help if no command is given."""
    if context.invoked_subcommand is None:
        echo(context.get_help())


@ottla.command(short_help="Start a broker and run it in the foreground.")
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    metavar="PORT",
    help="Listen for clients on this port of localhost; 0: any free port. [default: 9092]",
)
@click.option("--data", metavar="DIR", help="Store the data in this folder. [default: ./data]")
@click.option(
    "--console",
    "console_port",
    is_flag=False,
    flag_value=8080,
    type=WholeNumber(0, 65535),
    metavar="[PORT]",
    help="Serve the web console, too, on this port of this machine. [default port: 8080]",
)
@click.option(
    "--allow-writes", is_flag=True, help="Let the console change the cluster, not only show it."
)
@click.option(
    "--kafka-log-lines",
    is_flag=True,
    help="Print, beside Ottla's lines, those with which Apache Kafka logs its start, for programs "
    "that wait for them, such as testcontainers.",
)
@with_decode_options
@with_cluster_id
@with_node_config
def serve(
    config_file: str | None,
    overrides: tuple[str, ...],
    cluster_id: str | None,
    port: int | None,
    data: str | None,
    console_port: int | None,
    allow_writes: bool,
    kafka_log_lines: bool,
    jaas_file: str | None,
    decode: DecodeOptions,
) -> None:
    """Start a broker and run it in the foreground until Ctrl-C or SIGTERM.

    Empty data folders are formatted first, if the node is a cluster of its own or --cluster-id
    names its cluster. Without --config the single-node profile applies: one broker on
    localhost:9092 that is its own controller, with its data in ./data.

    \b
    ottla serve --port 19092 --data /tmp/second
    """
    settings = _settings_of(config_file, overrides, port, data)
    traced = {} if console_port is None else {"ottla.trace.requests": "true"}
    config = load_node_config(config_file, (*overrides, *settings), traced, jaas_file)
    console = _console(config, console_port, decode, allow_writes=allow_writes)
    from broker.process.logging_setup import configure_logging
    from broker.process.server import run

    configure_logging(config.ottla_log_level, config.ottla_log_format)

    def ready(endpoints: Sequence[EndPoint]) -> None:
        """Print that clients may connect, and start the console process of --console."""
        _announce(config, endpoints)
        if kafka_log_lines:
            _announce_as_kafka(config)
        if console is not None:
            console.start(endpoints[0].host, endpoints[0].port)

    try:
        run(
            config,
            on_ready=ready,
            on_stopping=lambda: say(f"ottla: node {config.node_id} is stopping"),
            on_found=lambda topics, size: _report_existing_data(config, topics, size),
            cluster_id=cluster_id,
        )
    finally:
        if console is not None:
            console.stop()
    say(f"ottla: node {config.node_id} stopped; its data stays in {shown_folders(config)}")


def _console(
    config: BrokerConfig, port: int | None, decode: DecodeOptions, *, allow_writes: bool
) -> ConsoleProcess | None:
    """Return the console of --console, None without it.

    Raises UsageError for an option that needs --console, StartError if the console's packages are
    not installed.
    """
    if port is None:
        if allow_writes:
            raise click.UsageError("--allow-writes is about the page of --console: name both")
        if words := decode.words():
            option = words[0].partition("=")[0]
            raise click.UsageError(f"{option} is about the page of --console: name both")
        return None
    from command.console_process import ConsoleProcess

    return ConsoleProcess(config.log_dirs, port, decode, allow_writes=allow_writes)


def _settings_of(
    config_file: str | None, overrides: tuple[str, ...], port: int | None, data: str | None
) -> list[str]:
    """Return the settings (`key=value`) for --port and --data.

    Raises UsageError if an override sets the same key, --port comes with a file, or --data names no
    single folder.
    """
    settings = []
    if port is not None:
        if config_file is not None:
            raise click.UsageError(
                f"--port goes without a file: {config_file} says where the node listens (listeners)"
            )
        settings.append(f"listeners=PLAINTEXT://localhost:{port}")
    if data is not None:
        if "," in data or not data.strip():
            raise click.UsageError(f"--data {data}: name one folder, without a comma")
        settings.append(f"log.dirs={data}")
    overridden_keys = [override.partition("=")[0].strip() for override in overrides]
    for setting in settings:
        key = setting.partition("=")[0]
        if key in overridden_keys or (key == "log.dirs" and "log.dir" in overridden_keys):
            option = "--data" if key == "log.dirs" else "--port"
            raise click.UsageError(f"{option} and --override {key} say the same: leave one out")
    return settings


@ottla.group(
    invoke_without_command=True,
    short_help="Run a cluster of several nodes on this machine; kill, add or remove a node.",
)
@click.option(
    "--brokers",
    type=int,
    metavar="N",
    help="Run N nodes, at most 9. [default: as many as the folder has, else 3]",
)
@click.option(
    "--dir",
    "folder",
    default="cluster",
    show_default=True,
    metavar="DIR",
    help="Keep the nodes' configurations, data and logs in this folder.",
)
@click.option(
    "--port",
    "first_port",
    type=int,
    metavar="BASE",
    help="Give node 1 the port BASE for clients, node 2 the next, and so on; controllers also "
    "listen on ports 10 above. [default: the ports of the folder, else from 9092]",
)
@click.option(
    "--secure",
    is_flag=True,
    help="Create a cluster whose clients need TLS and a password, with certificates, users and "
    "ACLs. Later starts of the folder need no --secure.",
)
@click.option(
    "--command-config",
    metavar="FILE",
    help="Ask the nodes for their state with the client properties in FILE. [default: "
    "DIR/admin.properties, if --secure created it]",
)
@click.pass_context
def cluster(
    context: click.Context,
    brokers: int | None,
    folder: str,
    first_port: int | None,
    secure: bool,
    command_config: str | None,
) -> None:
    """Start several nodes on this machine and show their state until Ctrl-C.

    \b
    Each node is a process of its own, with its files in DIR:
      DIR/broker-1.properties   the configuration of node 1, which you may edit
      DIR/broker-1/data         its data, kept for the next start
      DIR/broker-1/ottla.log    its output
    With --secure there are more files, which only you can read:
      DIR/client.properties     client properties of the user client
      DIR/admin.properties      client properties of the administrator
      DIR/certificates          the certificate for clients, and each node's

    If a node dies, it stays down, and the command that starts it is shown. If --brokers asks for
    more nodes than the folder has, the new nodes join as brokers; ottla cluster grow adds
    controllers, too. An odd number of nodes, at most five, are controllers. Ctrl-C stops all nodes
    cleanly, a second Ctrl-C kills them.

    \b
    From another shell, while the cluster runs:
      ottla cluster kill 2      kills node 2 at once, without a clean stop
      ottla cluster restart 2   stops node 2 cleanly, if it runs, and starts it
      ottla cluster grow 2      adds two nodes
      ottla cluster shrink 2    removes node 2
    """
    if context.invoked_subcommand is not None:
        return
    from command.cluster_command import run_cluster

    code = run_cluster(folder, brokers, first_port, command_config, secure=secure)
    raise click.exceptions.Exit(code)


for _subcommand in SUBCOMMANDS:
    cluster.add_command(_subcommand)


@ottla.command(
    short_help="Show a cluster's health (exit code: 0 healthy, 1 degraded, 2 unreachable)."
)
@with_bootstrap_server
@click.option("--watch", is_flag=True, help="Refresh every two seconds until Ctrl-C.")
@click.option("--groups", "with_groups", is_flag=True, help="Show share groups that are held up.")
@click.option("--json", "as_json", is_flag=True, help="Print the health as one line of JSON.")
@with_command_config
def status(
    bootstrap_server: str,
    watch: bool,
    with_groups: bool,
    as_json: bool,
    command_config: str | None,
) -> None:
    """Show a cluster's health, as one of its nodes sees it.

    \b
    Shows the brokers, the controller and its followers, and partitions that are
      offline           without a leader: clients can neither read nor write
      under min ISR     fewer replicas in sync than min.insync.replicas, so that
                        acks=all is rejected
      under-replicated  fewer replicas in sync than the partition has

    The exit code is 0 if the cluster is healthy, 1 if it is degraded, 2 if no broker answered.
    Share groups (--groups) do not change it. Works with Apache Kafka too.

    \b
    ottla status
    ottla status --watch --bootstrap-server kafka-1:9092
    """
    from command.status_command import run_status

    code = run_status(
        bootstrap_server,
        watch=watch,
        as_json=as_json,
        command_config=command_config,
        with_groups=with_groups,
    )
    raise click.exceptions.Exit(code)


def _report_existing_data(config: BrokerConfig, topics: int, size: int) -> None:
    """Print how many topics and bytes an earlier run has left in the data folders."""
    from client.tables import counted, size_text

    say(f"ottla: {shown_folders(config)} has {counted(topics, 'topic')}, {size_text(size)}")


def _announce(config: BrokerConfig, endpoints: Sequence[EndPoint]) -> None:
    """Print the line which says that clients may connect now."""
    where = ", ".join(str(endpoint).partition("://")[2] for endpoint in endpoints)
    say(f"ottla: node {config.node_id} is ready: connect to {where} (press Ctrl-C to stop)")


def _announce_as_kafka(config: BrokerConfig) -> None:
    """Print the two lines that Apache Kafka logs when a broker may serve clients, and after the
    start of all parts."""
    say(
        f"[BrokerLifecycleManager id={config.node_id}] The broker has been unfenced. "
        "Transitioning from RECOVERY to RUNNING."
    )
    say(f"[KafkaRaftServer nodeId={config.node_id}] Kafka Server started")
