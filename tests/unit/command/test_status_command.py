"""`ottla status`: addresses, which node is asked, and the exit code."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.security.client_guard import ClientGuard
from client import cluster
from client.cluster_status import BrokerState, ClusterStatus, QuorumState, VoterState
from client.groups import held_up
from client.groups.held_up_report import HeldUp, ShareGroups
from client.refusals import Refused
from command import status_command
from command.cli import run_cli


def status(fenced: bool) -> ClusterStatus:
    quorum = QuorumState(1, 1, 5, [VoterState(1, 0, 0)], [])
    brokers = [BrokerState(1, "localhost", 9092, None, fenced)]
    return ClusterStatus("abc", brokers, quorum, 0, 0, [], [], [])


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[tuple[str, int]]]:
    """Put one outcome of `status_of` in its place; what it was asked for."""
    asked: list[tuple[str, int]] = []

    def install(outcome: Any) -> list[tuple[str, int]]:
        def answer(addresses: list[tuple[str, int]], guard: ClientGuard) -> ClusterStatus:
            assert not guard.is_secured
            asked.extend(addresses)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(status_command, "status_of", answer)
        return asked

    return install


@pytest.mark.parametrize(("fenced", "code"), [(False, 0), (True, 1)])
def test_the_exit_code_tells_healthy_from_degraded(
    fenced: bool,
    code: int,
    answered: Callable[[Any], list[tuple[str, int]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = answered(status(fenced))
    assert run_cli(["status", "--bootstrap-server", "b:5"]) == code
    assert asked == [("b", 5)]
    assert capsys.readouterr().out.startswith("cluster abc: ")
    assert run_cli(["status", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["healthy"] is not fenced


def test_a_program_reads_that_nobody_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise StartError("no broker answers")

    monkeypatch.setattr(status_command, "status_of", nobody)
    assert run_cli(["status", "--json"]) == 2
    out, error = capsys.readouterr()
    assert json.loads(out) == {"healthy": False, "error": "no broker answers"}
    assert error == "ottla: no broker answers\n"
    assert run_cli(["status"]) == 2
    assert capsys.readouterr().out == ""


def test_watching_goes_on_when_nobody_answers(
    answered: Callable[[Any], list[tuple[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It ends with Ctrl-C, and the exit code is that of the last look."""
    rounds = iter([StartError("no broker answers"), status(fenced=True), None])
    answered(next(rounds))

    def sleep(_seconds: float) -> None:
        outcome = next(rounds)
        if outcome is None:
            raise KeyboardInterrupt
        answered(outcome)

    monkeypatch.setattr(status_command.time, "sleep", sleep)
    assert run_cli(["status", "--watch"]) == 1
    out = capsys.readouterr().out
    assert out.index("ottla: no broker answers") < out.index("cluster abc: degraded")
    assert out.count("--- ") == 2


def test_watching_in_a_terminal_uses_a_screen_of_its_own(
    answered: Callable[[Any], list[tuple[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SIGTERM brings back the text that the terminal showed before."""
    answered(status(fenced=True))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        status_command.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGTERM)
    )
    monkeypatch.setenv("TERM", "xterm")
    assert run_cli(["status", "--watch"]) == 143
    out = capsys.readouterr().out
    assert out.startswith("\x1b[?1049h\x1b[H\x1b[2J") and out.endswith("\x1b[?1049l")
    monkeypatch.setenv("TERM", "dumb")
    assert run_cli(["status", "--watch"]) == 143
    assert capsys.readouterr().out.startswith("--- ")


def test_the_environment_says_where_the_cluster_is(
    answered: Callable[[Any], list[tuple[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = answered(status(False))
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", "b:5")
    assert run_cli(["status"]) == 0
    assert run_cli(["status", "--bootstrap-server", "c:6"]) == 0
    assert asked == [("b", 5), ("c", 6)]
    monkeypatch.setenv("OTTLA_COMMAND_CONFIG", "/not/there")
    assert run_cli(["status"]) == 2
    assert capsys.readouterr().err == "ottla: /not/there: No such file or directory\n"


def test_share_groups_stand_beside_the_health(
    answered: Callable[[Any], list[tuple[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answered(status(fenced=False))
    outcome: Any = ShareGroups(1, 1, [HeldUp("g", "no members")])

    def groups(_: object) -> ShareGroups:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(cluster, "ClusterClient", lambda *_: nullcontext())
    monkeypatch.setattr(held_up, "share_groups", groups)
    assert run_cli(["status", "--groups"]) == 0
    assert "1 share group, 1 held up\n  g: no members\n" in capsys.readouterr().out
    assert run_cli(["status", "--groups", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["share_groups"]["held_up"][0]["group"] == "g"
    outcome = Refused("no right")
    assert run_cli(["status", "--groups"]) == 0
    assert "share groups: not known (no right)" in capsys.readouterr().out
