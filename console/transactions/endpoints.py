"""The endpoints about transactions, the producers of a partition, and aborts."""

from __future__ import annotations

from client.cluster import ClusterClient, partitions_of
from client.live.looking import seen_topics
from client.operations import operations_on_cluster
from client.transactions import listing
from client.transactions.producers import producers_of
from client.transactions.waiting import (
    AllWaiting,
    stable_and_end,
    transactions_of,
    waiting_in,
)
from console.endpoints import Ask, BadAsk, Console, get, post, wall_ms
from console.transactions.aborts import abort, wanted_abort
from console.transactions.answers import (
    AbortPlan,
    PartitionProducers,
    TopicWaiting,
    TransactionList,
    WaitingPartition,
)
from console.transactions.shown import (
    may_write_markers,
    producer_rows,
    transaction_row,
    waiting_row,
)

STATES = (
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "PrepareEpochFence",
    "CompleteCommit",
    "CompleteAbort",
    "Empty",
    "Dead",
)
TRANSACTIONS_MAX = 500
WAITING_MAX = 500
PRODUCERS_MAX = 500
PARTITIONS_MAX = 50_000
"""The most partitions whose last stable offset is read."""
LONGEST_MS = 1 << 62


def _list(console: Console, ask: Ask) -> TransactionList:
    """Return the transactions in the `states` (names with commas), those open for longer than
    `longer_ms`, whose ids contain `q`; and the partitions with waiting records."""
    states = _states(ask.text("states", ""))
    longer_ms = ask.number("longer_ms", -1, least=-1, most=LONGEST_MS)
    part = ask.text("q", "").lower()
    with console.cluster() as cluster:
        rows = [
            row
            for row in listing.listed(cluster, states, longer_ms)
            if part in row.transactional_id.lower()
        ]
        described = listing.described(cluster, rows[:TRANSACTIONS_MAX])
        may_abort = may_write_markers(operations_on_cluster(cluster))
        waiting = _waiting(cluster)
    return TransactionList(
        transactions=[transaction_row(described[name]) for name in sorted(described)],
        of=len(rows),
        waiting=_rows(waiting, sees_all=may_abort is not False)[:WAITING_MAX],
        denied=waiting.denied,
        states=list(STATES),
        may_abort=may_abort,
    )


def _states(text: str) -> list[str]:
    """Return the names of states in a text. Raises BadAsk for an unknown name."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in STATES:
            raise BadAsk(f"states: {name} is none of {', '.join(STATES)}")
    return names


def _waiting(cluster: ClusterClient) -> AllWaiting:
    """Return the partitions with waiting records, of the topics that the login may see."""
    topics = seen_topics(cluster, internal=True)
    return waiting_in(cluster, topics, partitions_of(topics)[:PARTITIONS_MAX])


def _rows(waiting: AllWaiting, *, sees_all: bool) -> list[WaitingPartition]:
    """Return the rows of partitions with waiting records, the oldest transaction first."""
    now_ms = wall_ms()
    rows = [waiting_row(row, now_ms, sees_all=sees_all) for row in waiting.partitions]
    return sorted(rows, key=_oldest_first)


def _oldest_first(row: WaitingPartition) -> tuple[bool, int, str, int]:
    return row.since_ms is None, row.since_ms or 0, row.topic, row.partition


def _of_topic(console: Console, ask: Ask) -> TopicWaiting:
    """Return the partitions of a topic with waiting records."""
    name = ask.text("topic")
    with console.cluster() as cluster:
        topics = cluster.topics([name])
        waiting = waiting_in(cluster, topics, partitions_of(topics)[:PARTITIONS_MAX])
        sees_all = bool(waiting.partitions) and (
            may_write_markers(operations_on_cluster(cluster)) is not False
        )
    rows = _rows(waiting, sees_all=sees_all)
    return TopicWaiting(
        records=sum(row.records for row in rows),
        partitions=rows[:WAITING_MAX],
        denied=name in waiting.denied,
    )


def _producers(console: Console, ask: Ask) -> PartitionProducers:
    """Return the producers of a topic's partition."""
    at = (ask.text("topic"), ask.number("partition", least=0, most=(1 << 31) - 1))
    with console.cluster() as cluster:
        topics = cluster.topics([at[0]])
        described = producers_of(cluster, topics, [at])
        producers = described.by_partition.get(at, [])
        ids = [producer.producer_id for producer in producers]
        transactions = transactions_of(cluster, ids[:PRODUCERS_MAX])
        stable, end = stable_and_end(cluster, topics, [at]).get(at, (None, None))
    names = {key: transaction.transactional_id for key, transaction in transactions.items()}
    return PartitionProducers(
        producers=producer_rows(producers, names, PRODUCERS_MAX),
        of=len(producers),
        stable=stable,
        end=end,
        denied=at[0] in described.denied,
    )


def _abort(console: Console, ask: Ask) -> AbortPlan:
    """Preview the abort of a transaction; abort it if the body has `"execute": true`."""
    wanted = wanted_abort(ask.body)
    with console.cluster() as cluster:
        return abort(cluster, wanted, wall_ms())


ENDPOINTS = (
    get("/api/transactions", _list),
    get("/api/topics/{topic}/waiting", _of_topic),
    get("/api/topics/{topic}/producers", _producers),
    post("/api/transactions/abort", _abort),
)
