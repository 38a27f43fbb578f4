"""The arguments of `ottla format --release-version` and `--feature`, made into feature levels.

    --release-version 4.2
    --feature group.version=0 --feature transaction.version=1

Owns the form of the texts, which is that of `kafka-storage format`. Never: knows a level
(`controller.decisions.initial_features`). Follows KIP-1022.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.config.start_error import StartError
from controller.decisions.initial_features import (
    FeatureLevelError,
    initial_features,
    level_of_release,
)
from ground.java_literals import integer, trim

_LEVEL_BITS = 16


def feature_levels(
    release: str | None, features: Sequence[str], *, dynamic_quorum: bool
) -> dict[str, int] | None:
    """Return the levels that the metadata begins with; None if no argument was given.

    `dynamic_quorum`: the metadata names the voters, not the configuration. Raises StartError if a
    text has another form, or its level cannot be used.
    """
    if release is None and not features:
        return None
    try:
        level = None if release is None else level_of_release(release)
    except FeatureLevelError as error:
        raise StartError(f"--release-version: {error}") from error
    chosen = dict(map(_feature_level, features))
    try:
        return initial_features(level, chosen, dynamic_quorum=dynamic_quorum)
    except FeatureLevelError as error:
        raise StartError(f"--feature: {error}") from error


def _feature_level(text: str) -> tuple[str, int]:
    """Return the name and the level in `NAME=LEVEL`. Raises StartError if the text has another
    form."""
    name, equals, value = text.partition("=")
    head = f"--feature: Can't parse feature=level string {text}:"
    if not equals:
        raise StartError(f"{head} equals sign not found. Write NAME=LEVEL, such as group.version=1")
    level = integer(trim(value), _LEVEL_BITS)
    if level is None:
        raise StartError(
            f"{head} unable to parse {trim(value)} as a short. Write a whole number as the level, "
            "such as group.version=1"
        )
    return trim(name), level
