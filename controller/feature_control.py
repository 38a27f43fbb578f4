"""Finalized features: what the cluster as a whole has agreed to use.

Owns: the levels that a new cluster begins with. Level changes of a running cluster (UpdateFeatures)
are not served yet.

A feature is finalized only when Ottla serves all of it, since clients act on the finalized level:
`transaction.version` 2, for one, makes producers leave out requests. Follows KIP-584, KIP-1022 and
Kafka's `FeatureControlManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.metadata_image import MetadataImage
from controller.metadata_records import MetadataRecord
from controller.metadata_version import ELR_VERSION, LATEST_LEVEL, METADATA_VERSION
from protocol.messages.metadata_records import FeatureLevelRecord

INITIAL_FEATURES: Mapping[str, int] = {METADATA_VERSION: LATEST_LEVEL, ELR_VERSION: 1}
"""Levels that `ottla format` writes."""


def is_elr_level(record: MetadataRecord) -> bool:
    """Whether `record` turns eligible leader replicas on."""
    return (
        isinstance(record, FeatureLevelRecord)
        and record.name == ELR_VERSION
        and record.feature_level > 0
    )


def feature_records(levels: Mapping[str, int]) -> list[MetadataRecord]:
    """`metadata.version` first, since it says how all that follows is read."""
    names = [METADATA_VERSION, *sorted(name for name in levels if name != METADATA_VERSION)]
    return [FeatureLevelRecord(name, levels[name]) for name in names if levels.get(name)]


def unsupported_feature(
    image: MetadataImage, supported: Mapping[str, tuple[int, int]]
) -> str | None:
    """Why a node with `supported` cannot run this cluster; None if it can."""
    for name, level in image.features.items():
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high:
            return (
                f"the metadata was written with feature {name} at level {level}; "
                f"this release knows levels {low} to {high}"
            )
    return None
