"""What is shown of clients with a quota: what they use, and how long they had to wait.

Tags are as Kafka has them, or those of a callback of somebody's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker.metrics import Labels, Sample
from broker.quotas.client_quota_manager import Measurement, QuotaKind
from broker.quotas.limits import CustomTags, Tags

if TYPE_CHECKING:
    from broker.node.node import Node

_QUOTA_LEVELS = {
    QuotaKind.PRODUCE: ("byte_rate", "Bytes a second that a client with a quota produces"),
    QuotaKind.FETCH: ("byte_rate", "Bytes a second that a client with a quota fetches"),
    QuotaKind.REQUEST: ("request_time", "Percent of the event loop that a client with a quota has"),
    QuotaKind.CONTROLLER_MUTATION: ("tokens", "Partitions that a client may still change"),
}


def register_quota_metrics(node: Node) -> None:
    """Register what clients with a quota have used."""
    quotas = node.shared.quotas

    def read(kind: QuotaKind, value: Callable[[Measurement], float]) -> Iterator[Sample]:
        for one in quotas.managers[kind].measurements(quotas.now_ms()):
            yield _tags(one.tags), value(one)

    for kind, (word, text) in _QUOTA_LEVELS.items():
        name = f"kafka_server_{kind.metric_group.lower()}"
        node.metrics.gauges(f"{name}_{word}", text, partial(read, kind, lambda one: one.level))
        node.metrics.gauges(
            f"{name}_throttle_time",
            "How long a client had to wait for it lately, in milliseconds, on average",
            partial(read, kind, lambda one: one.throttle_ms),
        )


def _tags(tags: Tags | CustomTags) -> Labels:
    if isinstance(tags, Tags):
        return {"user": tags.user, "client_id": tags.client_id}
    return {re.sub(r"\W", "_", name): value for name, value in tags}
