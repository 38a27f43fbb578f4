"""Replication throttles: limits on the copied bytes of chosen partitions per second (KIP-73).

Owns the throttled partitions, the rate, and the samples of the copied bytes. A broker has a quota
as a leader and another as a follower. Never delays a copy itself: the caller asks `is_exceeded`
before each partition, copies or skips it, and records the copied bytes. So a single read may exceed
the rate, and the next reads then wait.

Follows Kafka's `ReplicationQuotaManager`: `replication.quota.window.num` samples of
`replication.quota.window.size.seconds` each, and the rate over all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage, ResourceType
from ground.java_literals import integer, trim

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

UNLIMITED = 2**63 - 1
ALL_REPLICAS = "*"


class ReplicationQuota:
    """The throttle of the leaders, or of the followers, on a broker.

    Rates are bytes a second, times monotonic milliseconds.
    """

    def __init__(
        self,
        rate_key: str,
        replicas_key: str,
        config: BrokerConfig,
        now_ms: Callable[[], float],
    ) -> None:
        self._rate_key = rate_key
        self._replicas_key = replicas_key
        self._node_id: int = config.node_id
        self._now_ms = now_ms
        self._sample_ms = config.replication_quota_window_size_seconds * 1000
        self._samples_max: int = config.replication_quota_window_num
        self._samples: deque[tuple[float, int]] = deque()  # (start, bytes), oldest first
        self._throttled: dict[str, frozenset[int] | None] = {}  # None: all partitions of the topic
        self.rate = UNLIMITED

    # --- configuration ---------------------------------------------------------------------------

    def configure(self, image: MetadataImage) -> None:
        """Set `rate` from the configs of this broker in `image`; UNLIMITED if none is set."""
        self.rate = configured_rate(image, self._node_id, self._rate_key)

    def configure_topic(self, topic: str, image: MetadataImage) -> None:
        """Set which local partitions of a topic are throttled, by the topic's config of throttled
        replicas in `image`. Without that config none are."""
        text = image.topic_config(topic, self._replicas_key) or ""
        throttled = throttled_partitions(text.split(","), self._node_id)
        if throttled is not None and not throttled:
            self._throttled.pop(topic, None)
        else:
            self._throttled[topic] = throttled

    def is_throttled(self, topic: str, index: int) -> bool:
        """Return whether the local replica of this partition is throttled."""
        if topic not in self._throttled:
            return False
        partitions = self._throttled[topic]
        return partitions is None or index in partitions

    # --- the rate --------------------------------------------------------------------------------

    def record(self, size: int) -> None:
        """Count `size` copied bytes of throttled partitions."""
        now_ms = self._now_ms()
        if self._samples and now_ms - self._samples[-1][0] < self._sample_ms:
            start, before = self._samples[-1]
            self._samples[-1] = (start, before + size)
            return
        self._samples.append((now_ms, size))
        if len(self._samples) > self._samples_max:
            self._samples.popleft()

    def is_exceeded(self) -> bool:
        """Return whether the measured rate is above the limit."""
        return self.rate < UNLIMITED and self.measured() > self.rate

    def measured(self) -> float:
        """Return the bytes a second over the window of samples."""
        now_ms = self._now_ms()
        window_ms = self._sample_ms * self._samples_max
        samples = self._samples
        while samples and now_ms - samples[0][0] >= window_ms:
            samples.popleft()
        if not samples:
            return 0.0
        elapsed_ms = max(now_ms - samples[0][0], self._sample_ms)
        return sum(size for _, size in samples) * 1000 / elapsed_ms


def configured_rate(image: MetadataImage, node_id: int, key: str) -> int:
    """Return the rate in bytes a second: the broker's own config, or the cluster-wide default.

    Return UNLIMITED if neither is set.
    """
    rate = UNLIMITED
    for name in ("", str(node_id)):
        text = image.config(ResourceType.BROKER, name).get(key)
        value = None if text is None else integer(trim(text), 64)
        if value is not None and value >= 0:
            rate = value
    return rate


def throttled_partitions(entries: Sequence[str], broker_id: int) -> frozenset[int] | None:
    """Return the partitions that `partition:broker` entries name for a broker; None: all (`*`).
    Raises ValueError for an entry of another form."""
    if ALL_REPLICAS in map(trim, entries):
        return None
    pairs = (entry.split(":") for entry in map(trim, entries) if entry)
    return frozenset(int(index) for index, broker in pairs if int(broker) == broker_id)
