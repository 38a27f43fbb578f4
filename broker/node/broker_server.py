"""A broker comes up and goes down.

Owns the order of both. Up: it registers, wherever the controller is; once it has read the metadata
up to its registration, logs are opened with their topics' configs and replicas follow the metadata;
the controller unfences it; it serves. Down: leaders move away (a controlled shutdown), nothing new
is begun, coordinators answer whoever waits.

Never makes a part (`broker.node.parts`), or touches a socket, a clock or a file itself. Follows
Kafka's `BrokerServer`.
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
    """See the module."""

    def __init__(self, parts: BrokerParts, requests: RequestHandler) -> None:
        self.parts = parts
        self.requests = requests
        shared = self._shared = parts.shared
        self.config = shared.config
        self.ports = shared.ports
        self.logs = shared.logs
        shared.reconfiguration.add(self._reconfigure)
        # What to do when the metadata has our registration.
        self._when_registered: Callable[[], None] | None = None

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata."""
        return self._shared.image

    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return self.parts.lifecycle.epoch

    # --- up ------------------------------------------------------------------------------------

    def start(self, advertised: Sequence[EndPoint], done: Started) -> None:
        """Come up; `done(None)` when clients may be served, or with what forbids it."""
        storage = self._shared.storage
        identity = BrokerIdentity(
            cluster_id=storage.cluster_id,
            incarnation_id=self.ports.random_bytes(16),
            endpoints=advertised,
            log_dir_ids=[storage.directory_ids[one] for one in self.logs.online_dirs],
            features=DEFAULT_FEATURES,
            previous_broker_epoch=self.logs.read_previous_broker_epoch(),
        )
        self._shared.failures.listen(self._log_dir_failed)
        self.parts.lifecycle.register(identity, partial(self._registered, done=done))

    def _registered(self, error: Exception | None, done: Started) -> None:
        if error is not None:
            done(error)
            return
        self._when_registered = partial(self._load, done)
        self._shared.controller.add_listener(self._metadata_changed)

    def _metadata_changed(self, _delta: MetadataDelta, image: MetadataImage) -> None:
        if self._when_registered is not None and image.offset >= self.broker_epoch():
            # Not from here, where others are still to hear of this change.
            self.ports.scheduler.call_soon(self._when_registered)
            self._when_registered = None

    def _load(self, done: Started) -> None:
        """What was decided before the registration is in the image: a log that it does not name is
        nobody's."""
        self.logs.load(self._is_stray, partial(self._loaded, done=done), _warn, self._home_of)

    def holdings(self) -> tuple[int, int]:
        """Topics with a replica here, internal ones left out, and the bytes of all logs."""
        logs = self.logs.logs
        topics = {one.partition.topic for one in logs if not is_internal(one.partition.topic)}
        return len(topics), sum(one.segments.size_bytes for one in logs)

    def _loaded(self, error: Exception | None, done: Started) -> None:
        if error is not None:
            done(error)
            return
        if _log.isEnabledFor(logging.INFO):
            _, size = self.holdings()
            _log.info("opened %d log(s) with %d bytes", len(self.logs.logs), size)
        for line in self.logs.report:
            _warn(line)
        try:
            # One that fails later keeps none of the others from following.
            self._shared.controller.add_listener(
                self.parts.replicas.follow,
                self._topics_changed,
                self._leaders_changed,
            )
        except Exception as failure:  # noqa: BLE001  whoever starts the node decides on it
            done(failure)
            return
        self.logs.start()
        self.parts.cleaner.start()
        self.parts.lifecycle.unfence(partial(done, None))

    def _is_stray(self, partition: TopicPartition, topic_id: bytes | None) -> bool:
        topics, (name, index) = self.image.topics, partition
        topic = topics.get(name) if topic_id is None else topics.get_by_id(topic_id)
        if topic is None or topic.name != name:
            return True
        registration = topic.partitions.get(index)
        return registration is None or self.config.node_id not in registration.replicas

    def _home_of(self, partition: TopicPartition) -> str | None:
        """The directory that has the replica by the metadata. Of an only replica nobody can say
        that the other copy is the old one: there it decides nothing."""
        known = self.image.topics.partition(*partition)
        if known is None or len(known.replicas) == 1:
            return None
        named = known.directory_of(self.config.node_id)
        ids = self._shared.storage.directory_ids
        return next((path for path in self.config.log_dirs if ids[path] == named), None)

    def _reconfigure(self, config: BrokerConfig) -> None:
        self.parts.cleaner.update_settings(cleaner_settings(config))
        self.parts.verification.enable(config.transaction_partition_verification_enable)
        if self.parts.fetchers is not None:
            self.parts.fetchers.resize(config.num_replica_fetchers)

    def _topics_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        deleted = [topic.name for topic in delta.topics.deleted.values()]
        if deleted:
            self.parts.groups.on_topics_deleted(deleted)

    def _leaders_changed(self, _delta: MetadataDelta, _image: MetadataImage) -> None:
        self.parts.transactions.metadata_changed()

    # --- while up --------------------------------------------------------------------------------

    def _log_dir_failed(self, _log_dir: str, _reason: str) -> None:
        self.ports.scheduler.call_soon(self.parts.lifecycle.log_dir_failed)

    # --- down ----------------------------------------------------------------------------------

    def hand_over(self, done: Callable[[], None]) -> None:
        """Let the controller move leaders away while this broker still serves; `done` when it leads
        nothing, or the time for that is up."""
        if self.broker_epoch() < 0 or not self.others_may_lead():
            done()
        else:
            self.parts.lifecycle.shut_down(done)

    def others_may_lead(self) -> bool:
        """Whether another broker serves."""
        mine = self.config.node_id
        return any(one.active and one.id != mine for one in self.image.brokers.values())

    def begin_stop(self) -> None:
        """Begin nothing new; answer whoever waits."""
        parts = self.parts
        parts.cleaner.stop()
        parts.lifecycle.stop()
        if parts.fetchers is not None:
            parts.fetchers.shutdown()
        parts.groups.shutdown()
        parts.transactions.shutdown()
        parts.replicas.complete_waiting()


def _warn(line: str) -> None:
    _log.warning("%s", line)
