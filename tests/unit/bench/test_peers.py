"""The names of peers, and what is read from /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.peers import can_start, cpu_seconds, is_alive, last_lines, resident_mib


def test_which_peers_there_are(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    for name in ("ottla", "kafka", f"ottla@{tmp_path}"):
        assert can_start(name, 1)
        assert can_start(name, 3)
    assert can_start("other=127.0.0.1:9092", 1)
    assert not can_start("other=127.0.0.1:9092", 3)
    assert can_start("kafka", 1, True)
    assert not can_start("other=127.0.0.1:9092", 1, True)


@pytest.mark.parametrize("name", ["otla", "kafka@/tmp", "ottla@/nowhere"])
def test_which_there_are_not(name: str) -> None:
    with pytest.raises(ValueError, match="no"):
        can_start(name, 1)


def test_cpu_of_a_process_is_told_finer_than_a_tick() -> None:
    before = cpu_seconds(os.getpid())
    while time.process_time() - before < 0.003:
        pass
    assert 0.003 <= cpu_seconds(os.getpid()) - before < 1.0


def test_memory_and_life() -> None:
    assert resident_mib(os.getpid()) > 1
    assert is_alive(os.getpid())
    assert not is_alive(1 << 30)


def test_the_end_of_a_log_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    assert last_lines(log) == "it left no log"
    log.write_text("one\ntwo\n  three\nfour\n")
    assert last_lines(log) == "two | three | four"
