"""Finalized features: the levels that the whole cluster uses.

Owns: the levels that a new cluster begins with. Never: changes those of a running one
(`feature_updates`).

Ottla finalizes a feature only if it serves all of it, because clients act on the finalized level:
`transaction.version` 2, for example, makes producers leave out requests. With `group.version` 0
every API of consumer groups (KIP-848) answers UNSUPPORTED_VERSION, though ApiVersions names it, and
so does every API of share groups (KIP-932) with `share.version` 0. A directory of an earlier
release keeps its levels until UpdateFeatures raises them. A directory that Apache Kafka formatted
has more features. The levels of `KEPT_FEATURES` do not change how metadata is read, so they are
kept, and not shown to clients. Follows KIP-584, KIP-1022 and Kafka's `FeatureControlManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from controller.metadata.version import (
    ELR_VERSION,
    GROUP_VERSION,
    LATEST_LEVEL,
    LEVELS,
    METADATA_VERSION,
    SHARE_VERSION,
    TRANSACTION_VERSION,
)
from protocol.messages.metadata_records import FeatureLevelRecord

INITIAL_FEATURES: Mapping[str, int] = {
    METADATA_VERSION: LATEST_LEVEL,
    ELR_VERSION: 1,
    GROUP_VERSION: 1,
    SHARE_VERSION: 2,
    TRANSACTION_VERSION: 2,
}
"""The levels that `ottla format` writes."""


KEPT_FEATURES: Mapping[str, tuple[int, str]] = {
    "streams.version": (1, "streams groups"),
}
"""Features that Ottla keeps but does not serve: the newest level in Kafka, and its use."""


_ELR_NEEDS = LEVELS["4.0-IV1"]
"""The level of `metadata.version` on which every level of ELR above 0 depends."""


def needed_metadata_level(name: str, level: int) -> int:
    """Return the lowest level of `metadata.version` on which this level of a feature depends; 0 if
    it depends on none."""
    return _ELR_NEEDS if name == ELR_VERSION and level > 0 else 0


def dependency_fault(name: str, level: int, needed: int) -> str:
    """Return Kafka's text for a level of a feature that needs the level `needed` of
    `metadata.version`, which is not reached."""
    return (
        f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level "
        f"{needed}"
    )


def is_kept(name: str, level: int) -> bool:
    """Return whether a node that does not serve the feature can still run with this level: 0, or a
    level that KEPT_FEATURES allows."""
    return level <= KEPT_FEATURES.get(name, (0, ""))[0]


def kept_features(image: MetadataImage, supported: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return texts for the finalized features that are not served, such as `streams.version 1
    (streams groups)`, sorted by name."""
    return [
        f"{name} {level} ({KEPT_FEATURES[name][1]})"
        for name, level in sorted(image.features.items())
        if name in KEPT_FEATURES and level > supported.get(name, (0, 0))[1]
    ]


def is_elr_level(record: MetadataRecord) -> bool:
    """Return whether `record` turns eligible leader replicas on."""
    return (
        isinstance(record, FeatureLevelRecord)
        and record.name == ELR_VERSION
        and record.feature_level > 0
    )


def unsupported_feature(
    image: MetadataImage, supported: Mapping[str, tuple[int, int]]
) -> str | None:
    """Return a text that says which finalized level a node with the feature ranges `supported`
    cannot run with; None if it can run with all."""
    for name, level in image.features.items():
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high and not is_kept(name, level):
            return (
                f"the metadata was written with feature {name} at level {level}; "
                f"this release knows levels {low} to {high}"
            )
    return None
