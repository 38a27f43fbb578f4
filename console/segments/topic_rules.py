"""The rules of retention and compaction of a log: configs of its topic and its broker.

Owns the answers of the last seconds. A login without the right to see configs gets a line instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.configs.settings import BROKER, SOURCES, TOPIC, configs_by_name
from client.refusals import Refused
from console.segments.kept_answers import KeptAnswers
from storage.log_config import LogConfig

KEPT_S = 5.0
KEPT_MAX = 1_000
_OF_TOPIC = (
    "cleanup.policy",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "index.interval.bytes",
    "max.compaction.lag.ms",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)
_CHECK = "log.retention.check.interval.ms"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for a topic on a node. `config` is None if they are unknown: `why_not` says why."""

    config: LogConfig | None
    shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    """(value, source) by config name."""
    check_interval_ms: int | None = None
    why_not: str | None = None


class TopicRules:
    """The rules of topics, read from the cluster and kept for KEPT_S."""

    def __init__(
        self,
        cluster: Callable[[], AbstractContextManager[ClusterClient]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._known = KeptAnswers(self._ask, KEPT_S, KEPT_MAX, now)

    def of(self, topic: str, node_id: int) -> Rules:
        """Return the rules for a topic on a node. Raises StartError if no broker answers."""
        return self._known.of((topic, node_id))

    def _ask(self, wanted: tuple[str, int]) -> Rules:
        topic, node_id = wanted
        try:
            with self._cluster() as cluster:
                configs = configs_by_name(cluster, TOPIC, [topic], _OF_TOPIC)[topic]
        except Refused as error:
            return Rules(None, why_not=str(error))
        shown = {
            entry.name: (entry.value or "", SOURCES.get(entry.config_source, ""))
            for entry in configs
        }
        config = LogConfig.from_overrides({name: value for name, (value, _) in shown.items()})
        return Rules(config, shown, self._check_interval(node_id))

    def _check_interval(self, node_id: int) -> int | None:
        """Return the interval of a broker's retention in ms.

        Returns None if the broker is down or the login may not see its configs.
        """
        try:
            with self._cluster() as cluster:
                configs = configs_by_name(cluster, BROKER, [str(node_id)], [_CHECK])
            values = [entry.value for entry in configs[str(node_id)] if entry.name == _CHECK]
            return int(values[0]) if values and values[0] else None
        except (Refused, StartError, ValueError):
            return None
