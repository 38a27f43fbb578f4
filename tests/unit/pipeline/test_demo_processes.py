"""Processes of the demo: lines as they come, an end by request and by force."""

from __future__ import annotations

import pytest

from pipeline.demo_processes import Background, free_ports
from pipeline.errors import PipelineError
from tests.tools.waiting import LIMIT_S

LOOP = "import time\nprint('it serves 7', flush=True)\nwhile True: time.sleep(0.05)"


def test_lines_are_shown_and_found_and_it_is_killed() -> None:
    shown: list[str] = []
    process = Background("loop", ["-c", LOOP], shown.append)
    assert process.wait_for(r"serves (\d)", LIMIT_S)[1] == "7"
    assert process.running
    process.kill()
    assert not process.running
    assert shown == ["it serves 7"]


def test_it_ends_when_it_is_asked_to() -> None:
    process = Background("loop", ["-c", LOOP], lambda _: None)
    process.wait_for("serves", LIMIT_S)
    process.end(LIMIT_S)
    assert not process.running
    process.end(LIMIT_S)


def test_one_that_ends_early_is_told_with_its_last_line() -> None:
    process = Background("short", ["-c", "print('no such thing')"], lambda _: None)
    with pytest.raises(PipelineError, match="short did not come up; it said: no such thing"):
        process.wait_for("serves", LIMIT_S)
    assert process.wait(LIMIT_S) == 0


def test_ports_are_free() -> None:
    assert 19092 <= free_ports() < 60000
