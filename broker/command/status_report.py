"""What `ottla status` prints: a ClusterStatus as lines for people.

Pure text; long lists are cut after a number of partitions and say how many are left out. Never asks
anybody anything and knows no terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.command.admin.tables import aligned
from broker.command.cluster_status import BrokerState, ClusterStatus, PartitionState, QuorumState

PARTITIONS_SHOWN = 10
_INDENT = "  "


def report(status: ClusterStatus) -> list[str]:
    """The lines of one status: the verdict first."""
    lines = [f"cluster {status.cluster_id}: {verdict(status)}", "", f"brokers ({_brokers(status)})"]
    lines += aligned([_broker_row(one) for one in status.brokers], _INDENT)
    lines += ["", f"controller ({_controller(status.quorum)})"]
    if status.quorum is not None:
        lines += aligned(_quorum_rows(status.quorum), _INDENT)
    else:
        lines.append(
            f"{_INDENT}a majority of the controllers is needed; until then nothing changes,"
        )
        lines.append(f"{_INDENT}and what is told here is as it was")
    lines += ["", f"{_count(status.topics, 'topic')}, {_count(status.partitions, 'partition')}"]
    lines += _list("offline", status.offline)
    lines += _list("under min ISR (acks=all is refused)", status.under_min_isr)
    lines += _list("under-replicated", status.under_replicated)
    if status.partitions and not (status.offline or status.under_replicated):
        lines.append(f"{_INDENT}all replicas in sync")
    return lines


def verdict(status: ClusterStatus) -> str:
    """One phrase: healthy, or what lacks."""
    lacking = []
    if status.fenced:
        lacking.append(f"{_named('broker', status.fenced)} fenced")
    if status.quorum is None:
        lacking.append("the quorum is lost, no active controller answers")
        if status.unreachable:
            lacking.append(f"{_named('broker', status.unreachable)} not reached")
    elif status.lagging_voters:
        lacking.append(f"{_named('controller', status.lagging_voters)} lagging")
    for count, word in (
        (len(status.offline), "offline"),
        (len(status.under_min_isr), "under min ISR"),
        (len(status.under_replicated), "under-replicated"),
    ):
        if count:
            lacking.append(f"{_count(count, 'partition')} {word}")
    return "healthy" if status.healthy else f"degraded: {', '.join(lacking)}"


def _named(what: str, ids: Sequence[int]) -> str:
    plural = "" if len(ids) == 1 else "s"
    return f"{what}{plural} {', '.join(map(str, ids))}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _brokers(status: ClusterStatus) -> str:
    alive = sum(not one.fenced and one.reachable is not False for one in status.brokers)
    return f"{alive} of {len(status.brokers)} alive"


def _broker_row(one: BrokerState) -> list[str]:
    # A broker that was fenced long ago is told without an address.
    host = f"[{one.host}]" if ":" in one.host else one.host
    rack = f"rack {one.rack}" if one.rack is not None else ""
    return [str(one.node_id), f"{host}:{one.port}", rack, _state(one)]


def _state(one: BrokerState) -> str:
    if one.fenced:
        return "fenced"
    return "takes no connection" if one.reachable is False else "alive"


def _controller(quorum: QuorumState | None) -> str:
    if quorum is None:
        return "no active controller answers"
    return f"node {quorum.leader_id} leads, epoch {quorum.epoch}"


def _quorum_rows(quorum: QuorumState) -> list[list[str]]:
    rows = []
    for one in quorum.voters:
        if one.node_id == quorum.leader_id:
            rows.append([str(one.node_id), "voter", "leader"])
        elif one.behind_ms < 0:
            rows.append([str(one.node_id), "voter", "lagging: no contact since the election"])
        else:
            state = f"lagging for {one.behind_ms / 1000:.1f} s" if one.lagging else "follows"
            rows.append([str(one.node_id), "voter", f"{state}, lag {one.lag}"])
    rows += [[str(one.node_id), "observer", f"lag {one.lag}"] for one in quorum.observers]
    return rows


def _list(title: str, found: Sequence[PartitionState]) -> list[str]:
    if not found:
        return []
    lines = [f"{title}: {len(found)}"]
    lines += [f"{_INDENT}{_partition(one)}" for one in found[:PARTITIONS_SHOWN]]
    if len(found) > PARTITIONS_SHOWN:
        lines.append(f"{_INDENT}… and {len(found) - PARTITIONS_SHOWN} more (--json has all)")
    return lines


def _partition(one: PartitionState) -> str:
    leader = "no leader" if one.leader < 0 else f"leader {one.leader}"
    return f"{one.topic}-{one.partition}: {leader}, in sync {_ids(one.isr)} of {_ids(one.replicas)}"


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "none"
