"""`ottla top`: topics by rate and groups by lag, on one screen that is redrawn, or -n times.

The command line around `client.live.rates`: takes a sample of the cluster, waits, draws. Changes
nothing in the cluster.
"""

from __future__ import annotations

import sys
import time
from math import isnan

import click

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.live.looking import seen_topics, take_sample
from client.live.rates import Sample, group_rates, screen, topic_rates
from client.refusals import Refused
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.help_pages.number_ranges import Number, WholeNumber
from command.output import echo, echo_json, note
from command.terminal.live_screen import LiveScreen, live_screen

_LINES_IN_A_PIPE = 60
_INTERVAL_MAX_S = 86_400
_INTERRUPTED = 130
"""The exit code after Ctrl-C before the last of -n."""


@click.command()
@click.option(
    "--interval",
    type=Number(0.1, _INTERVAL_MAX_S),
    default=2.0,
    show_default=True,
    metavar="S",
    help="Refresh every S seconds.",
)
@click.option(
    "-n",
    "--count",
    type=WholeNumber(1),
    metavar="N",
    help="Print the rates N times, below each other.",
)
@click.option("--internal", is_flag=True, help="Show internal topics, too.")
@with_bootstrap_server
@with_command_config
@with_json
def top(
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
    interval: float,
    count: int | None,
    internal: bool,
) -> None:
    """Show topics by the bytes that are written to them a second, and groups by their lag.

    The busiest topics and the groups with the largest lag come first. Refreshes until Ctrl-C. Works
    with Apache Kafka too.

    \b
    ottla top
    ottla top --interval 5 --internal
    """
    if isnan(interval):
        raise click.UsageError("--interval nan: give a number of seconds")
    with ClusterClient(bootstrap_server, command_config) as cluster:
        before = _sample(cluster, internal=internal)
        shown = 0
        with live_screen(wanted=count is None and not as_json) as live:
            if live.is_drawn:
                _print_rates(Sample(before.at), before, live)  # the state, without rates
            while count is None or shown < count:
                time.sleep(interval)
                try:
                    now = _sample(cluster, internal=internal)
                except (StartError, Refused) as error:
                    note(f"waiting for the cluster: {error}")
                    continue
                _print_rates(before, now, None if as_json else live)
                before, shown = now, shown + 1
    interrupted = count is not None and shown < count
    raise click.exceptions.Exit(live.exit_code or (_INTERRUPTED if interrupted else 0))


def _sample(cluster: ClusterClient, *, internal: bool) -> Sample:
    """Ask the cluster for its offsets and groups, and return them as a sample of now. Raises
    Refused, StartError."""
    return take_sample(cluster, seen_topics(cluster, internal=internal), time.monotonic())


def _print_rates(before: Sample, now: Sample, live: LiveScreen | None) -> None:
    """Print the rates between two samples as tables: on the screen, or below the last tables.
    Without `live`, print them as JSON."""
    topics, groups = topic_rates(before, now), group_rates(before, now)
    if live is None:
        for row in [rate._asdict() for rate in topics] + [rate._asdict() for rate in groups]:
            echo_json(row)
    elif live.is_drawn:
        from shutil import get_terminal_size

        live.clear()
        echo("\n".join(screen(topics, groups, get_terminal_size().lines - 1)))
    else:
        echo(time.strftime("--- %H:%M:%S"))
        echo("\n".join(screen(topics, groups, _LINES_IN_A_PIPE)))
    sys.stdout.flush()
