"""Watermarks inside a broker go on: one that is set back is seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ground.sim_scheduler import SimScheduler
from simulation.invariants.invariant import Promises
from simulation.invariants.replica_watermarks import ReplicasWatermarksDoNotGoBack
from simulation.sim_trace import Violation


def log(start: int, stable: int, high: int, end: int = 10) -> Any:
    return SimpleNamespace(
        log_start_offset=start, last_stable_offset=stable, high_watermark=high, log_end_offset=end,
        flusher=SimpleNamespace(truncations=0),
    )  # fmt: skip


def broker(of: Any) -> Any:
    partition = SimpleNamespace(log=of, topic="t", topic_id=bytes(16), index=0)
    replicas = SimpleNamespace(partitions=lambda: [partition])
    return SimpleNamespace(is_broker=True, replicas=replicas, address="broker-1")


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("log_start_offset", 0), ("high_watermark", 6), ("last_stable_offset", 8)],
)
def test_what_goes_back_or_passes_the_next_is_seen(attribute: str, value: int) -> None:
    one, of = ReplicasWatermarksDoNotGoBack(SimScheduler(), Promises()), log(1, 5, 7)
    one.node_ran(broker(of))
    of.high_watermark = 7
    one.node_ran(broker(of))
    setattr(of, attribute, value)
    with pytest.raises(Violation, match="I5: .* before|I5: "):
        one.node_ran(broker(of))


def test_another_life_and_a_cut_begin_anew() -> None:
    one, of = ReplicasWatermarksDoNotGoBack(SimScheduler(), Promises()), log(1, 5, 7)
    one.node_ran(broker(of))
    one.node_ran(broker(log(0, 2, 3)))
    cut = log(0, 5, 7)
    one.node_ran(broker(cut))
    cut.last_stable_offset, cut.flusher.truncations = 4, 1
    one.node_ran(broker(cut))
    one.node_ran(SimpleNamespace(is_broker=False))
