"""`ottla status`: ask a node of a running cluster how it is, once or again and again.

The shell around `command.cluster_status` (what is asked, what counts as degraded) and
`command.status_report` (the lines). Owns one connection at a time; the first of the
addresses that answers is asked. Changes nothing in the cluster.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from broker.config.start_error import StartError
from broker.network.blocking_client import ApiNotServed, BlockingClient, accepts
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from command.client.connection import Address, Unanswered, command_guard, parse_addresses
from command.cluster_status import ClusterStatus, StatusRefused, ask
from command.status_report import report
from protocol.errors import ProtocolError

TIMEOUT_S = 5.0
WATCH_INTERVAL_S = 2.0
HEALTHY, DEGRADED, UNREACHABLE = 0, 1, 2

_CLEAR = "\x1b[H\x1b[2J"


def run_status(
    bootstrap_servers: str, *, watch: bool, as_json: bool, command_config: str | None = None
) -> int:
    """Print the status; the exit code: 0 healthy, 1 degraded, 2 nobody answers. `command_config`
    names a file of client properties.

    Raises StartError, one line, where an address is none, the file is wrong or nobody answers.
    """
    addresses = parse_addresses(bootstrap_servers)
    guard = command_guard(command_config)
    if not watch:
        return _show_once(addresses, guard, as_json)
    code = HEALTHY
    try:
        while True:
            code = _show_again(addresses, guard, as_json)
            time.sleep(WATCH_INTERVAL_S)
    except KeyboardInterrupt:
        return code


def status_of(
    addresses: Sequence[Address],
    timeout_s: float = TIMEOUT_S,
    guard: ClientGuard = PLAINTEXT_GUARD,
) -> ClusterStatus:
    """What the first node says that answers. Raises StartError where none does."""
    unanswered, verdict = Unanswered(timeout_s, guard), "no broker answers"
    for host, port in addresses:
        try:
            with BlockingClient(host, port, timeout_s, guard=guard) as client:
                status = ask(partial(_answer, client))
        except (OSError, ProtocolError, StatusRefused) as error:
            unanswered.add((host, port), error)
            if isinstance(error, StatusRefused):
                verdict = "no broker tells the cluster's state"
        else:
            return status if status.quorum is not None else _with_those_that_answer(status)
    raise unanswered.error(verdict)


def _with_those_that_answer(status: ClusterStatus) -> ClusterStatus:
    """Without a quorum nobody is fenced: each broker is tried."""
    return replace(
        status,
        brokers=[
            one if one.fenced else replace(one, reachable=accepts(one.host, one.port))
            for one in status.brokers
        ],
    )


def _answer(client: BlockingClient, request: Any) -> Any:
    try:
        return client.call(request)
    except ApiNotServed:
        return None


def _show_once(addresses: Sequence[Address], guard: ClientGuard, as_json: bool) -> int:
    try:
        status = status_of(addresses, guard=guard)
    except StartError as error:
        if as_json:
            _print_error(error)
        raise
    return _show(status, as_json)


def _print_error(error: StartError) -> None:
    """What a program reads where there is no status."""
    click.echo(json.dumps({"healthy": False, "error": str(error)}))


def _show(status: ClusterStatus, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(status.as_json()))
    else:
        verdict, *rest = report(status)
        colour = "green" if status.healthy else "red"
        click.echo("\n".join([click.style(verdict, fg=colour, bold=True), *rest]))
    sys.stdout.flush()
    return HEALTHY if status.healthy else DEGRADED


def _show_again(addresses: Sequence[Address], guard: ClientGuard, as_json: bool) -> int:
    """One round of --watch: a cluster that is away may come back, so it is said and asked again."""
    try:
        status = status_of(addresses, guard=guard)
    except StartError as error:
        _separate(as_json)
        if as_json:
            _print_error(error)
        else:
            click.echo(f"ottla: {error}")
        sys.stdout.flush()
        return UNREACHABLE
    _separate(as_json)
    return _show(status, as_json)


def _separate(as_json: bool) -> None:
    """A terminal shows one status at a time; a file gets one after the other."""
    if sys.stdout.isatty() and not as_json:
        sys.stdout.write(_CLEAR)
    elif not as_json:
        print(time.strftime("--- %H:%M:%S"))
