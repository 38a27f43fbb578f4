"""The file of results, the order of a run, and which failure counts as Ottla's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.kafkatest import __main__ as command
from tests.kafkatest import ducktape_runs, results
from tests.kafkatest.cases import Case
from tests.kafkatest.ducktape_runs import Outcome, brief
from tests.kafkatest.hosts import covered
from tests.kafkatest.results import Result

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
A, B, C = (Case("kafkatest/a.py", "ATest", f"test_{letter}", '{"x": "y"}') for letter in "abc")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty file of results, which the command uses."""
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.toml")
    return results.RESULTS


def ran(peers: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a case on peers of which some pass it, and return those that ran it."""
    order = []

    def run(case: Case, peer: str, patience: float) -> Outcome:
        order.append(peer)
        return Outcome(peers[peer], 9.6, "" if peers[peer] else 'a "quoted" error', Path("logs"))

    monkeypatch.setattr(ducktape_runs, "run", run)
    command.run_case(A, "ottla", 1)
    return order


def test_rows_are_read_as_they_are_written(file: Path) -> None:
    failed = Result().after_ottla(passed=False, commit="c", at=NOW, seconds=9.6, error='not "x"')
    rows = {
        A: failed.after_kafka(passed=True, version="4.4.0"),
        B: Result().after_kafka(passed=False, version="4.4.0"),
    }
    for case, row in rows.items():
        results.record(case, row)
    assert results.read() == rows
    assert rows[A].is_fault and not rows[B].is_fault


def test_a_case_that_fails_on_ottla_runs_on_kafka_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran({"ottla": True}, monkeypatch) == ["ottla"]
    assert ran({"ottla": False, "kafka": True}, monkeypatch) == ["ottla", "kafka"]
    assert results.read()[A].is_fault and results.read()[A].seconds == 10
    assert command.listed(A, results.read()[A]).startswith("fail     kafkatest/a.py::ATest.test_a@")
    assert ran({"ottla": False, "kafka": True}, monkeypatch) == ["ottla"]
    assert ran({"ottla": True}, monkeypatch) == ["ottla"]
    assert not results.read()[A].is_fault and results.read()[A].error == ""


def test_a_failure_that_kafka_shares_or_a_person_explains_is_not_ottlas(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran({"ottla": False, "kafka": False}, monkeypatch)
    assert not results.read()[A].is_fault
    explained = Result(ottla="fail", kafka="pass", reason="the machine was slow")
    assert not explained.is_fault
    for passed, reason in ((False, explained.reason), (True, "")):
        row = explained.after_ottla(passed=passed, commit="c", at=NOW, seconds=1, error="e")
        assert row.reason == reason


def test_a_run_continues_with_what_never_ran_and_then_with_what_ran_longest_ago() -> None:
    rows = {
        A: Result(ottla="pass", at=NOW),
        B: Result(ottla="fail", at=NOW - timedelta(hours=1)),
        C: Result(kafka="pass"),
    }
    assert results.waiting([A, B, C], rows) == [C, B, A]


def test_folders_that_a_user_cannot_enter_are_covered(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    inner = closed / "inner" / "python"
    inner.mkdir(parents=True)
    closed.chmod(0o700)
    tops = {Path(folder) for folder in ("/home", "/tmp")}
    hidden = set(covered([inner])) - tops
    assert len(hidden) == 1 and inner.is_relative_to(hidden.pop())
    assert covered([Path("/usr/bin")]) == sorted(tops)


def test_an_error_is_one_line_without_folders() -> None:
    assert brief("TimeoutError('no leader')\nTraceback:\n") == "TimeoutError('no leader')"
    thread = "Exception('worker-1: Traceback\\n  File \"/a/b/c.py\"\\nValueError: in /a/b/d.py\\n')"
    assert brief(thread) == "ValueError: in d.py"
    assert brief(f"RemoteError({'x' * 999}'exit status 1')").endswith("x'exit status 1')")
    assert len(brief("x" * 999)) < 310
