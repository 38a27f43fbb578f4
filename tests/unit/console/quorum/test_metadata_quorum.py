"""The quorum in plain values: lag, times of the leader's clock, features."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.quorum.metadata_quorum import features, quorum
from protocol.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
)
from tests.unit.console.one_console import plain
from tests.unit.console.quorum.quorum_samples import answer


def test_who_is_how_far() -> None:
    found: Any = plain(quorum(answer()))
    assert (found["leader"], found["epoch"], found["high_watermark"]) == (1, 7, 99)
    one, two, three = found["voters"]
    assert (one["leads"], one["lag"], one["behind_ms"], one["lagging"]) == (True, 0, 0, False)
    assert (two["lag"], two["behind_ms"], two["fetched_ms"]) == (40, 9_000, 10)
    assert two["lagging"]
    assert two["addresses"] == ["CONTROLLER://two:9093"]
    assert (three["lag"], three["behind_ms"], three["lagging"]) == (None, None, True)
    (observer,) = found["observers"]
    assert (observer["lag"], observer["behind_ms"]) == (0, 30)
    assert observer["directory"]


def test_without_a_leader_there_are_no_times() -> None:
    found: Any = plain(quorum(answer(leader=-1)))
    assert [one["behind_ms"] for one in found["voters"]] == [None, None, None]


def test_refusals() -> None:
    with pytest.raises(Refused, match="Describe on the cluster"):
        plain(quorum(DescribeQuorumResponse(error_code=31)))
    with pytest.raises(Refused):
        plain(quorum(answer(error_code=6)))
    with pytest.raises(Refused, match="reports nothing"):
        plain(quorum(DescribeQuorumResponse()))


def test_features_that_are_agreed_on_and_those_that_could_be() -> None:
    found: Any = plain(
        features(
            ApiVersionsResponse(
                supported_features=[
                    SupportedFeatureKey("metadata.version", 7, 30),
                    SupportedFeatureKey("share.version", 0, 1),
                ],
                finalized_features_epoch=12,
                finalized_features=[FinalizedFeatureKey("metadata.version", 30, 30)],
            )
        )
    )
    assert found["epoch"] == 12
    assert found["rows"] == [
        {"name": "metadata.version", "level": 30, "called": "4.3-IV0", "least": 7, "most": 30},
        {"name": "share.version", "level": 0, "called": None, "least": 0, "most": 1},
    ]
    assert plain(features(ApiVersionsResponse()))["epoch"] is None
