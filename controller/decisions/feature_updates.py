"""UpdateFeatures: changes the cluster's finalized levels, all of a request or none.

A level is accepted only if this controller, every registered broker and every controller of the
quorum support it: a node that does not would misread later records. Levels go down only if the
request says so, and `metadata.version` only between levels that store the same metadata.

Owns: those checks, with Kafka's texts. Never: knows the meaning of a level.

Follows KIP-584, KIP-778, KIP-1022 and Kafka's `FeatureControlManager`, `QuorumFeatures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol

from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.feature_control import (
    dependency_fault,
    is_elr_level,
    needed_metadata_level,
)
from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from controller.metadata.version import (
    KRAFT_VERSION,
    LEVELS,
    METADATA_VERSION,
    MINIMUM_LEVEL,
    changes_metadata,
)
from controller.settings import ControllerSettings
from ground.sliced_work import Pace, Steps, in_bulk
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import FeatureLevelRecord, NoOpRecord

_REGISTRATION = LEVELS["3.7-IV0"]


UPDATE = 8
"""The cost of checking whether every node supports a level, in pieces of work."""


class UpgradeType(IntEnum):
    """The directions in which a level may change, as UpdateFeatures encodes them."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class QuorumLevels(Protocol):
    """The quorum's part in the features: it writes `kraft.version` into its log itself."""

    @property
    def kraft_version(self) -> int:
        """The finalized level of `kraft.version`."""

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """The node ids of the voters."""

    def upgrade_fault(self, level: int) -> ApiError | None:
        """Return why `kraft.version` cannot be raised to `level`; None if it can."""


class FeatureUpdate(NamedTuple):
    """A feature and its requested level."""

    name: str
    level: int
    upgrade_type: int


class FeatureUpdates:
    """The decisions on feature levels; they have no state."""

    def __init__(
        self,
        settings: ControllerSettings,
        configuration: ConfigurationControl,
        quorum: QuorumLevels,
    ) -> None:
        self._settings = settings
        self._configuration = configuration
        self._quorum = quorum

    def update(
        self, view: DecisionView, updates: list[FeatureUpdate], validate_only: bool
    ) -> Steps[Decision[None]]:
        """Return the decision that sets all levels in `updates`; the reply is None, or the error of
        the first invalid update.

        To turn ELR on also changes configs (`elr_safety_records`). With `validate_only`, there are
        no records.
        """
        image = view.image
        proposed = dict(image.features)
        yield from in_bulk(
            lambda batch: proposed.update((update.name, update.level) for update in batch), updates
        )
        records: list[MetadataRecord] = []
        kraft_version: int | None = None
        pace = Pace()
        for update in updates:
            if pace.is_full(UPDATE):
                yield None
            error = self._fault(image, update, proposed)
            if error is not None:
                return Decision(error)
            if update.name == KRAFT_VERSION:
                if update.level != self._quorum.kraft_version:
                    kraft_version = update.level
                records.append(NoOpRecord())  # the reply follows its commit
                continue
            record = FeatureLevelRecord(update.name, update.level)
            if is_elr_level(record) and not image.elr_enabled:
                records += self._configuration.elr_safety_records(image)
            records.append(record)
        if validate_only:
            return Decision(None)
        return Decision(None, records, kraft_version=kraft_version)

    def _fault(
        self, image: MetadataImage, update: FeatureUpdate, proposed: Mapping[str, int]
    ) -> ApiError | None:
        """Return the error of an update, None if it is valid. `proposed` has the levels after all
        updates."""
        name, level = update.name, update.level
        default = MINIMUM_LEVEL if name == METADATA_VERSION else 0
        now = image.features.get(name, default)
        if name == KRAFT_VERSION:
            now = self._quorum.kraft_version
        text = self._level_fault(image, update, now)
        if text is not None:
            return _invalid(update, text)
        if name == METADATA_VERSION:
            return _metadata_version_fault(image, update)
        if name == KRAFT_VERSION:
            return self._quorum.upgrade_fault(level)
        needed = needed_metadata_level(name, level)
        if proposed.get(METADATA_VERSION, 0) < needed:
            return _invalid(update, dependency_fault(name, level, needed))
        return None

    def _level_fault(self, image: MetadataImage, update: FeatureUpdate, now: int) -> str | None:
        """Return the message of the error in the new level of a feature at level `now`, None if it
        is valid."""
        if update.upgrade_type not in tuple(UpgradeType):
            return "The controller does not support the given upgrade type."
        if update.level < 0:
            return "A feature version cannot be less than 0."
        unsupported = self._unsupported(image, update.name, update.level)
        if unsupported is not None:
            return unsupported
        upgrade = update.upgrade_type == UpgradeType.UPGRADE
        if update.level < now and upgrade:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to "
                "either safe or unsafe downgrade."
            )
        if update.level > now and not upgrade:
            return "Can't downgrade to a newer version."
        if update.name not in self._settings.supported_features:
            return f"Feature {update.name} not found."
        if update.name == KRAFT_VERSION and update.level < now:
            return "Can't downgrade the version of this feature."
        return None

    def _unsupported(self, image: MetadataImage, name: str, level: int) -> str | None:
        """Return a message on the first node that does not support this level of the feature, or
        that has not registered. None if all support it."""
        node_id = self._settings.node_id
        own = self._settings.supported_features
        text = _range_fault(f"Local controller {node_id}", own, name, level)
        for broker in image.brokers.values():
            text = text or _range_fault(f"Broker {broker.id}", broker.features, name, level)
        if text is not None or image.metadata_level < _REGISTRATION:
            return text
        for controller in image.controllers.values():
            if controller.id != node_id:
                shown = f"Controller {controller.id}"
                text = text or _range_fault(shown, controller.features, name, level)
        if text is not None:
            return text
        for voter in self._quorum.voter_ids:
            if voter != node_id and voter not in image.controllers:
                return f"controller {voter} has not registered, and may not support this feature"
        return None


def _invalid(update: FeatureUpdate, text: str) -> ApiError:
    """Return the INVALID_UPDATE_VERSION error of an update; `text` is the reason."""
    head = f"Invalid update version {update.level} for feature {update.name}."
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"{head} {text}")


def _range_fault(
    node: str, features: Mapping[str, tuple[int, int]], name: str, level: int
) -> str | None:
    """Return why the node does not support this level, None if it does."""
    low, high = features.get(name, (0, 0))
    if low <= level <= high:
        return None
    if high == 0:
        return f"{node} does not support this feature."
    return f"{node} only supports versions {low if low == high else f'{low}-{high}'}"


def _metadata_version_fault(image: MetadataImage, update: FeatureUpdate) -> ApiError | None:
    """Return the error of a downgrade that would lose metadata, None if the change is allowed."""
    level = update.level
    if level >= image.metadata_level or not changes_metadata(level, image.metadata_level):
        return None
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        text = "Unsafe metadata downgrade is not supported in this version."
    else:
        text = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    head = f"Unsupported metadata.version downgrade from {image.metadata_level} to {level}."
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"{head} {text}")
