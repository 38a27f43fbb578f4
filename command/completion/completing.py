"""The names that a shell completes at a tab, from the cluster: topics and groups.

A user at a prompt gets an answer within WITHIN_S or none: after an error there are no completions,
and no message. Owns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from broker.config.start_error import StartError
from client.refusals import Refused

WITHIN_S = 1.0

Names = Callable[[str, str | None], Sequence[str]]


def complete_topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics whose names begin with `incomplete`; an empty list after an error.

    Internal topics are offered only after a `_` was typed.
    """
    return _completions(context, incomplete, _topics)


def complete_groups(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the groups whose names begin with `incomplete`; an empty list after an error.

    A name that looks like an option is offered only for a word that begins with `-`, after `--`.
    """
    return _completions(context, incomplete, _group_names)


def _completions(context: click.Context, incomplete: str, names: Names) -> list[str]:
    """Return the names that complete the word; none if the cluster cannot be asked.

    Leaves out names that begin with "__" or "-" until that is typed.
    """
    options = context.params
    servers, config = options.get("bootstrap_server"), options.get("command_config")
    try:
        all_names = names(servers, config) if isinstance(servers, str) else ()
    except (Refused, StartError):
        return []
    omitted_prefixes = tuple(mark for mark in ("__", "-") if not incomplete.startswith(mark[0]))
    return [
        name
        for name in all_names
        if name.startswith(incomplete) and not name.startswith(omitted_prefixes)
    ]


def _topics(servers: str, config: str | None) -> list[str]:
    """Return the names of all topics in the cluster, sorted. Raises StartError if no broker answers
    within WITHIN_S, Refused if it rejects the request."""
    from client.cluster import ClusterClient

    with ClusterClient(servers, config, WITHIN_S) as cluster:
        return sorted(topic.name or "" for topic in cluster.metadata(None).topics)


def _group_names(servers: str, config: str | None) -> list[str]:
    """Ask all brokers for their groups, and return the names, sorted. Raises StartError if a broker
    does not answer, Refused if it rejects the request."""
    from client.cluster import ClusterClient
    from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    with ClusterClient(servers, config, WITHIN_S) as cluster:
        cluster.metadata([])
        answers = [
            cluster.call_at(node_id, ListGroupsRequest(), ListGroupsResponse)
            for node_id in cluster.broker_ids
        ]
    # Two brokers list a group that moves; bash completes a whole word only for a single name.
    return sorted(dict.fromkeys(group.group_id for answer in answers for group in answer.groups))
