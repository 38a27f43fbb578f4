"""The start and the stop of a broker.

Owns the order of both. Start: the broker registers with the controller. After it has replayed the
metadata up to its registration, it opens the logs with their topics' configs, and replicas follow
the metadata. Then the controller unfences it, and it serves. Stop: leaders move to other brokers (a
controlled shutdown), no new work starts, and coordinators answer waiting requests.

Never creates a part (`broker.node.parts`), and never touches a socket, a clock or a file itself.
Follows Kafka's `BrokerServer`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from broker.config.endpoints import EndPoint
from broker.config.values import BrokerConfig
from broker.node.control.lifecycle import BrokerIdentity
from broker.node.parts import BrokerParts
from broker.node.settings import cleaner_settings
from broker.requests.request_handler import RequestHandler
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.topic_names import is_internal
from controller.settings import DEFAULT_FEATURES
from ground.topic_partition import TopicPartition

_log = logging.getLogger(f"ottla.{__name__}")

Started = Callable[[Exception | None], None]


class BrokerServer:
    """The start and the stop of a broker."""

    def __init__(self, parts: BrokerParts, requests: RequestHandler) -> None:
        """Create a broker that is not started. It applies changed dynamic configs from now on."""
        self.parts = parts
        self.requests = requests
        shared = self._shared = parts.shared
        self.config = shared.config
        self.ports = shared.ports
        self.logs = shared.logs
        shared.reconfiguration.add(self._reconfigure)
        # Runs once, when the metadata contains the registration of this broker.
        self._when_registered: Callable[[], None] | None = None

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata."""
        return self._shared.image

    def broker_epoch(self) -> int:
        """Return the epoch of this broker's registration; -1 without a registration."""
        return self.parts.lifecycle.epoch

    # --- start ---------------------------------------------------------------------------------

    def start(self, advertised: Sequence[EndPoint], done: Started) -> None:
        """Register with the controller, open the logs and host the replicas. Call `done(None)` when
        clients can be served, or `done(error)`."""
        storage = self._shared.storage
        identity = BrokerIdentity(
            cluster_id=storage.cluster_id,
            incarnation_id=self.ports.random_bytes(16),
            endpoints=advertised,
            log_dir_ids=[storage.directory_ids[path] for path in self.logs.online_dirs],
            features=DEFAULT_FEATURES,
            previous_broker_epoch=self.logs.read_previous_broker_epoch(),
        )
        self._shared.failures.listen(self._log_dir_failed)
        self.parts.lifecycle.register(identity, partial(self._registered, done=done))

    def _registered(self, error: Exception | None, done: Started) -> None:
        """Listen to the metadata, and load the logs when it has reached the registration; or pass
        the error to `done`."""
        if error is not None:
            done(error)
            return
        self._when_registered = partial(self._load, done)
        self._shared.controller.add_listener(self._metadata_changed)

    def _metadata_changed(self, _delta: MetadataDelta, image: MetadataImage) -> None:
        """Load the logs soon after the image has reached this broker's registration."""
        if self._when_registered is not None and image.offset >= self.broker_epoch():
            # Not within this call, because other listeners have not received this change yet.
            self.ports.scheduler.call_soon(self._when_registered)
            self._when_registered = None

    def _load(self, done: Started) -> None:
        """Load the logs, now that the image has everything decided before the registration.

        So a log that the image does not name belongs to no topic any more.
        """
        self.logs.load(self._is_stray, partial(self._loaded, done=done), _warn, self._home_of)

    def holdings(self) -> tuple[int, int]:
        """Return the number of topics with a replica here, except internal ones, and all bytes."""
        logs = self.logs.logs
        topics = {log.partition.topic for log in logs if not is_internal(log.partition.topic)}
        return len(topics), sum(log.segments.size_bytes for log in logs)

    def _loaded(self, error: Exception | None, done: Started) -> None:
        """Log the number of opened logs, host the replicas of the metadata, start the cleaner, and
        ask the controller to unfence the broker.

        `done` gets None after the controller has unfenced the broker, or the error.
        """
        if error is not None:
            done(error)
            return
        if _log.isEnabledFor(logging.INFO):
            _, size = self.holdings()
            _log.info("opened %d log(s) with %d bytes", len(self.logs.logs), size)
        for line in self.logs.report:
            _warn(line)
        try:
            # A listener that fails later does not stop the others.
            self._shared.controller.add_listener(
                self.parts.replicas.follow,
                self._topics_changed,
                self._leaders_changed,
            )
        except Exception as failure:  # noqa: BLE001  the node's starter decides what follows
            done(failure)
            return
        self.logs.start()
        self.parts.cleaner.start()
        self.parts.lifecycle.unfence(partial(done, None))

    def _is_stray(self, partition: TopicPartition, topic_id: bytes | None) -> bool:
        """Return True if the metadata does not place this log's partition on this node.

        `topic_id` None: the log does not know its topic id.
        """
        topics, (name, index) = self.image.topics, partition
        topic = topics.get(name) if topic_id is None else topics.get_by_id(topic_id)
        if topic is None or topic.name != name:
            return True
        registration = topic.partitions.get(index)
        return registration is None or self.config.node_id not in registration.replicas

    def _home_of(self, partition: TopicPartition) -> str | None:
        """Return the log directory that the metadata names for the replica; None if it names none
        of this node.

        Return None for a sole replica, too: the metadata cannot say which of two copies is the old
        one.
        """
        registration = self.image.topics.partition(*partition)
        if registration is None or len(registration.replicas) == 1:
            return None
        named_id = registration.directory_of(self.config.node_id)
        ids = self._shared.storage.directory_ids
        return next((path for path in self.config.log_dirs if ids[path] == named_id), None)

    def _reconfigure(self, config: BrokerConfig) -> None:
        """Apply changed keys to the cleaner, the verification and the fetchers."""
        self.parts.cleaner.update_settings(cleaner_settings(config))
        self.parts.verification.set_enabled(config.transaction_partition_verification_enable)
        if self.parts.fetchers is not None:
            self.parts.fetchers.resize(config.num_replica_fetchers)

    def _topics_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        """Remove the committed offsets of deleted topics from the groups of this broker, and the
        states of their share-partitions."""
        deleted = {topic_id: topic.name for topic_id, topic in delta.topics.deleted.items()}
        if deleted:
            self.parts.groups.on_topics_deleted(deleted)
            self.parts.shares.topics_deleted(frozenset(delta.topics.deleted))

    def _leaders_changed(self, _delta: MetadataDelta, _image: MetadataImage) -> None:
        """Notify the transactions and the share groups, because the metadata may have other
        leaders."""
        self.parts.transactions.metadata_changed()
        self.parts.shares.metadata_changed()
        self.parts.dead_letters.metadata_changed()
        self.parts.share_fetching.metadata_changed()

    # --- events ----------------------------------------------------------------------------------

    def connection_closed(self, connection_id: str) -> None:
        """Close the share session of a client's connection, which has closed."""
        self.parts.share_fetching.connection_closed(connection_id)

    def _log_dir_failed(self, _log_dir: str, _reason: str) -> None:
        """Send a heartbeat with the failed folder, in a later turn of the loop."""
        self.ports.scheduler.call_soon(self.parts.lifecycle.log_dir_failed)

    # --- stop ----------------------------------------------------------------------------------

    def hand_over(self, done: Callable[[], None]) -> None:
        """Let the controller move leaders away while this broker still serves.

        Call `done` when it leads nothing, or after the time-out of a controlled shutdown; at once
        if no other broker is active.
        """
        if self.broker_epoch() < 0 or not self.others_may_lead():
            done()
        else:
            self.parts.lifecycle.shut_down(done)

    def others_may_lead(self) -> bool:
        """Return whether another broker is active."""
        node_id = self.config.node_id
        return any(broker.active and broker.id != node_id for broker in self.image.brokers.values())

    def begin_stop(self) -> None:
        """Start no new work, and answer all waiting requests."""
        parts = self.parts
        parts.cleaner.stop()
        parts.lifecycle.stop()
        if parts.fetchers is not None:
            parts.fetchers.shutdown()
        parts.groups.shutdown()
        parts.transactions.shutdown()
        parts.dead_letters.shutdown()
        parts.shares.shutdown()
        parts.replicas.complete_waiting()


def _warn(line: str) -> None:
    _log.warning("%s", line)
