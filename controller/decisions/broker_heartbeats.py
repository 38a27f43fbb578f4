"""The last heartbeat of each broker: the active controller's soft state about brokers.

Owns: the time of each broker's last heartbeat, and the metadata offset that the broker had replayed
then. For a controlled shutdown, also the offset of the record that moved the broker's leaderships
away. All of it is cleared when this node becomes active: every unfenced broker then gets a whole
session.

Never: decides on a state (`controller.decisions.cluster_control`), nor runs a timer
(`controller.controller_timers`). Follows Kafka's `BrokerHeartbeatManager`.
"""

from __future__ import annotations

from controller.metadata.image import BrokerRegistration, MetadataImage

UNKNOWN_OFFSET = -1


class BrokerHeartbeats:
    """The sessions and replayed offsets of brokers; times are monotonic milliseconds."""

    def __init__(self, session_timeout_ms: float) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._last_heartbeat_ms: dict[int, float] = {}
        self._offsets: dict[int, int] = {}
        self._shutdown_offsets: dict[int, int] = {}

    def activate(self, image: MetadataImage, now_ms: float) -> None:
        """Replace all state when this node becomes the active controller. Every unfenced broker of
        `image` gets a whole session, and no offset is known."""
        self._last_heartbeat_ms = {b.id: now_ms for b in image.brokers.values() if not b.fenced}
        self._offsets.clear()
        self._shutdown_offsets.clear()

    def grant_all(self, now_ms: float) -> None:
        """Restart all sessions, because the controller was paused and has read no heartbeats."""
        for broker_id in self._last_heartbeat_ms:
            self._last_heartbeat_ms[broker_id] = now_ms

    def touch(self, broker_id: int, now_ms: float, metadata_offset: int = UNKNOWN_OFFSET) -> None:
        """Restart the broker's session after its registration or heartbeat, and store
        `metadata_offset`: the offset up to which the broker has replayed the metadata."""
        self._last_heartbeat_ms[broker_id] = now_ms
        self._offsets[broker_id] = metadata_offset

    def forget(self, broker_id: int) -> None:
        """Remove all state of a broker that is fenced or unregistered."""
        self._last_heartbeat_ms.pop(broker_id, None)
        self._offsets.pop(broker_id, None)
        self._shutdown_offsets.pop(broker_id, None)

    # --- sessions ------------------------------------------------------------------------------

    def has_session(self, broker_id: int, now_ms: float) -> bool:
        """Return whether the broker's session has not expired; False for a broker without a
        session."""
        last_ms = self._last_heartbeat_ms.get(broker_id)
        return last_ms is not None and last_ms > now_ms - self._session_timeout_ms

    def silent_for_ms(self, broker_id: int, now_ms: float) -> float:
        """Return the milliseconds since the broker's session was last restarted; 0 for a broker
        without a session."""
        return now_ms - self._last_heartbeat_ms.get(broker_id, now_ms)

    def expired(self, image: MetadataImage, now_ms: float) -> list[int]:
        """Return the ids of the unfenced brokers whose session has expired, the longest silent
        first."""
        limit = now_ms - self._session_timeout_ms
        silent = [
            (last_ms, broker.id)
            for broker, last_ms in self._unfenced(image, now_ms)
            if last_ms <= limit
        ]
        return [broker_id for _, broker_id in sorted(silent)]

    def next_end_ms(self, image: MetadataImage, now_ms: float) -> float:
        """Return the monotonic time (ms) at which the first session of an unfenced broker expires.
        Without unfenced brokers, that is a whole session after `now_ms`."""
        times = [last_ms for _, last_ms in self._unfenced(image, now_ms)]
        return min(times, default=now_ms) + self._session_timeout_ms

    def _unfenced(
        self, image: MetadataImage, now_ms: float
    ) -> list[tuple[BrokerRegistration, float]]:
        """Return each unfenced broker with the monotonic time of its last heartbeat in ms; that
        time is `now_ms` for a broker without a session."""
        return [
            (broker, self._last_heartbeat_ms.get(broker.id, now_ms))
            for broker in image.brokers.values()
            if not broker.fenced
        ]

    # --- controlled shutdown -------------------------------------------------------------------

    def note_shutdown_offset(self, broker_id: int, offset: int) -> None:
        """Store the `offset` of the last record that moved leaderships away from the broker; a
        later call does not change it."""
        self._shutdown_offsets.setdefault(broker_id, offset)

    def shutdown_seen_by_all(self, image: MetadataImage, broker_id: int) -> bool:
        """Return whether every active broker has replayed the move of the leaderships, so that its
        clients find the new leaders. False if `note_shutdown_offset` was not called."""
        offset = self._shutdown_offsets.get(broker_id)
        if offset is None:
            return False
        return all(
            self._offsets.get(broker.id, UNKNOWN_OFFSET) >= offset
            for broker in image.brokers.values()
            if broker.active
        )
