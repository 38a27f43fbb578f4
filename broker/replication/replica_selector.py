"""The choice of the replica that a consumer reads from, in its own rack if possible (KIP-392).

Decides for partitions that this broker leads, without any state. Never chooses a replica that is
out of sync, or that lacks the requested offset: the consumer would return to the leader. Follows
Kafka's `RackAwareReplicaSelector` and `ReplicaManager.findPreferredReadReplica`.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.replication.followers import Followers
from controller.metadata.image import BrokerRegistration

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

NO_PREFERENCE = -1


def rack_aware(
    rack: str,
    fetch_offset: int,
    followers: Followers,
    brokers: Mapping[int, BrokerRegistration],
    leader_id: int,
    listener_name: str,
) -> int:
    """Return the in-sync follower in `rack` that has `fetch_offset` and the latest log end. Return
    -1, to read from the leader, if there is none or the leader is in that rack."""
    leader = brokers.get(leader_id)
    if leader is None or leader.rack == rack:
        return NO_PREFERENCE
    best = (-1, 0.0, NO_PREFERENCE)
    for broker_id in followers.isr:
        replica, broker = followers.replicas.get(broker_id), brokers.get(broker_id)
        if replica is None or broker is None or broker.rack != rack or broker.fenced:
            continue
        if listener_name not in broker.endpoints:
            continue
        if not replica.log_start_offset <= fetch_offset <= replica.log_end_offset:
            continue
        best = max(best, (replica.log_end_offset, replica.caught_up_ms, broker_id))
    return best[2]
