"""What `ottla status` prints: a ClusterStatus as lines for people.

Pure text; where many partitions lack something, topics stand for them, and long lists say how many
are left out. Never asks anybody anything and knows no terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from client.cluster_status import BrokerState, ClusterStatus, PartitionState, QuorumState
from client.tables import aligned

PARTITIONS_SHOWN = 10
_INDENT = "  "
_INTERNAL_PREFIX = "__"
"""Of topics that a cluster keeps for itself."""


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
    for title, found in (
        ("offline", status.offline),
        ("under min ISR (acks=all is refused)", status.under_min_isr),
        ("under-replicated", status.under_replicated),
    ):
        lines += _list(title, found, status.partitions_by_topic)
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
    rows += [
        [str(one.node_id), "observer", f"lag {one.lag if one.lag >= 0 else '-'}"]
        for one in quorum.observers
    ]
    return rows


def _list(
    title: str, found: Sequence[PartitionState], partitions_by_topic: Mapping[str, int]
) -> list[str]:
    """Each partition, or where they are many each topic; those that people made come first."""
    if not found:
        return []
    ordered = sorted(found, key=_own_first)
    if len(ordered) <= PARTITIONS_SHOWN:
        return [f"{title}: {len(found)}", *(f"{_INDENT}{_partition(one)}" for one in ordered)]
    lacking: dict[str, int] = {}
    for one in ordered:
        lacking[one.topic] = lacking.get(one.topic, 0) + 1
    rows = [[name, _share(count, partitions_by_topic.get(name))] for name, count in lacking.items()]
    lines = [f"{title}: {len(found)}", *aligned(rows[:PARTITIONS_SHOWN], _INDENT)]
    if len(rows) > PARTITIONS_SHOWN:
        more = _count(len(rows) - PARTITIONS_SHOWN, "topic")
        lines.append(f"{_INDENT}… and {more} more (--json has all)")
    return lines


def _own_first(one: PartitionState) -> tuple[bool, str, int]:
    return one.topic.startswith(_INTERNAL_PREFIX), one.topic, one.partition


def _share(count: int, of: int | None) -> str:
    return f"{count} of {_count(of, 'partition')}" if of else _count(count, "partition")


def _partition(one: PartitionState) -> str:
    leader = "no leader" if one.leader < 0 else f"leader {one.leader}"
    return f"{one.topic}-{one.partition}: {leader}, in sync {_ids(one.isr)} of {_ids(one.replicas)}"


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "none"
