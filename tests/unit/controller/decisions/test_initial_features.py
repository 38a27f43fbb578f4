"""The levels that a new cluster begins with: those of Kafka's `Formatter` for the same choice.

`tests/compat/test_format_options.py` compares more choices with `kafka-storage format` itself.
"""

from __future__ import annotations

import pytest

from controller.decisions.feature_control import INITIAL_FEATURES, KEPT_FEATURES
from controller.decisions.initial_features import (
    FeatureLevelError,
    initial_features,
    level_of_release,
)
from controller.metadata.version import LATEST_LEVEL, LEVELS

ELR, GROUP, SHARE, TRANSACTION = (
    f"{name}.version" for name in ("eligible.leader.replicas", "group", "share", "transaction")
)


def levels(
    release: str | None = None, chosen: dict[str, int] | None = None, *, dynamic: bool = False
) -> dict[str, int]:
    """Return the levels above 0, those that the metadata then has."""
    release_level = None if release is None else level_of_release(release)
    found = initial_features(release_level, chosen or {}, dynamic_quorum=dynamic)
    return {name: level for name, level in found.items() if level}


def test_without_a_choice_they_are_those_of_this_release() -> None:
    assert levels() == INITIAL_FEATURES
    assert levels(chosen={"metadata.version": LATEST_LEVEL}) == INITIAL_FEATURES


@pytest.mark.parametrize(
    ("release", "others"),
    [
        ("3.3", {}),
        ("3.9", {}),
        ("4.0-IV0", {GROUP: 1}),
        ("4.0-IV1", {GROUP: 1}),
        ("4.0-IV2", {GROUP: 1, TRANSACTION: 2}),
        ("4.0", {GROUP: 1, TRANSACTION: 2}),
        ("4.1-IV0", {GROUP: 1, TRANSACTION: 2, ELR: 1}),
        ("4.2", {GROUP: 1, TRANSACTION: 2, ELR: 1, SHARE: 1}),
        ("4.4-IV0", {GROUP: 1, TRANSACTION: 2, ELR: 1, SHARE: 2}),
    ],
)
def test_a_release_has_its_own_defaults(release: str, others: dict[str, int]) -> None:
    level = level_of_release(release)
    assert levels(release) == {"metadata.version": level, **others}
    assert levels(chosen={"metadata.version": level}) == levels(release)


def test_a_choice_takes_precedence_over_the_release() -> None:
    chosen = {GROUP: 0, TRANSACTION: 1}
    assert levels("4.0", chosen) == {"metadata.version": 25, TRANSACTION: 1}
    assert levels("3.3", {TRANSACTION: 2}) == {"metadata.version": 7, TRANSACTION: 2}
    assert levels("4.0-IV1", {ELR: 1}) == {"metadata.version": 23, GROUP: 1, ELR: 1}


def test_features_that_are_kept_may_be_chosen() -> None:
    for name, (newest, _) in KEPT_FEATURES.items():
        assert levels(chosen={name: newest})[name] == newest
        with pytest.raises(FeatureLevelError, match=f"No feature:{name} with feature level 9"):
            levels(chosen={name: 9})


def test_the_version_of_the_quorum_is_no_record_of_a_feature() -> None:
    assert levels(chosen={"kraft.version": 0}) == INITIAL_FEATURES
    assert levels(chosen={"kraft.version": 1}, dynamic=True) == INITIAL_FEATURES
    with pytest.raises(FeatureLevelError, match="No feature:kraft.version with feature level 2"):
        levels(chosen={"kraft.version": 2}, dynamic=True)
    with pytest.raises(FeatureLevelError, match="to 0 if controller.quorum.voters is empty"):
        levels(chosen={"kraft.version": 0}, dynamic=True)


@pytest.mark.parametrize(
    ("release", "chosen", "says"),
    [
        ("9.9", {"x": 1}, "Unknown metadata.version '9.9'. Supported metadata.version are: 3.3-"),
        (
            "4.2",
            {"x": 1, "metadata.version": 9},
            "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.",
        ),
        (
            None,
            {"x": 1, "metadata.version": 6},
            "No MetadataVersion with feature level 6. Valid feature levels are from 7 to "
            f"{LATEST_LEVEL}.",
        ),
        (None, {"metadata.version": LATEST_LEVEL + 1}, "No MetadataVersion with feature level"),
        (None, {"x": 1, "a": 1, "kraft.version": 1}, "Unsupported feature: a. Supported features"),
        (
            None,
            {ELR: 2, "kraft.version": 1},
            "Cannot set kraft.version to 1 unless controller.quorum.voters is empty: leave",
        ),
        (None, {GROUP: 2}, "No feature:group.version with feature level 2: choose a level from 0"),
        (None, {GROUP: -1}, "No feature:group.version with feature level -1"),
        (
            "3.9",
            {ELR: 1, GROUP: 9},
            "eligible.leader.replicas.version could not be set to 1 because it depends on "
            f"metadata.version level {LEVELS['4.0-IV1']}: leave this feature out, or choose "
            "--release-version 4.0-IV1 or later",
        ),
    ],
)
def test_the_first_fault_in_kafkas_order_is_named(
    release: str | None, chosen: dict[str, int], says: str
) -> None:
    with pytest.raises(FeatureLevelError) as refused:
        levels(release, chosen)
    assert str(refused.value).startswith(says)
