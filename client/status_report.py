"""The output of `ottla status`: the lines of a ClusterStatus.

Pure text. If many partitions are degraded, their topics are listed instead, and a long list ends
with the number of topics left out. Never asks a broker and never uses a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from client.cluster_status import BrokerState, ClusterStatus, PartitionState, QuorumState
from client.tables import aligned, counted

PARTITIONS_SHOWN = 10
_INDENT = "  "
_INTERNAL_PREFIX = "__"
"""The prefix of internal topics."""


def report(status: ClusterStatus) -> list[str]:
    """Return the lines of a status, with the verdict first."""
    lines = [
        f"cluster {status.cluster_id}: {verdict(status)}",
        "",
        f"brokers ({_brokers_text(status)})",
    ]
    lines += aligned([_broker_row(broker) for broker in status.brokers], _INDENT)
    lines += ["", f"controller ({_controller_text(status.quorum)})"]
    if status.quorum is not None:
        lines += aligned(_quorum_rows(status.quorum), _INDENT)
    else:
        lines.append(
            f"{_INDENT}a majority of the controllers is needed; until then nothing changes,"
        )
        lines.append(f"{_INDENT}and what is told here is as it was")
    lines += ["", _topics_text(status)]
    for title, partitions in (
        ("offline", status.offline),
        ("under min ISR (acks=all is refused)", status.under_min_isr),
        ("under-replicated", status.under_replicated),
    ):
        lines += _list(title, partitions, status.partitions_by_topic)
    if status.partitions and not (status.offline or status.under_replicated):
        lines.append(f"{_INDENT}all replicas in sync")
    return lines


def verdict(status: ClusterStatus) -> str:
    """Return `healthy`, or `degraded:` with all that is degraded."""
    lacking = []
    if status.fenced:
        lacking.append(f"{_noun_with_ids('broker', status.fenced)} fenced")
    if status.quorum is None:
        lacking.append("the quorum is lost, no active controller answers")
        if status.unreachable:
            lacking.append(f"{_noun_with_ids('broker', status.unreachable)} not reached")
    elif status.lagging_voters:
        lacking.append(f"{_noun_with_ids('controller', status.lagging_voters)} lagging")
    for count, word in (
        (len(status.offline), "offline"),
        (len(status.under_min_isr), "under min ISR"),
        (len(status.under_replicated), "under-replicated"),
    ):
        if count:
            lacking.append(f"{counted(count, 'partition')} {word}")
    return "healthy" if status.healthy else f"degraded: {', '.join(lacking)}"


def _topics_text(status: ClusterStatus) -> str:
    """Return text such as `2 topics (1 of the cluster's own), 51 partitions`."""
    own = f" ({status.internal_topics} of the cluster's own)" if status.internal_topics else ""
    return f"{counted(status.topics, 'topic')}{own}, {counted(status.partitions, 'partition')}"


def _noun_with_ids(noun: str, ids: Sequence[int]) -> str:
    """Return text such as `brokers 1, 2`."""
    plural = "" if len(ids) == 1 else "s"
    return f"{noun}{plural} {', '.join(map(str, ids))}"


def _brokers_text(status: ClusterStatus) -> str:
    """Return text such as `2 of 3 alive`; fenced and unreachable brokers do not count."""
    alive = sum(not broker.fenced and broker.reachable is not False for broker in status.brokers)
    return f"{alive} of {len(status.brokers)} alive"


def _broker_row(broker: BrokerState) -> list[str]:
    """Return the broker's id, address, rack and state, as texts of columns."""
    # A broker that was fenced long ago may have an empty host.
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    rack = f"rack {broker.rack}" if broker.rack is not None else ""
    return [str(broker.node_id), f"{host}:{broker.port}", rack, _state_text(broker)]


def _state_text(broker: BrokerState) -> str:
    """Return `fenced`, `takes no connection` or `alive`."""
    if broker.fenced:
        return "fenced"
    return "takes no connection" if broker.reachable is False else "alive"


def _controller_text(quorum: QuorumState | None) -> str:
    """Return text such as `node 1 leads, epoch 5`, or that no active controller answers."""
    if quorum is None:
        return "no active controller answers"
    return f"node {quorum.leader_id} leads, epoch {quorum.epoch}"


def _quorum_rows(quorum: QuorumState) -> list[list[str]]:
    """Return a row of node, role and state for each voter and observer."""
    rows = []
    for voter in quorum.voters:
        if voter.node_id == quorum.leader_id:
            rows.append([str(voter.node_id), "voter", "leader"])
        elif voter.behind_ms < 0:
            rows.append([str(voter.node_id), "voter", "lagging: no contact since the election"])
        else:
            state = f"lagging for {voter.behind_ms / 1000:.1f} s" if voter.lagging else "follows"
            rows.append([str(voter.node_id), "voter", f"{state}, lag {voter.lag}"])
    rows += [
        [str(observer.node_id), "observer", f"lag {observer.lag if observer.lag >= 0 else '-'}"]
        for observer in quorum.observers
    ]
    return rows


def _list(
    title: str, partitions: Sequence[PartitionState], partitions_by_topic: Mapping[str, int]
) -> list[str]:
    """Return the lines of degraded partitions under `title`, or of their topics if more than
    PARTITIONS_SHOWN are degraded.

    No lines without partitions. Internal topics come last.
    """
    if not partitions:
        return []
    ordered = sorted(partitions, key=_own_first)
    if len(ordered) <= PARTITIONS_SHOWN:
        return [
            f"{title}: {len(partitions)}",
            *(f"{_INDENT}{_partition_line(partition)}" for partition in ordered),
        ]
    lacking: dict[str, int] = {}
    for partition in ordered:
        lacking[partition.topic] = lacking.get(partition.topic, 0) + 1
    rows = [
        [name, _share_text(count, partitions_by_topic.get(name))] for name, count in lacking.items()
    ]
    lines = [f"{title}: {len(partitions)}", *aligned(rows[:PARTITIONS_SHOWN], _INDENT)]
    if len(rows) > PARTITIONS_SHOWN:
        more = counted(len(rows) - PARTITIONS_SHOWN, "topic")
        lines.append(f"{_INDENT}… and {more} more (--json has all)")
    return lines


def _own_first(partition: PartitionState) -> tuple[bool, str, int]:
    """Return the key that sorts partitions by topic and index, internal topics last."""
    return partition.topic.startswith(_INTERNAL_PREFIX), partition.topic, partition.partition


def _share_text(count: int, total: int | None) -> str:
    """Return text such as `2 of 6 partitions`, or `2 partitions` without a total."""
    return f"{count} of {counted(total, 'partition')}" if total else counted(count, "partition")


def _partition_line(state: PartitionState) -> str:
    """Return text such as `orders-0: leader 1, in sync 1,2 of 1,2,3`."""
    leader = "no leader" if state.leader < 0 else f"leader {state.leader}"
    return (
        f"{state.topic}-{state.partition}: {leader}, "
        f"in sync {_ids(state.isr)} of {_ids(state.replicas)}"
    )


def _ids(ids: Sequence[int]) -> str:
    """Return the ids with commas between them, `none` without ids."""
    return ",".join(map(str, ids)) or "none"
