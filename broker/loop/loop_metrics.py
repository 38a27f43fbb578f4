"""The metrics of the event loop in `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.metrics import Metrics, Sample

if TYPE_CHECKING:
    from broker.loop.loop_turns import LoopTurns


def register_loop_metrics(metrics: Metrics, turns: LoopTurns) -> None:
    """Register a histogram of the CPU time of the event loop's turns, and a gauge of the longest
    recent turn.

    Kafka has threads instead, and no such metrics.
    """

    def read() -> Iterator[Sample]:
        """Yield the counts of turns up to each bound, their total, and the CPU seconds of all
        turns."""
        counted = turns.read()
        for bound_s, count in counted.up_to:
            yield {"le": repr(bound_s)}, float(count)
        yield {"le": "+Inf"}, float(counted.count)
        yield {}, counted.cpu_s

    name = "kafka_server_event_loop"
    metrics.histogram(f"{name}_turn_cpu_seconds", "CPU time of a turn of the event loop", read)
    metrics.gauge(
        f"{name}_longest_turn_cpu_seconds",
        "CPU time of the longest turn of the last minute, or of up to two",
        lambda: turns.read().longest_s,
    )
