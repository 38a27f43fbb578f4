"""Aborts of open transactions: a preview, then the abort of exactly what the preview showed.

A transaction that a coordinator knows ends by its transactional id, in all of its partitions. A
hanging one ends by a marker in one partition. Owns no connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.operations import operations_on_cluster
from client.refusals import Refused
from client.transactions import listing
from client.transactions.aborting import fence, write_abort_marker
from client.transactions.listing import Transaction
from client.transactions.waiting import Waiting, waiting_in
from console.endpoints import BadAsk
from console.transactions.answers import AbortPlan
from console.transactions.shown import may_write_markers, waiting_row

CHANGED = (
    "the transaction has ended, or another one is open, since the preview: close this and look"
)
_OPEN = ("Ongoing", "PrepareAbort", "PrepareCommit", "PrepareEpochFence")


class Preview(NamedTuple):
    """The identity of a transaction. The next one may have the same epoch, but another start."""

    producer_id: int
    epoch: int
    started_ms: int | None


@dataclass(frozen=True, slots=True)
class WantedAbort:
    """A page's request: a transactional id, or a partition of a hanging transaction.

    `preview`: abort the transaction if it is this one; None: return the preview.
    """

    transactional_id: str | None
    partition: Partition | None
    preview: Preview | None


def wanted_abort(body: object) -> WantedAbort:
    """Return the request of a body. Raises BadAsk."""
    asked = body if isinstance(body, dict) else {}
    preview = None
    if asked.get("execute") is True:
        preview = Preview(*(_number(asked, name) for name in Preview._fields))
    name, topic = asked.get("id"), asked.get("topic")
    if isinstance(name, str) and name:
        return WantedAbort(name, None, preview)
    if isinstance(topic, str) and topic:
        return WantedAbort(None, (topic, _number(asked, "partition")), preview)
    raise BadAsk("name the transaction: an id, or a topic and a partition")


def _number(asked: Mapping[str, object], name: str) -> int:
    """Return a whole number of the request. Raises BadAsk."""
    number = asked.get(name)
    if type(number) is not int or not 0 <= number < 1 << 63:
        raise BadAsk(f"{name} must be a whole number, as in the preview")
    return number


def abort(cluster: ClusterClient, wanted: WantedAbort, now_ms: int) -> AbortPlan:
    """Return the preview of an abort, or abort the transaction if the request says so.

    Raises Refused, also if the transaction is another one than in the preview, and StartError.
    """
    if wanted.transactional_id is not None:
        return _abort_known(cluster, wanted.transactional_id, wanted, now_ms)
    assert wanted.partition is not None
    return _abort_hanging(cluster, wanted.partition, wanted, now_ms)


def _abort_known(
    cluster: ClusterClient, transactional_id: str, wanted: WantedAbort, now_ms: int
) -> AbortPlan:
    """Preview or abort the transaction that a coordinator knows."""
    transaction = _described(cluster, transactional_id)
    topics = {
        topic.name or "": topic
        for topic in cluster.metadata(sorted({name for name, _ in transaction.partitions})).topics
        if not topic.error_code
    }
    waiting = waiting_in(cluster, topics, [at for at in transaction.partitions if at[0] in topics])
    plan = AbortPlan(
        aborted=False,
        transactional_id=transactional_id,
        producer_id=transaction.producer_id,
        epoch=transaction.producer_epoch,
        started_ms=transaction.started_ms,
        partitions=[waiting_row(row, now_ms, sees_all=False) for row in waiting.partitions],
    )
    if wanted.preview is None:
        return plan
    _check_unchanged(plan, wanted.preview)
    fence(cluster, transactional_id, transaction.timeout_ms)
    return replace(plan, aborted=True)


def _described(cluster: ClusterClient, transactional_id: str) -> Transaction:
    """Return the open transaction of an id. Raises Refused if none is open."""
    coordinator = cluster.transaction_coordinator(transactional_id)
    row = listing.ListedTransaction(transactional_id, -1, "", coordinator)
    transaction = listing.described(cluster, [row]).get(transactional_id)
    if transaction is None:
        raise Refused(
            f"no transactional id {transactional_id} exists, or the console's login needs Describe "
            "on it"
        )
    if transaction.state not in _OPEN:
        raise Refused(
            f"{transactional_id} has no open transaction: its state is {transaction.state}"
        )
    return transaction


def _abort_hanging(
    cluster: ClusterClient, at: Partition, wanted: WantedAbort, now_ms: int
) -> AbortPlan:
    """Preview or abort the hanging transaction of a partition."""
    sees_all = may_write_markers(operations_on_cluster(cluster)) is not False
    topics = cluster.topics([at[0]])
    for waiting in waiting_in(cluster, topics, [at]).partitions:
        if waiting.hangs(now_ms) and sees_all and waiting.producer is not None:
            return _abort_by_marker(cluster, waiting, wanted, now_ms)
    raise Refused(
        f"{at[0]}-{at[1]} has no hanging transaction: none is open, it is younger than 15 min, a "
        "coordinator knows it, or the login has no Alter on the cluster"
    )


def _abort_by_marker(
    cluster: ClusterClient, waiting: Waiting, wanted: WantedAbort, now_ms: int
) -> AbortPlan:
    """Preview or write the marker that aborts a hanging transaction in its partition."""
    producer = waiting.producer
    assert producer is not None
    row = waiting_row(waiting, now_ms, sees_all=True)
    plan = AbortPlan(False, None, producer.producer_id, producer.epoch, row.since_ms, [row])
    if wanted.preview is None:
        return plan
    _check_unchanged(plan, wanted.preview)
    write_abort_marker(cluster, waiting.partition, producer)
    return replace(plan, aborted=True)


def _check_unchanged(plan: AbortPlan, preview: Preview) -> None:
    """Raise Refused if the transaction is another one than in the preview."""
    if (plan.producer_id, plan.epoch, plan.started_ms) != preview:
        raise Refused(CHANGED)
