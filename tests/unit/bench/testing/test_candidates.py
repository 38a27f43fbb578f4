"""Candidates, as far as they need no Go and no broker."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.testing import candidates
from bench.testing.candidates import FIRST_OF_ALL, RESET, SHARED, TOPICS, Kfake, Mock, Ottla

ECHO = "import sys\nfor line in sys.stdin: print('told', line.strip(), flush=True)"


def program(text: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_go_process_is_told_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_go_process", lambda: program(ECHO))
    one = Kfake()
    one.prepare()
    assert one.start() == "told start"
    one.stop()
    one.stop()
    assert one.first_of_all() == "told start"
    one.end_first_of_all()
    one.close()
    assert one._program is not None and one._program.returncode == 0


def test_a_process_that_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_go_process", lambda: program("import sys; sys.exit(3)"))
    one = Kfake()
    with pytest.raises((RuntimeError, BrokenPipeError)):
        one.prepare()
    one.close()


def test_mock() -> None:
    one = Mock()
    one.prepare()
    assert one.start().startswith("127.0.0.1:") and one.topic("name") == "name"
    one.close()


def test_what_they_are_and_have() -> None:
    assert Kfake().what().startswith("v0.") and "librdkafka 2" in Mock().what()
    assert Ottla().what().endswith("a process forked for each broker") and not Ottla().lacks
    assert set(Mock().lacks) == {RESET, FIRST_OF_ALL, SHARED, TOPICS}
