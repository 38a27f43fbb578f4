"""Finalized features: what the cluster as a whole has agreed to use.

Owns: the levels that a new cluster begins with. Never: changes those of a running one
(`feature_updates`).

A feature is finalized only when Ottla serves all of it, since clients act on the finalized level:
`transaction.version` 2, for one, makes producers leave out requests; with `group.version` 0 every
API of consumer groups (KIP-848) answers UNSUPPORTED_VERSION, though ApiVersions names it. A folder
of an earlier release stays at the levels that it has, until UpdateFeatures raises them. A folder
that Apache Kafka formatted has more: levels of `KEPT_FEATURES` say nothing of how metadata is read,
so they are kept, and not told to clients. Follows KIP-584, KIP-1022 and Kafka's
`FeatureControlManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from controller.metadata.version import (
    ELR_VERSION,
    GROUP_VERSION,
    LATEST_LEVEL,
    METADATA_VERSION,
    TRANSACTION_VERSION,
)
from protocol.messages.metadata_records import FeatureLevelRecord

INITIAL_FEATURES: Mapping[str, int] = {
    METADATA_VERSION: LATEST_LEVEL,
    ELR_VERSION: 1,
    GROUP_VERSION: 1,
    TRANSACTION_VERSION: 2,
}
"""Levels that `ottla format` writes."""


KEPT_FEATURES: Mapping[str, tuple[int, str]] = {
    "share.version": (1, "share groups"),
    "streams.version": (1, "streams groups"),
}
"""The newest level in Apache Kafka 4.3, and what it is for."""


def is_kept(name: str, level: int) -> bool:
    """Whether metadata with this level can be worked with by a node that does not serve it."""
    return level <= KEPT_FEATURES.get(name, (0, ""))[0]


def kept_features(image: MetadataImage, supported: Mapping[str, tuple[int, int]]) -> list[str]:
    """What is finalized and not served, in words: `share.version 1 (share groups)`."""
    return [
        f"{name} {level} ({KEPT_FEATURES[name][1]})"
        for name, level in sorted(image.features.items())
        if name in KEPT_FEATURES and level > supported.get(name, (0, 0))[1]
    ]


def is_elr_level(record: MetadataRecord) -> bool:
    """Whether `record` turns eligible leader replicas on."""
    return (
        isinstance(record, FeatureLevelRecord)
        and record.name == ELR_VERSION
        and record.feature_level > 0
    )


def unsupported_feature(
    image: MetadataImage, supported: Mapping[str, tuple[int, int]]
) -> str | None:
    """Why a node with `supported` cannot run this cluster; None if it can."""
    for name, level in image.features.items():
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high and not is_kept(name, level):
            return (
                f"the metadata was written with feature {name} at level {level}; "
                f"this release knows levels {low} to {high}"
            )
    return None
