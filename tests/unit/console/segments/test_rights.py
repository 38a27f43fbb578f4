"""What a login may see."""

from __future__ import annotations

import pytest

from client.refusals import Refused
from console.segments.rights import (
    KEPT_S,
    METADATA_LOG,
    NOTHING,
    SegmentRights,
    check_describe,
    check_read,
    of_operations,
)
from ottla.plugins.authorizer import Operation
from tests.unit.console.segments.segments_fixture import (
    CLUSTER_ID,
    DESCRIBE,
    EVERYTHING,
    TOPIC_ID,
    SayingCluster,
)


def test_bits() -> None:
    assert of_operations(-(2**31), TOPIC_ID).describe is False
    only_read = of_operations(1 << Operation.READ, None)
    assert not only_read.describe and not only_read.read
    both = of_operations(EVERYTHING, TOPIC_ID)
    assert both.describe and both.read and both.topic_id == TOPIC_ID


def test_topics_are_asked_for_and_the_answer_is_kept_for_a_while() -> None:
    cluster = SayingCluster({"t": DESCRIBE})
    now = [0.0]
    rights = SegmentRights(cluster.taken, lambda: now[0])
    assert rights.on("t").describe and not rights.on("t").read
    assert rights.on("none") == NOTHING
    assert cluster.asked == ["MetadataRequest"] * 2
    cluster.operations["t"] = EVERYTHING
    assert not rights.on("t").read
    now[0] = KEPT_S
    assert rights.on("t").read
    assert rights.cluster_id() == CLUSTER_ID


def test_the_metadata_log_takes_describe_on_the_cluster() -> None:
    """Not on a topic, which somebody could have made with that name."""
    cluster = SayingCluster({METADATA_LOG: EVERYTHING, "t": EVERYTHING}, on_cluster=0)
    now = [0.0]
    rights = SegmentRights(cluster.taken, lambda: now[0])
    assert not rights.on(METADATA_LOG).describe
    assert not rights.on_all()[METADATA_LOG].describe and rights.on_all()["t"].read
    now[0] = KEPT_S
    cluster.on_cluster = DESCRIBE
    assert rights.on(METADATA_LOG).read and rights.on_all()[METADATA_LOG].read
    assert cluster.asked.count("MetadataRequest") == 2, "one for all topics, each time"


def test_what_is_missing_is_told() -> None:
    with pytest.raises(Refused, match="no topic t exists"):
        check_describe(NOTHING, "t")
    with pytest.raises(Refused, match="needs Read on the topic"):
        check_read(of_operations(DESCRIBE, None), "t")
    with pytest.raises(Refused, match="no topic t exists"):
        check_read(NOTHING, "t")
