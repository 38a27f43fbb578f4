"""The metadata side of one node, put together: log, Raft, loader, controller, APIs, snapshots.

    node = ControllerNode(settings, environment, random_bytes, bootstrap, on_failure)
    node.add_listener(callback)      # callback(delta, image) for each change, in order
    node.start()                     # elects itself where it is the only voter
    node.apis.handle(context, request, respond)
    node.close()

Owns: the order in which these parts hear of a committed batch: first the image and who follows it,
then the replies that waited for it. So a client that was told of its new topic finds it in this
node's metadata. Never: decides anything.

Follows Kafka's `SharedServer`, `ControllerServer` and `SnapshotGenerator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from controller.controller_apis import ControllerApis
from controller.feature_control import unsupported_feature
from controller.metadata_image import MetadataImage
from controller.metadata_loader import CommittedBatch, MetadataListener, MetadataLoader
from controller.metadata_records import MetadataRecord, MetadataRecordError
from controller.metadata_snapshot import decode_snapshot, image_of
from controller.quorum_controller import QuorumController
from controller.raft_client import RaftClient
from controller.raft_log import RaftLog
from controller.random_ids import RandomBytes
from controller.settings import ControllerSettings
from controller.snapshot_generator import SnapshotGenerator
from storage.config_def import ConfigDef
from storage.ports import Network
from storage.recoverable_log import LogEnvironment

logger = logging.getLogger(__name__)


class ControllerNode:
    """One node's metadata: a voter or, where it is none of `settings.voters`, an observer."""

    def __init__(
        self,
        settings: ControllerSettings,
        environment: LogEnvironment,
        random_bytes: RandomBytes,
        bootstrap: Sequence[MetadataRecord],
        on_failure: Callable[[Exception], None],
        network: Network | None = None,
        group_config_def: ConfigDef | None = None,
    ) -> None:
        """Open the metadata log and its latest snapshot. `bootstrap` is what an empty log begins
        with (`controller.storage_format`); `on_failure(error)` runs once if the log fails. A quorum
        of one that votes itself needs no `network`.

        Raises OSError, QuorumStateError and MetadataRecordError.
        """

        def draw(bound: int) -> int:
            return int.from_bytes(random_bytes(8), "big") % bound

        self.loader = MetadataLoader()
        self._settings = settings
        self._checked_features: object = None
        self._leader_listeners: list[Callable[[int | None], None]] = []
        self._log = RaftLog(settings, environment)
        self._load_snapshot()
        scheduler = environment.scheduler
        self.raft = RaftClient(settings, self._log, scheduler, draw, on_failure, network)
        self.controller = QuorumController(
            settings,
            self.raft,
            self.loader,
            scheduler,
            random_bytes,
            bootstrap,
            group_config_def,
        )
        self.apis = ControllerApis(settings, self.controller, scheduler)
        self._snapshots = SnapshotGenerator(settings, self._log, self.loader, scheduler)

    def _load_snapshot(self) -> None:
        if not self._log.snapshots:
            return
        latest = self._log.snapshots[-1]
        content = decode_snapshot(self._log.read_snapshot(latest))
        if content.control:
            raise MetadataRecordError(
                "the metadata has a dynamic quorum (kraft.version 1), which is not served yet: "
                "format with controller.quorum.voters"
            )
        self.loader.load_snapshot(image_of(content, latest))
        logger.info("metadata loaded from snapshot %s", latest.file_name)

    # --- what others use -----------------------------------------------------------------------

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata on this node."""
        return self.loader.image

    def add_listener(self, listener: MetadataListener) -> None:
        """Call `listener(delta, image)` for each change of the committed metadata."""
        self.loader.add_listener(listener)

    def on_leader_change(self, listener: Callable[[int | None], None]) -> None:
        """Call `listener(leader_id)` when the quorum has another leader, or none."""
        self._leader_listeners.append(listener)

    def start(self) -> None:
        """Take part in the quorum. Returns at once; listeners tell of what comes."""
        self.raft.start(self, self.loader.image.offset + 1)

    def close(self) -> None:
        """Stop for good: replies still owed are NOT_CONTROLLER. Raises LogDirFailure."""
        self.controller.close()
        self.raft.close()

    def _check_features(self) -> None:
        """A node that does not know a finalized level would misread what follows."""
        features = self.loader.image.features
        if features is self._checked_features:
            return
        self._checked_features = features
        fault = unsupported_feature(self.loader.image, self._settings.supported_features)
        if fault is not None:
            self.raft.fail(MetadataRecordError(fault))

    # --- from the quorum -----------------------------------------------------------------------

    def handle_commit(self, batch: CommittedBatch) -> None:
        """See `RaftListener`."""
        self.loader.handle_commit(batch)
        self._check_features()
        self.controller.handle_commit(batch)
        self._snapshots.maybe_generate()

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """See `RaftListener`."""
        self.controller.handle_leader_change(leader_id, epoch)
        for listener in self._leader_listeners:
            listener(leader_id)
