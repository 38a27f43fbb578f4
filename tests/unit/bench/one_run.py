"""A run of one scenario on two peers."""

from __future__ import annotations

from bench.scenario import BROKER_CPU, LARGER, RATE, SMALLER, Figure, Scenario
from bench.turns import BenchRun, RoundResult

GOALS = {RATE: 1.2, BROKER_CPU: 0.9}
ONE = Scenario(
    "one", "g", "a load", "client", 8, 1, lambda p, s: [], goals=GOALS, limits={BROKER_CPU: 35.0}
)


def run_of() -> BenchRun:
    run = BenchRun(["ottla", "kafka"], 1, 3.0, 0, ["one"], {"date": "today"}, {"kafka": "-Xmx1G"})
    for peer, rate, cpu in (("ottla", 30_000.0, 31.25), ("kafka", 20_000.0, 33.0)):
        figures = [Figure(RATE, "req/s", rate, LARGER), Figure(BROKER_CPU, "µs", cpu, SMALLER)]
        figures.append(Figure("p50", "µs", 50.0, SMALLER))
        run.records.append(RoundResult(peer, 1, "one", figures))
    return run
