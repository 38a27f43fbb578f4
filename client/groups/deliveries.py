"""The deliveries of a share group's records, with errors for commands.

Owns no connection; the requests are `client.core.deliveries`', which take ClusterAction on the
cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import ClusterClient
from client.core import deliveries
from client.core.deliveries import Delivered, NotReported
from client.core.leaders import Partition
from client.core.operation import ErrorAnswer
from client.groups.share_offsets import share_offsets
from client.refusals import Refused, why

_RIGHT = "ClusterAction on the cluster"


def delivered_ranges(
    cluster: ClusterClient, group: str, ends: Mapping[Partition, int]
) -> list[Delivered]:
    """Ask the share coordinators for the records of a share group between the start offset and the
    end of each partition, and return them as ranges, in order.

    `ends`: the end offsets. Partitions without an end or a start offset are left out. Raises
    Refused, also if this login lacks the right, and StartError.
    """
    offsets = share_offsets(cluster, group)
    try:
        return cluster.run(deliveries.delivered_ranges(cluster.attempts(), group, offsets, ends))
    except NotReported as error:
        raise Refused(f"the deliveries of group {group}: {error}") from None
    except ErrorAnswer as error:
        reason = why(error.code, error.message, _RIGHT)
        raise Refused(f"the deliveries of group {group}: {reason}") from None
