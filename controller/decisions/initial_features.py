"""The feature levels that a new cluster begins with, as its operator chooses them.

Without a choice, they are those of the newest release (`INITIAL_FEATURES`). A release, or a level
of `metadata.version`, gives each feature the level that it had by default then. The operator may
set a level of each feature beside it.

Owns: the default levels of each release, and the checks of a choice in Kafka's order, with Kafka's
texts and what to do. Never: reads an option, writes a file, or changes a running cluster
(`feature_updates`).

Ottla finalizes by default only what it serves, so `streams.version` stays at 0 unless the operator
chooses a level. `kraft.version` is no record of a feature: the quorum has it.
Follows KIP-1022, KIP-853 and Kafka's `Formatter`, as `kafka-storage format` calls it.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.decisions.feature_control import (
    INITIAL_FEATURES,
    KEPT_FEATURES,
    dependency_fault,
    needed_metadata_level,
)
from controller.metadata.version import (
    ELR_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    LEVELS,
    METADATA_VERSION,
    SHARE_VERSION,
    TRANSACTION_VERSION,
    level_name,
    release_level,
)
from controller.settings import DEFAULT_FEATURES

_DEFAULT_SINCE: Mapping[str, tuple[tuple[int, int], ...]] = {
    ELR_VERSION: ((LEVELS["4.1-IV0"], 1),),
    GROUP_VERSION: ((LEVELS["4.0-IV0"], 1),),
    SHARE_VERSION: ((LEVELS["4.4-IV0"], 2), (LEVELS["4.2-IV0"], 1)),
    TRANSACTION_VERSION: ((LEVELS["4.0-IV2"], 2),),
}
"""The level of `metadata.version` from which a feature has a level by default, latest first; 0
below the last of them."""


class FeatureLevelError(Exception):
    """A choice of levels with which no cluster can begin; `str()` is one line."""


def level_of_release(text: str) -> int:
    """Return the level of `metadata.version` of a release. Raises FeatureLevelError if Ottla knows
    no such release."""
    level = release_level(text)
    if level is None:
        raise FeatureLevelError(
            f"Unknown {METADATA_VERSION} '{text}'. Supported {METADATA_VERSION} are: "
            f"{', '.join(LEVELS)}"
        )
    return level


def initial_features(
    release: int | None, chosen: Mapping[str, int], *, dynamic_quorum: bool
) -> dict[str, int]:
    """Return the level of each feature with which the metadata begins, without `kraft.version`.

    `release` is the level of `metadata.version` of a release, None if the operator named none.
    `chosen` has the levels that the operator set. In a cluster with `dynamic_quorum`, the metadata
    names the voters, not the configuration. Raises FeatureLevelError if a level cannot be used.
    """
    if release is not None and METADATA_VERSION in chosen:
        raise FeatureLevelError(
            f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid ambiguity."
        )
    default = INITIAL_FEATURES[METADATA_VERSION] if release is None else release
    metadata_level = chosen.get(METADATA_VERSION, default)
    _check_metadata_level(metadata_level)
    _check_names(chosen)
    if KRAFT_VERSION in chosen:
        _check_kraft_version(chosen[KRAFT_VERSION], dynamic_quorum=dynamic_quorum)
    levels = {**_default_levels(metadata_level), **chosen, METADATA_VERSION: metadata_level}
    for name in sorted(levels):
        _check_level(name, levels[name], metadata_level)
    levels.pop(KRAFT_VERSION, None)
    return levels


def _default_levels(metadata_level: int) -> dict[str, int]:
    """Return the levels that features other than `metadata.version` have by default."""
    return {
        name: next((level for since, level in steps if metadata_level >= since), 0)
        for name, steps in _DEFAULT_SINCE.items()
    }


def _check_metadata_level(level: int) -> None:
    """Raise FeatureLevelError for a level of `metadata.version` that Ottla does not know."""
    low, high = DEFAULT_FEATURES[METADATA_VERSION]
    if not low <= level <= high:
        raise FeatureLevelError(
            f"No MetadataVersion with feature level {level}. Valid feature levels are from {low} "
            f"to {high}."
        )


def _check_names(chosen: Mapping[str, int]) -> None:
    """Raise FeatureLevelError for a feature that Ottla neither serves nor keeps."""
    known = {*DEFAULT_FEATURES, *KEPT_FEATURES}
    for name in sorted(chosen):
        if name not in known:
            others = ", ".join(sorted(known - {METADATA_VERSION}))
            raise FeatureLevelError(
                f"Unsupported feature: {name}. Supported features are: {others}"
            )


def _check_kraft_version(level: int, *, dynamic_quorum: bool) -> None:
    """Raise FeatureLevelError for a `kraft.version` that the kind of quorum cannot have."""
    if dynamic_quorum and level == 0:
        raise FeatureLevelError(
            f"Cannot set {KRAFT_VERSION} to 0 if controller.quorum.voters is empty: leave this "
            "feature out, or set controller.quorum.voters"
        )
    if not dynamic_quorum and level != 0:
        raise FeatureLevelError(
            f"Cannot set {KRAFT_VERSION} to {level} unless controller.quorum.voters is empty: "
            "leave this feature out, or set controller.quorum.bootstrap.servers in its place"
        )


def _check_level(name: str, level: int, metadata_level: int) -> None:
    """Raise FeatureLevelError if no node supports this level of a known feature, or if it depends
    on a higher level of `metadata.version`."""
    low, high = DEFAULT_FEATURES.get(name) or (0, KEPT_FEATURES[name][0])
    if not low <= level <= high:
        raise FeatureLevelError(
            f"No feature:{name} with feature level {level}: choose a level from {low} to {high}"
        )
    needed = needed_metadata_level(name, level)
    if metadata_level < needed:
        raise FeatureLevelError(
            f"{dependency_fault(name, level, needed)}: leave this feature out, or choose "
            f"--release-version {level_name(needed)} or later"
        )
