"""Turns: peers alternate, what is done is kept and not done again, a failure costs one scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench import turns
from bench.peers import BenchPeer
from bench.scenario import LARGER, MEMORY, RATE, Figure, Scenario
from bench.turns import BenchRun, work_through


class StandIn(BenchPeer):
    """No broker: it notes that it was started and stopped, and may die."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__(name)
        self.log, self.end = log, None

    def resident_mib(self) -> float:
        return 40.0

    def death(self) -> str | None:
        return self.end

    def stop(self) -> None:
        self.log.append(f"{self.name} stopped")


Measure = Callable[[BenchPeer, float], list[Figure]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    events: list[str] = []

    def start(name: str, nodes: int = 1, secured: bool = False, metrics: bool = False) -> BenchPeer:
        kind = f"{' secured' if secured else ''}{' with metrics' if metrics else ''}"
        events.append(f"{name} of {nodes}{kind}")
        return StandIn(name, events)

    monkeypatch.setattr(turns, "start_peer", start)
    monkeypatch.setattr(turns, "_clean_up", lambda peer: None)
    return events


def test_a_peer_of_one_node_takes_no_part_in_three(log: list[str], tmp_path: Path) -> None:
    run = run_of(["a", "b"])
    run.peers = ["ottla", "other=127.0.0.1:9092/7"]
    work_through(run, known(log, "a") | known(log, "b", nodes=3), tmp_path / "run.json")
    starts = [event for event in log if " of " in event]
    assert starts == ["ottla of 1", "other=127.0.0.1:9092/7 of 1", "ottla of 3"]


def test_a_secured_peer_is_another_start(log: list[str], tmp_path: Path) -> None:
    run = run_of(["a", "b"])
    run.peers = ["ottla", "other=127.0.0.1:9092/7"]
    work_through(run, known(log, "a") | known(log, "b", secured=True), tmp_path / "run.json")
    starts = [event for event in log if " of " in event]
    assert starts == ["ottla of 1", "other=127.0.0.1:9092/7 of 1", "ottla of 1 secured"]


def known(
    log: list[str],
    *names: str,
    nodes: int = 1,
    secured: bool = False,
    run: Measure | None = None,
) -> dict:
    def measured(name: str) -> Measure:
        def measure(peer: BenchPeer, _window_s: float) -> list[Figure]:
            log.append(f"{peer.name} {name}")
            return [Figure(RATE, "req/s", 1.0, LARGER)]

        return measure

    return {
        name: Scenario(
            name, "g", name, "c", 1, 1, run or measured(name), nodes=nodes, secured=secured
        )
        for name in names
    }


def run_of(names: list[str], rounds: int = 1) -> BenchRun:
    return BenchRun(["ottla", "kafka"], rounds, 0.1, 0, names)


def test_a_peer_with_metrics_is_one_of_its_own_and_keeps_its_data(
    log: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_clean_up", lambda peer: log.append("cleaned"))
    chosen = known(log, "a", "b") | {
        name: replace(one, fresh=True, metrics=True) for name, one in known(log, "c").items()
    }
    run = run_of(["a", "b", "c"])
    run.peers = ["ottla"]
    work_through(run, chosen, tmp_path / "run.json")
    first = ["ottla of 1", "ottla a", "cleaned", "ottla b", "ottla stopped"]
    assert log == [*first, "ottla of 1 with metrics", "ottla c", "ottla stopped"]


def test_peers_alternate_and_scenarios_share_a_start(log: list[str], tmp_path: Path) -> None:
    run = run_of(["a", "b"], rounds=2)
    work_through(run, known(log, "a", "b"), tmp_path / "run.json")
    turn = ["ottla of 1", "ottla a", "ottla b", "ottla stopped"]
    turn += [event.replace("ottla", "kafka") for event in turn]
    assert log == turn * 2
    assert run.finished
    assert [figure.name for figure in run.records[0].figures] == [RATE, MEMORY]


def test_three_nodes_are_another_start(log: list[str], tmp_path: Path) -> None:
    chosen = known(log, "a") | known(log, "b", nodes=3)
    work_through(run_of(["a", "b"]), chosen, tmp_path / "run.json")
    starts = [event for event in log if " of " in event]
    assert starts == ["ottla of 1", "kafka of 1", "ottla of 3", "kafka of 3"]


def test_a_run_goes_on_where_it_was_broken_off(log: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"

    def broken(peer: BenchPeer, _window_s: float) -> list[Figure]:
        if peer.name == "kafka" and "again" not in log:
            raise KeyboardInterrupt
        return []

    chosen = known(log, "a") | known(log, "b", run=broken)
    with pytest.raises(KeyboardInterrupt):
        work_through(run_of(["a", "b"]), chosen, path)
    assert log[-1] == "kafka stopped"
    log[:] = ["again"]
    run = BenchRun.load(path)
    assert not run.finished
    assert run.asks_the_same(run_of(["a", "b"]))
    work_through(run, chosen, path)
    assert log == ["again", "kafka of 1", "kafka stopped"]
    assert BenchRun.load(path).finished


def test_a_failure_is_told_on_one_line_and_costs_one_scenario(
    log: list[str], tmp_path: Path
) -> None:
    def failing(_peer: BenchPeer, _window_s: float) -> list[Figure]:
        raise RuntimeError("the disk\n  is   full")

    run = run_of(["a", "b"])
    work_through(run, known(log, "a", run=failing) | known(log, "b"), tmp_path / "run.json")
    assert [(one.scenario, one.error) for one in run.records[:2]] == [
        ("a", "RuntimeError: the disk | is full"),
        ("b", None),
    ]


def test_the_broker_s_log_is_kept_where_a_load_failed(log: list[str], tmp_path: Path) -> None:
    said = tmp_path / "broker.log"
    said.write_text("why")

    def measure(peer: BenchPeer, _window_s: float) -> list[Figure]:
        peer.logs = [said]
        if peer.name == "ottla":
            raise RuntimeError("refused")
        return []

    work_through(run_of(["a"]), known(log, "a", run=measure), tmp_path / "run.json")
    assert [path.name for path in tmp_path.glob("run-*")] == ["run-a-ottla-1.log"]
    assert (tmp_path / "run-a-ottla-1.log").read_text() == "why"


def test_of_a_whole_log_the_ends_are_told() -> None:
    lines = "\n".join(["it does not start:", *map(str, range(100))])
    told = turns.one_line(RuntimeError(lines))
    assert told == "RuntimeError: it does not start: | … | 97 | 98 | 99"


def test_after_a_death_another_start_goes_on(log: list[str], tmp_path: Path) -> None:
    def deadly(peer: BenchPeer, _window_s: float) -> list[Figure]:
        assert isinstance(peer, StandIn)
        peer.end = "ended with code 1"
        raise ConnectionError("the broker closed the connection")

    run = run_of(["a", "b"])
    run.peers = ["ottla"]
    work_through(run, known(log, "a", run=deadly) | known(log, "b"), tmp_path / "run.json")
    assert log == ["ottla of 1", "ottla stopped", "ottla of 1", "ottla b", "ottla stopped"]
    assert run.records[0].error == (
        "ConnectionError: the broker closed the connection; ottla ended with code 1"
    )


def test_a_warm_up_that_fails_does_not_go_on_for_ever(
    log: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(name: str, nodes: int = 1, secured: bool = False, metrics: bool = False) -> BenchPeer:
        peer = StandIn(name, log)
        peer.is_jvm = True
        return peer

    def fail(_peer: BenchPeer, _requests: int) -> None:
        raise RuntimeError("it is too slow")

    monkeypatch.setattr(turns, "start_peer", start)
    monkeypatch.setattr(turns, "_warm_up", fail)
    run = BenchRun(["kafka"], 1, 0.1, 1_000, ["a", "b"])
    work_through(run, known(log, "a", "b"), tmp_path / "run.json")
    assert [one.error for one in run.records] == ["RuntimeError: it is too slow"] * 2


def test_rounds_of_several_runs_stand_one_after_the_other(log: list[str], tmp_path: Path) -> None:
    runs = [run_of(["a"], rounds) for rounds in (2, 1, 3)]
    for number, run in enumerate(runs):
        work_through(run, known(log, "a"), tmp_path / f"{number}.json")
    both = runs[0].together_with(runs[1]).together_with(runs[2])
    assert both.rounds == 6
    assert both.finished
    for peer in both.peers:
        assert [one.round for one in both.records if one.peer == peer] == [1, 2, 3, 4, 5, 6]
    assert [one.round for one in runs[1].records if one.peer == both.peers[0]] == [1]
    runs[1].finished = False
    assert not runs[0].together_with(runs[1]).finished
    with pytest.raises(ValueError, match="only runs of the same peers, scenarios and windows"):
        runs[0].together_with(run_of(["b"]))
