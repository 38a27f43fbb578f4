"""Names that a shell completes, asked of the cluster at a tab: topics and groups.

Whoever waits at a prompt gets an answer soon or none: what goes wrong is no completion, and not
told. Owns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from broker.config.start_error import StartError
from client.refusals import Refused

WITHIN_S = 1.0

Names = Callable[[str, str | None], Sequence[str]]


def complete_topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Topics that begin so; those that a cluster keeps for itself once somebody types `__`."""
    return _completed(context, incomplete, _topics)


def complete_groups(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the groups whose names begin with `incomplete`. A name that reads like an option is
    offered only behind `--`, for a word that begins with `-`."""
    return _completed(context, incomplete, _groups)


def _completed(context: click.Context, incomplete: str, names: Names) -> list[str]:
    given = context.params
    servers, config = given.get("bootstrap_server"), given.get("command_config")
    try:
        found = names(servers, config) if isinstance(servers, str) else ()
    except (Refused, StartError):
        return []
    left_out = tuple(mark for mark in ("__", "-") if not incomplete.startswith(mark[0]))
    return [name for name in found if name.startswith(incomplete) and not name.startswith(left_out)]


def _topics(servers: str, config: str | None) -> list[str]:
    from client.cluster import Cluster

    with Cluster(servers, config, WITHIN_S) as cluster:
        return sorted(one.name or "" for one in cluster.metadata(None).topics)


def _groups(servers: str, config: str | None) -> list[str]:
    from client.cluster import Cluster
    from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    with Cluster(servers, config, WITHIN_S) as cluster:
        cluster.metadata([])
        answers = [
            cluster.call_at(one, ListGroupsRequest(), ListGroupsResponse)
            for one in cluster.broker_ids
        ]
    # One that moves is listed by two brokers; bash ends the word of a name that it has once.
    return sorted(dict.fromkeys(one.group_id for answer in answers for one in answer.groups))
