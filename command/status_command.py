"""`ottla status`: the state of a running cluster, once or repeatedly.

The command line around `client.status` (the status from the first node that answers),
`client.status_report` (its lines) and `client.groups.held_up` (share groups). Changes nothing in
the cluster.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from broker.config.start_error import StartError
from broker.security.client_guard import ClientGuard
from client.cluster_status import ClusterStatus
from client.connection import Address, command_guard, parse_addresses
from client.groups.held_up_report import GroupStatus, group_lines, groups_as_object
from client.refusals import Refused
from client.status import status_of
from client.status_report import report
from command.output import echo, echo_json, echo_lines
from command.terminal.live_screen import LiveScreen, live_screen

WATCH_INTERVAL_S = 2.0
AskGroups = Callable[[], GroupStatus]
HEALTHY, DEGRADED, UNREACHABLE = 0, 1, 2


def run_status(
    bootstrap_servers: str,
    *,
    watch: bool,
    as_json: bool,
    command_config: str | None = None,
    with_groups: bool = False,
) -> int:
    """Print the status and return the exit code: 0 healthy, 1 degraded, 2 no node answers. With
    `watch`, print it again every WATCH_INTERVAL_S until Ctrl-C, and return the last code; after
    SIGTERM or SIGHUP, return 128 and the signal's number.

    `command_config`: a file of client properties. `with_groups`: also print the share groups that
    are held up. Raises StartError for an invalid address or file, and, without `watch`, if no node
    answers.
    """
    addresses = parse_addresses(bootstrap_servers)
    guard = command_guard(command_config)
    groups = (lambda: _groups(bootstrap_servers, command_config)) if with_groups else None
    if not watch:
        return _show_once(addresses, guard, groups, as_json)
    code = HEALTHY
    with live_screen(wanted=not as_json) as screen:
        while screen.is_open:
            code = _show_again(addresses, guard, groups, screen, as_json)
            time.sleep(WATCH_INTERVAL_S)
    return screen.exit_code or code


def _groups(bootstrap_servers: str, command_config: str | None) -> GroupStatus:
    """Return the share groups of the cluster, or why they are not known."""
    from client.cluster import ClusterClient
    from client.groups.held_up import share_groups

    try:
        with ClusterClient(bootstrap_servers, command_config) as cluster:
            return share_groups(cluster)
    except (Refused, StartError) as error:
        return str(error)


def _show_once(
    addresses: Sequence[Address], guard: ClientGuard, groups: AskGroups | None, as_json: bool
) -> int:
    """Print the status once, and return the exit code HEALTHY or DEGRADED.

    Raises StartError if no node answers; with `as_json` the error is printed as JSON first.
    """
    try:
        status = status_of(addresses, guard=guard)
    except StartError as error:
        if as_json:
            _print_error(error)
        raise
    return _show(status, groups, as_json)


def _print_error(error: StartError) -> None:
    """Print the JSON object that a program gets if there is no status, on standard output."""
    echo_json({"healthy": False, "error": str(error)})


def _show(status: ClusterStatus, groups: AskGroups | None, as_json: bool) -> int:
    """Print the status, and return the exit code HEALTHY or DEGRADED. Share groups do not change
    the code."""
    group_status = None if groups is None else groups()
    if as_json:
        shown = status.as_json()
        if group_status is not None:
            shown["share_groups"] = groups_as_object(group_status)
        echo_json(shown)
    else:
        lines = report(status)
        if group_status is not None:
            lines += ["", *group_lines(group_status)]
        echo_lines(lines, "green" if status.healthy else "red")
    sys.stdout.flush()
    return HEALTHY if status.healthy else DEGRADED


def _show_again(
    addresses: Sequence[Address],
    guard: ClientGuard,
    groups: AskGroups | None,
    screen: LiveScreen,
    as_json: bool,
) -> int:
    """Print the status for --watch, or the error if no node answers: the cluster may answer the
    next time. Return the exit code that applies until then."""
    try:
        status = status_of(addresses, guard=guard)
    except StartError as error:
        _separate(screen, as_json)
        if as_json:
            _print_error(error)
        else:
            echo(f"ottla: {error}")
        sys.stdout.flush()
        return UNREACHABLE
    _separate(screen, as_json)
    return _show(status, groups, as_json)


def _separate(screen: LiveScreen, as_json: bool) -> None:
    """Separate one status from the last: clear the screen, or print the time into a file or pipe.
    With `as_json` print nothing."""
    if screen.is_drawn:
        screen.clear()
    elif not as_json:
        echo(time.strftime("--- %H:%M:%S"))
