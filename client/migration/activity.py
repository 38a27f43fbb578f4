"""The check of groups and transactions: what Ottla would not serve, and what must end first.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.plugins import ASSIGNORS
from client.core.groups import CONSUMER
from client.migration.contents import GroupContents, NodeContents
from client.migration.findings import Finding, refused, unknown, wait
from client.migration.resource_configs import GROUP_TYPES, SERVED_GROUP_TYPES
from client.transactions.listing import Transaction

LONG_OPEN_MS = 300_000
"""The age in ms from which an open transaction has to end before a node is replaced."""
_MAX_TIMEOUT = "transaction.max.timeout.ms"
_STOP_GROUP = "move its application to another kind of group, or leave it on Apache Kafka"
_WAIT_END = "wait until it ends, or abort it: kafka-transactions abort"


def group_findings(groups: Iterable[GroupContents]) -> Iterator[Finding]:
    """Yield the findings about groups of types that Ottla does not serve or know, and with
    assignors that it lacks."""
    for group in groups:
        place, type_ = f"group {group.name}", group.type.lower()
        if type_ and type_ not in GROUP_TYPES:
            yield unknown(place, f"unknown type of group {group.type}", _STOP_GROUP)
        elif type_ and type_ not in SERVED_GROUP_TYPES:
            yield refused(place, f"Ottla does not serve {type_} groups", _STOP_GROUP)
        elif type_ == CONSUMER and group.assignor and group.assignor not in ASSIGNORS.values():
            what = f"unknown assignor {group.assignor}"
            advice = "let its members choose uniform or range, or name a Python class for it in "
            yield unknown(place, what, f"{advice}group.consumer.assignors of Ottla's nodes")


def transaction_findings(
    transactions: Sequence[Transaction], now_ms: int, max_timeout_ms: int
) -> Iterator[Finding]:
    """Yield the findings about transactions that have two-phase commit, or have been open for long.

    Only two-phase commit (KIP-939) allows a timeout above `max_timeout_ms`, which is
    `transaction.max.timeout.ms`.
    """
    for transaction in transactions:
        place = f"transaction {transaction.transactional_id}"
        if transaction.timeout_ms > max_timeout_ms:
            what = (
                f"a timeout of {transaction.timeout_ms} ms, above {_MAX_TIMEOUT}={max_timeout_ms}: "
                "two-phase commit is not supported"
            )
            yield refused(place, what, "end it, and let its application do without")
        if transaction.started_ms is None:
            continue
        age_ms = now_ms - transaction.started_ms
        if age_ms >= LONG_OPEN_MS:
            what = f"{transaction.state} for {age_ms // 60_000} min"
            yield wait(place, what, _WAIT_END)


def max_timeout_ms(nodes: Iterable[NodeContents]) -> int:
    """Return the largest `transaction.max.timeout.ms` of any node, Kafka's default if none sets
    it."""
    default = BROKER_CONFIG_DEF[_MAX_TIMEOUT].default or "0"
    texts = [
        config.value
        for node in nodes
        for config in node.configs
        if config.name == _MAX_TIMEOUT and config.value is not None and config.value.isdecimal()
    ]
    return max(map(int, texts), default=int(default))
