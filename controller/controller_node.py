"""The metadata side of one node, put together: log, Raft, loader, controller, APIs, snapshots.

    node = ControllerNode(settings, environment, random_bytes, bootstrap, on_failure)
    node.add_listener(callback)      # callback(delta, image) for each change, in order
    node.start()                     # elects itself where it is the only voter
    node.apis.handle(context, request, respond)
    node.close()

Owns: the order in which these parts receive a committed batch: first the image and its listeners,
then the replies that wait for the batch. So when a client gets the reply to CreateTopics, this
node's metadata has the topic, and its logs if this node has replicas. Never: decides anything.

Follows Kafka's `SharedServer`, `ControllerServer` and `SnapshotGenerator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from controller.decisions.feature_control import kept_features, unsupported_feature
from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch, MetadataListener, MetadataLoader
from controller.metadata.records import MetadataRecord, MetadataRecordError
from controller.metadata.snapshot import BOOTSTRAP_SNAPSHOT, decode_snapshot, image_of
from controller.quorum_controller import QuorumController
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.quorum_voters import QuorumVoters
from controller.raft.raft_client import RaftClient
from controller.raft.raft_log import RaftLog
from controller.raft.snapshot_generator import SnapshotGenerator
from controller.random_ids import RandomBytes
from controller.requests.controller_apis import ControllerApis
from controller.settings import ControllerSettings
from ground.ports import Network, Scheduler
from ground.sliced_work import SlicedWork
from protocol.primitives import uuid_to_string
from storage.log.log_environment import LogEnvironment

if TYPE_CHECKING:
    from controller.raft.quorum_network import QuorumNetwork
    from controller.raft.raft_apis import RaftApis
    from controller.requests.long_requests import Slices

logger = logging.getLogger(f"ottla.{__name__}")


class ControllerNode:
    """The metadata of one node: a voter, or an observer."""

    def __init__(
        self,
        settings: ControllerSettings,
        environment: LogEnvironment,
        random_bytes: RandomBytes,
        bootstrap: Sequence[MetadataRecord],
        on_failure: Callable[[Exception], None],
        network: Network | None = None,
        between_nodes: Scheduler | None = None,
        sliced: SlicedWork | None = None,
        slices: Slices | None = None,
    ) -> None:
        """Open the metadata log, load its latest snapshot into the image, and create the other
        parts; `start` joins the quorum.

        `bootstrap` has the records that an empty log begins with (`controller.storage_format`).
        `on_failure(error)` runs once, if the log cannot be written or read, or has an unknown
        record or feature level. `network` is None for a quorum whose only voter is this node.
        `between_nodes` times elections and sessions; None: the environment's scheduler. `sliced`
        runs long work in turns, `slices` long requests; None: without pause.

        Raises OSError, QuorumStateError and MetadataRecordError.
        """

        def draw(bound: int) -> int:
            return int.from_bytes(random_bytes(8), "big") % bound

        self.loader = MetadataLoader(sliced)
        self._settings = settings
        self._loaded = False
        self._checked_features: object = None
        self._kept: list[str] = []
        self._leader_listeners: list[Callable[[int | None], None]] = []
        self._log = RaftLog(settings, environment.apart())
        self._load_snapshot()
        self._warn_of_another_directory()
        self._warn_of_ignored_voters()
        scheduler = self._between_nodes = between_nodes or environment.scheduler
        self._addresses = QuorumAddresses(
            self._log.voters, settings.controller_listener_name, settings.bootstrap_servers
        )
        quorum_network = self._quorum_network(network)
        self.raft = RaftClient(settings, self._log, scheduler, draw, on_failure, quorum_network)
        if quorum_network is not None:
            quorum_network.connect(self.raft)
        self._raft_apis: RaftApis | None = None
        self._environment = environment
        self.controller = QuorumController(
            settings, self.raft, self.loader, scheduler, random_bytes, bootstrap,
            environment.scheduler, sliced,
        )  # fmt: skip
        self.apis = ControllerApis(settings, self.controller, environment.scheduler, slices)
        self._snapshots = SnapshotGenerator(
            settings, self._log, self.loader, environment.scheduler, self.raft.snapshot_taken
        )

    def _warn_of_another_directory(self) -> None:
        """Log a WARNING if a voter has this node's id with another directory: the node only
        observes then, as after its disk was replaced."""
        key, voters = self._settings.replica_key, self._log.voters
        if voters.latest.get(key.id) is not None and key not in voters.latest:
            logger.warning(
                "this node is no voter: voter %d has the directory id %s, %s has %s. If its disk "
                "was replaced, remove that voter and add this one (kafka-metadata-quorum), or set "
                "controller.quorum.auto.join.enable=true; else use the folder of that voter",
                key.id,
                uuid_to_string(voters.directory_of(key.id)),
                self._settings.metadata_log_dir,
                uuid_to_string(key.directory_id),
            )

    def _warn_of_ignored_voters(self) -> None:
        """Log a WARNING if the configuration names other voters than the metadata log, which
        alone counts."""
        ignored, latest = self._log.voters.ignored_static, self._log.voters.latest
        if ignored and ignored.ids != latest.ids:
            logger.warning(
                "controller.quorum.voters is ignored: it names %s, but the metadata log has the "
                "voters %s. Remove the key, and set controller.quorum.bootstrap.servers",
                ", ".join(map(str, ignored.ids)),
                ", ".join(map(str, latest.ids)),
            )

    def _quorum_network(self, network: Network | None) -> QuorumNetwork | None:
        """Return the access to the other nodes of the quorum; None without `network`, or if the
        quorum is static and this node its only voter."""
        settings, voters = self._settings, self._log.voters
        is_alone = not voters.is_dynamic and voters.latest.is_only(settings.replica_key)
        if network is None or is_alone:
            return None
        from controller.raft.quorum_network import QuorumNetwork  # not for a quorum of one

        return QuorumNetwork(settings, network, self._between_nodes, voters, self._addresses)

    def _load_snapshot(self) -> None:
        """Load the newest snapshot, if there is one, into the loader, unless its records still have
        to be written to the log. Read the quorum's voters from it and from the log after it.

        Raises MetadataRecordError if the snapshot cannot be decoded, with its file and a remedy, or
        if this node cannot run with those voters.
        """
        if not self._log.snapshots:
            self._log.read_voters([])
            return
        latest = self._log.snapshots[-1]
        try:
            content = decode_snapshot(self._log.read_snapshot(latest))
        except MetadataRecordError as error:
            path = f"{self._log.directory}/{latest.file_name}"
            older = len(self._log.snapshots) > 1 or not self._log.start_offset
            how = "remove it and start again" if older else "restore it from a backup"
            raise MetadataRecordError(f"{path}: {error}; {how}") from error
        self._log.read_voters(content.control)
        if latest == BOOTSTRAP_SNAPSHOT:
            return
        self.loader.load_snapshot(image_of(content, latest))
        logger.info("metadata loaded from snapshot %s", latest.file_name)

    # --- for other parts of the node -----------------------------------------------------------

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata on this node."""
        return self.loader.image

    @property
    def is_loaded(self) -> bool:
        """Whether this node has replayed, at least once since its start, all records that the
        leader reported as committed. Until then its image may lack topics, or be empty."""
        self._note_if_loaded()
        return self._loaded

    def _note_if_loaded(self) -> None:
        """Set `_loaded`, for good, after the image has reached the high watermark that the leader
        announced."""
        if not self._loaded:
            high_watermark = self.raft.announced_high_watermark
            self._loaded = (
                high_watermark is not None and self.loader.image.offset + 1 >= high_watermark
            )

    @property
    def kraft_version(self) -> int:
        """1 if the voters are in the log (KIP-853), 0 if the configuration names them."""
        return self._log.voters.kraft_version

    @property
    def voters(self) -> QuorumVoters:
        """The voters of the quorum, as this node's log has them."""
        return self._log.voters

    @property
    def raft_apis(self) -> RaftApis:
        """The APIs that other nodes of the quorum call, and DescribeQuorum; created at the first
        use."""
        if self._raft_apis is None:
            from controller.raft.raft_apis import RaftApis  # a quorum of one starts without it

            scheduler = self._between_nodes
            self._raft_apis = RaftApis(
                self._settings, self.raft, self._log, scheduler, self._addresses
            )
        return self._raft_apis

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Return host and port of a controller; None if they are not known."""
        return self._addresses.of(node_id)

    def add_listener(self, *listeners: MetadataListener) -> None:
        """Call each `listener(delta, image)` for each change of the committed metadata, and at once
        for the present image if there is one."""
        self.loader.add_listener(*listeners)

    def on_leader_change(self, listener: Callable[[int | None], None]) -> None:
        """Call `listener(leader_id)` when the quorum's leader changes; None: no leader is known.
        For this node's own leadership, the call comes after the first commit of its epoch."""
        self._leader_listeners.append(listener)

    def start(self) -> None:
        """Join the quorum, as a voter or an observer, and return at once. Listeners receive the
        changes that follow."""
        self.raft.start(self, self.loader.image.offset + 1)

    def hand_over(self, done: Callable[[], None], limit_ms: float = 1_000.0) -> None:
        """Stop taking part in the quorum before a controlled `close`. If this node leads, resign,
        so that the other voters elect at once.

        `done()` runs after the other voters have answered, or after `limit_ms` milliseconds. If
        this node does not lead or has no other voters, `done()` runs soon.
        """
        self.raft.hand_over(done, limit_ms)

    def close(self) -> None:
        """Stop for good: reply NOT_CONTROLLER to pending commands, and close the quorum's
        connections and the log. Raises LogDirFailure."""
        self.controller.close()
        self.raft.close()

    def _check_features(self) -> None:
        """Fail Raft, which calls `on_failure`, if the node does not support a finalized feature
        level: it would misread later records.

        Log a WARNING if the list of features that are kept but not served has changed.
        """
        features = self.loader.image.features
        if features is self._checked_features:
            return
        self._checked_features = features
        supported = self._settings.supported_features
        fault = unsupported_feature(self.loader.image, supported)
        if fault is not None:
            self.raft.fail(MetadataRecordError(fault))
        kept = kept_features(self.loader.image, supported)
        if kept != self._kept:
            self._kept = kept
            logger.warning("kept in the metadata, not served: %s", ", ".join(kept) or "nothing")

    # --- from the quorum -----------------------------------------------------------------------

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Replay a committed batch into the image. After the listeners' work for it, send the
        replies that waited for it. Begin a snapshot if its interval or size has been reached."""
        self.loader.handle_commit(batch)
        self._check_features()
        self.loader.when_caught_up(partial(self.controller.handle_commit, batch))
        self._snapshots.maybe_generate()
        self._note_if_loaded()

    def handle_load_snapshot(self, image: MetadataImage) -> None:
        """Replace the image by that of the leader's snapshot; the listeners get the difference.
        Restart the triggers of this node's own snapshots."""
        self.loader.load_snapshot(image)
        self._check_features()
        self._snapshots.snapshot_loaded()

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Pass the new leader on to the controller, which becomes active or stops, and to the
        listeners."""
        self.controller.handle_leader_change(leader_id, epoch)
        for listener in self._leader_listeners:
            listener(leader_id)
