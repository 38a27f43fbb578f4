"""Who is in sync, and how far groups lag: of stand-ins with what is read of the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broker.groups.offset_table import PartitionOffset
from broker.metrics import SAMPLES_A_SLICE, Metrics
from broker.node.metrics.partition_metrics import (
    _shown_partitions,
    register_lag_metrics,
    register_partition_metrics,
)

ID, OTHER_ID = bytes(15) + b"\1", bytes(15) + b"\2"


def partition(index: int, *, leads: bool = True, isr: int = 3, end: int = 100) -> Any:
    log = SimpleNamespace(
        high_watermark=end,
        log_start_offset=7,
        log_end_offset=end + 1,
        segments=SimpleNamespace(size_bytes=1000),
        config=SimpleNamespace(min_insync_replicas=2),
    )
    return SimpleNamespace(
        topic="t",
        index=index,
        topic_id=ID,
        node_id=index,
        is_leader=leads,
        isr=range(isr),
        replicas=range(3),
        log=log,
    )


class Replicas:
    def __init__(self, *partitions: Any) -> None:
        self._partitions = {(one.topic, one.index): one for one in partitions}

    def forget(self, index: int) -> None:
        self._partitions.pop(("t", index), None)

    def partitions(self) -> Iterator[Any]:
        yield from self._partitions.values()

    def partition(self, topic: str, index: int) -> Any:
        return self._partitions.get((topic, index))


class Groups:
    def __init__(self, *committed: tuple[int, int, bytes]) -> None:
        self._committed = committed

    def committed_offsets(self) -> Iterator[tuple[str, str, list[PartitionOffset]]]:
        yield "g", "t", list(self._committed)


def values(metrics: Metrics, name: str) -> dict[str, float]:
    """By partition."""
    (family,) = [one for one in metrics.families() if one.name == name]
    return {labels.get("partition", ""): value for labels, value in family.samples}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kafka_cluster_partition_insyncreplicascount", {"0": 3, "1": 2, "2": 1}),
        ("kafka_cluster_partition_replicascount", {"0": 3, "1": 3, "2": 3}),
        ("kafka_cluster_partition_atminisr", {"0": 0, "1": 1, "2": 0}),
        ("kafka_cluster_partition_underminisr", {"0": 0, "1": 0, "2": 1}),
        ("kafka_topic_partition_current_offset", {"0": 100, "1": 100, "2": 100}),
        ("kafka_topic_partition_oldest_offset", {"0": 7, "1": 7, "2": 7}),
        ("kafka_topic_partition_replicas", {"0": 3, "1": 3, "2": 3}),
        ("kafka_topic_partition_in_sync_replica", {"0": 3, "1": 2, "2": 1}),
        ("kafka_topic_partition_under_replicated_partition", {"0": 0, "1": 1, "2": 1}),
        ("kafka_topic_partition_leader_is_preferred", {"0": 1, "1": 0, "2": 0}),
        ("kafka_log_log_size", {"0": 1000, "1": 1000, "2": 1000, "3": 1000}),
        ("kafka_log_log_logendoffset", {"0": 101, "1": 101, "2": 101, "3": 101}),
    ],
)
def test_partitions_that_are_led_here(name: str, expected: dict[str, float]) -> None:
    led = [partition(number, isr=3 - number) for number in range(3)]
    metrics = Metrics()
    replicas: Any = Replicas(*led, partition(3, leads=False))
    register_partition_metrics(metrics, replicas)
    assert values(metrics, name) == expected


def test_offsets_of_groups_and_their_lag() -> None:
    metrics = Metrics()
    groups: Any = Groups((0, 40, ID), (1, 120, bytes(16)), (2, 5, ID), (3, 6, OTHER_ID))
    replicas: Any = Replicas(partition(0), partition(1, leads=False), partition(3))
    register_lag_metrics(metrics, groups, replicas)
    assert values(metrics, "kafka_consumergroup_current_offset") == {"0": 40, "1": 120, "2": 5}
    assert values(metrics, "kafka_consumergroup_lag") == {"0": 60, "1": 0}
    (family,) = [one for one in metrics.families() if one.name == "kafka_consumergroup_lag"]
    assert family.samples[0][0] == {"consumergroup": "g", "topic": "t", "partition": "0"}


def test_a_topic_that_is_not_shown_has_no_values() -> None:
    metrics = Metrics()
    groups: Any = Groups((0, 40, ID))
    replicas: Any = Replicas(partition(0))
    register_partition_metrics(metrics, replicas)
    register_lag_metrics(metrics, groups, replicas)
    named = {one.name for one in metrics.families() if one.samples}
    assert {"kafka_log_log_size", "kafka_consumergroup_lag"} < named
    metrics.show_topics(lambda name: name != "t")
    assert [
        one.name for one in metrics.families() if any("topic" in x for x, _ in one.samples)
    ] == []


def test_partitions_may_come_and_go_between_two_slices() -> None:
    metrics, count = Metrics(), SAMPLES_A_SLICE + 1
    here = Replicas(*(partition(number) for number in range(count)))
    replicas: Any = here
    metrics.many([("x", "…", lambda one: one.index)], lambda: _shown_partitions(metrics, replicas))
    slices = 0
    for step in metrics.steps():
        if step is None:
            slices += 1
            here.forget(0)
            here.forget(count - slices)
    assert slices == 4, "they are listed, then read"
    assert len(step.samples if step else ()) == count
