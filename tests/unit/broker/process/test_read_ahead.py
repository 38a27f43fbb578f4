from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker.process import read_ahead
from tests.tools.waiting import LIMIT_S

LOADED = """
import command.cli, broker.process.server, sys, uvloop
print(*filter(None, (getattr(m, "__cached__", None) for m in list(sys.modules.values()))))
"""


def written(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(bytes(200_000))
    return path


def put_out_of_the_page_cache(path: Path) -> Path:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def test_what_was_just_written_is_at_hand(tmp_path: Path) -> None:
    assert read_ahead.in_page_cache(str(written(tmp_path, "a.pyc")))


def test_what_is_not_there_is_nothing_to_ask_for(tmp_path: Path) -> None:
    assert read_ahead.in_page_cache(str(tmp_path / "none.pyc"))


def test_all_that_is_at_hand_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "in_page_cache", lambda path: True)
    assert read_ahead.read_modules_ahead() is None


def test_modules_out_of_the_page_cache_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel puts out when it is asked to is the kernel's affair, so it is not asked."""
    asked: list[str] = []

    def ask_for(path: str) -> None:
        asked.append(path)
        really_ask_for(path)

    really_ask_for = read_ahead._ask_for
    folder = tmp_path / "broker" / "process" / "__pycache__"
    folder.mkdir(parents=True)
    path = written(folder, f"server.{sys.implementation.cache_tag}.pyc")
    monkeypatch.setattr(read_ahead, "ROOT", str(tmp_path))
    monkeypatch.setattr(read_ahead, "in_page_cache", lambda _path: False)
    monkeypatch.setattr(read_ahead, "_ask_for", ask_for)
    reader = read_ahead.read_modules_ahead()
    assert reader is not None
    reader.join(LIMIT_S)
    assert str(path) in asked


def test_the_folders_hold_most_of_what_a_start_loads() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=read_ahead.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    ours = [path for path in done.stdout.split() if path.startswith(read_ahead.ROOT + "/")]
    ours = [path for path in ours if "/site-packages/" not in path]
    asked_for = tuple(f"{read_ahead.ROOT}/{name}/__pycache__/" for name in read_ahead.FOLDERS)
    assert sum(path.startswith(asked_for) for path in ours) > 0.95 * len(ours) > 200
