"""The share groups of a cluster that are held up, for `ottla status --groups`.

Asks for the details of at most GROUPS_MAX groups. Owns no connection.
"""

from __future__ import annotations

from client.cluster import ClusterClient
from client.core.groups import SHARE
from client.groups.groups import described, listed, standings
from client.groups.held_up_report import HeldUp, ShareGroups
from client.groups.share_details import share_details
from client.refusals import Refused

GROUPS_MAX = 100


def share_groups(cluster: ClusterClient) -> ShareGroups:
    """Ask the cluster for its share groups and their troubles, and return them. A group that is
    deleted meanwhile has none. Raises Refused if the login may not list groups, StartError."""
    names = [row.group for row in listed(cluster, SHARE)]
    held_up: list[HeldUp] = []
    for name in names[:GROUPS_MAX]:
        try:
            group = described(cluster, name)
            details = share_details(cluster, group, standings(cluster, group))
        except Refused:
            continue
        held_up += [HeldUp(name, trouble) for trouble in details.troubles]
    return ShareGroups(len(names), min(len(names), GROUPS_MAX), held_up)
