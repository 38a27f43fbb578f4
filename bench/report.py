"""The arithmetic of the report: medians, ratios of neighbours, their quartiles, goals met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.scenario import LARGER, Figure, Scenario
from bench.turns import BenchRun


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of one scenario over all rounds.

    `values`  by peer, a value for each round    `ratios`  first peer to second, one for each round
    `goal`    the goal of the ratios             `limit`   the goal of the first peer's values
    `enough`  a goal of the first peer's values with which the goal of the ratios is met anyway
    """

    scenario: Scenario
    figure: Figure
    values: dict[str, list[float]]
    ratios: list[float]
    goal: float | None
    limit: float | None
    enough: float | None = None

    @property
    def ratio(self) -> float | None:
        """The ratio of the medians; None with one peer."""
        middles = [statistics.median(values) for values in self.values.values()]
        return middles[0] / middles[1] if self.ratios and middles[1] else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """The lower and upper quartile of the ratios; None without ratios."""
        return quartiles(self.ratios) if self.ratios else None

    @property
    def meets_goals(self) -> bool | None:
        """Whether goal and limit are met at the worse quartile; None if there is neither."""
        larger = self.figure.better == LARGER
        verdicts = []
        first = next(iter(self.values.values()))
        if self.goal is not None and self.ratios:
            is_enough = self.enough is not None and _is_met(first, self.enough, larger)
            verdicts.append(is_enough or _is_met(self.ratios, self.goal, larger))
        if self.limit is not None:
            verdicts.append(_is_met(first, self.limit, larger))
        return all(verdicts) if verdicts else None


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the lower and upper quartile, linear between neighbours; a single value twice."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def _is_met(values: Sequence[float], wanted: float, larger: bool) -> bool:
    """Return whether the worse quartile of the values reaches the goal."""
    low, high = quartiles(values)
    return low >= wanted if larger else high <= wanted


def rows(run: BenchRun, scenarios: dict[str, Scenario]) -> list[FigureRow]:
    """Return the rows of all measured figures, in the order of the scenarios."""
    report_rows: list[FigureRow] = []
    for name in dict.fromkeys(record.scenario for record in run.records):
        if name in scenarios:
            report_rows += _rows_of(run, scenarios[name])
    return report_rows


def _rows_of(run: BenchRun, scenario: Scenario) -> list[FigureRow]:
    """Return a row for each figure of a scenario, without rounds that failed."""
    by_peer = {
        peer: {
            record.round: {figure.name: figure for figure in record.figures}
            for record in run.records
            if (record.peer, record.scenario) == (peer, scenario.name) and not record.error
        }
        for peer in run.peers
    }
    figures = {
        figure.name: figure
        for rounds in by_peer.values()
        for measured in rounds.values()
        for figure in measured.values()
    }
    # Goals are ratios to Apache Kafka, not to another checkout.
    goals = scenario.goals if len(run.peers) < 2 or run.peers[1] == "kafka" else {}
    report_rows = []
    for name, figure in figures.items():
        of_peers = {
            peer: {
                number: measured[name].value
                for number, measured in rounds.items()
                if name in measured
            }
            for peer, rounds in by_peer.items()
        }
        present = {peer: list(values.values()) for peer, values in of_peers.items() if values}
        goal, limit = goals.get(name), scenario.limits.get(name)
        ratios, enough = _ratios(list(of_peers.values())), scenario.enough.get(name)
        report_rows.append(FigureRow(scenario, figure, present, ratios, goal, limit, enough))
    return report_rows


def _ratios(of_peers: Sequence[dict[int, float]]) -> list[float]:
    """Return the ratios of the first two peers' values in the same round."""
    if len(of_peers) < 2:
        return []
    first, second = of_peers[:2]
    return [first[number] / second[number] for number in first if second.get(number)]
