"""Who was heard of when: the soft state of the active controller about brokers.

Owns: the last heartbeat of each broker, how far it had read the metadata then, and the offset at
which the leaderships of one that shuts down had moved away. All of it begins anew with each
leadership: every unfenced broker then gets a whole session.

Never: decides on a state (`controller.decisions.cluster_control`), nor runs a timer
(`controller.controller_timers`). Follows Kafka's `BrokerHeartbeatManager`.
"""

from __future__ import annotations

from controller.metadata.image import BrokerRegistration, MetadataImage

UNKNOWN_OFFSET = -1


class BrokerHeartbeats:
    """Times are monotonic milliseconds."""

    def __init__(self, session_timeout_ms: float) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._heard_ms: dict[int, float] = {}
        self._offsets: dict[int, int] = {}
        self._shutdown_offsets: dict[int, int] = {}

    def activate(self, image: MetadataImage, now_ms: float) -> None:
        """Begin as the active controller."""
        self._heard_ms = {b.id: now_ms for b in image.brokers.values() if not b.fenced}
        self._offsets.clear()
        self._shutdown_offsets.clear()

    def grant_all(self, now_ms: float) -> None:
        """Count everybody as heard of now: the controller itself was away and cannot tell."""
        for broker_id in self._heard_ms:
            self._heard_ms[broker_id] = now_ms

    def touch(self, broker_id: int, now_ms: float, metadata_offset: int = UNKNOWN_OFFSET) -> None:
        """A registration or a heartbeat came."""
        self._heard_ms[broker_id] = now_ms
        self._offsets[broker_id] = metadata_offset

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone: its next life begins with nothing of this one."""
        self._heard_ms.pop(broker_id, None)
        self._offsets.pop(broker_id, None)
        self._shutdown_offsets.pop(broker_id, None)

    # --- sessions ------------------------------------------------------------------------------

    def has_session(self, broker_id: int, now_ms: float) -> bool:
        """Whether the broker was heard of within its session."""
        heard = self._heard_ms.get(broker_id)
        return heard is not None and heard > now_ms - self._session_timeout_ms

    def silent_for_ms(self, broker_id: int, now_ms: float) -> float:
        """Time since the broker was heard of, or since this node leads."""
        return now_ms - self._heard_ms.get(broker_id, now_ms)

    def expired(self, image: MetadataImage, now_ms: float) -> list[int]:
        """Unfenced brokers whose session has run out, the longest silent first."""
        limit = now_ms - self._session_timeout_ms
        silent = [
            (heard, broker.id) for broker, heard in self._unfenced(image, now_ms) if heard <= limit
        ]
        return [broker_id for _, broker_id in sorted(silent)]

    def next_end_ms(self, image: MetadataImage, now_ms: float) -> float:
        """When the first session ends, unless its broker is heard of; at most a session ahead."""
        times = [heard for _, heard in self._unfenced(image, now_ms)]
        return min(times, default=now_ms) + self._session_timeout_ms

    def _unfenced(
        self, image: MetadataImage, now_ms: float
    ) -> list[tuple[BrokerRegistration, float]]:
        return [
            (broker, self._heard_ms.get(broker.id, now_ms))
            for broker in image.brokers.values()
            if not broker.fenced
        ]

    # --- controlled shutdown -------------------------------------------------------------------

    def note_shutdown(self, broker_id: int, offset: int) -> None:
        """`offset` is that of the last record which moved leaderships away from the broker."""
        self._shutdown_offsets.setdefault(broker_id, offset)

    def shutdown_seen_by_all(self, image: MetadataImage, broker_id: int) -> bool:
        """Whether every active broker has read where the leaderships went: their clients then
        find the new leaders and not one that is gone."""
        offset = self._shutdown_offsets.get(broker_id)
        if offset is None:
            return False
        return all(
            self._offsets.get(broker.id, UNKNOWN_OFFSET) >= offset
            for broker in image.brokers.values()
            if broker.active
        )
