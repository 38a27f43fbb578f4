"""Metrics of clients with a quota: their use, and their throttle times.

Tags are those of Kafka, or of a user's own quota callback.
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
    """Register metrics of the clients with a quota."""
    quotas = node.shared.quotas

    def read(kind: QuotaKind, value: Callable[[Measurement], float]) -> Iterator[Sample]:
        """Yield one value of each measured client of a kind, with the client's tags as labels."""
        for measurement in quotas.managers[kind].measurements(quotas.now_ms()):
            yield _tags(measurement.tags), value(measurement)

    for kind, (word, text) in _QUOTA_LEVELS.items():
        name = f"kafka_server_{kind.metric_group.lower()}"
        node.metrics.gauges(
            f"{name}_{word}", text, partial(read, kind, lambda measurement: measurement.level)
        )
        node.metrics.gauges(
            f"{name}_throttle_time",
            "How long a client had to wait for it lately, in milliseconds, on average",
            partial(read, kind, lambda measurement: measurement.throttle_ms),
        )


def _tags(tags: Tags | CustomTags) -> Labels:
    """Return a client's tags as labels: `user` and `client_id`, or a custom quota callback's tags,
    with `_` for characters that a label's name lacks."""
    if isinstance(tags, Tags):
        return {"user": tags.user, "client_id": tags.client_id}
    return {re.sub(r"\W", "_", name): value for name, value in tags}
