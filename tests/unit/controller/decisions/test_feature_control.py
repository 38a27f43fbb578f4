"""`controller.decisions.feature_control`."""

from __future__ import annotations

from controller.decisions.feature_control import (
    INITIAL_FEATURES,
    is_kept,
    kept_features,
    unsupported_feature,
)
from protocol.messages.metadata_records import FeatureLevelRecord
from tests.unit.controller.controller_fixture import image_of

SUPPORTED = {"metadata.version": (7, 30), "group.version": (0, 1)}


def test_nothing_is_finalized_that_is_not_served() -> None:
    """Clients act on finalized levels: `transaction.version` 2 changes what a producer sends."""
    assert dict(INITIAL_FEATURES) == {
        "metadata.version": 33,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 2,
        "transaction.version": 2,
    }


def test_unsupported() -> None:
    assert (
        unsupported_feature(image_of(FeatureLevelRecord("metadata.version", 30)), SUPPORTED) is None
    )
    for name, level in (("group.version", 2), ("metadata.version", 31), ("other.version", 1)):
        fault = unsupported_feature(image_of(FeatureLevelRecord(name, level)), SUPPORTED)
        assert fault is not None
        assert f"feature {name} at level {level}" in fault


def test_levels_of_apache_kafka_that_are_not_served_are_kept_and_named() -> None:
    image = image_of(
        FeatureLevelRecord("metadata.version", 30),
        FeatureLevelRecord("streams.version", 1),
    )
    assert unsupported_feature(image, SUPPORTED) is None
    assert kept_features(image, SUPPORTED) == ["streams.version 1 (streams groups)"]
    served = {**SUPPORTED, "streams.version": (0, 1)}
    assert kept_features(image, served) == []
    assert is_kept("streams.version", 1)
    assert not is_kept("streams.version", 2)
    assert not is_kept("group.version", 1)
    assert not is_kept("metadata.version", 1)
