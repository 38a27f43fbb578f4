"""The bench's harness as a command, on Ottla alone, with tiny windows: does it work at all?"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="the replayer is C: cc is missing"),
    pytest.mark.timeout(300),  # a few seconds where the machine is free
]


def command(*words: str) -> list[str]:
    # Tests measure nothing: the machine's page cache is left as it is.
    return [sys.executable, "-P", "-m", "bench", "--keep-page-cache", *words]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}


def whole_run(folder: Path, *words: str) -> tuple[str, dict[str, Any]]:
    """What it printed, and what it wrote."""
    told = folder / "run.json"
    done = subprocess.run(
        command(*words, "--json", str(told)),
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(told.read_text())


def test_a_quick_run(tmp_path: Path) -> None:
    said, run = whole_run(tmp_path, "--quick")
    assert run["finished"]
    figures = {
        (record["scenario"], figure["name"]): figure["value"]
        for record in run["records"]
        for figure in record["figures"]
    }
    assert figures["single-1", "rate"] > 0
    assert 0 < figures["single-1", "p50"] <= figures["single-1", "p99"]
    assert figures["replayed-1k-acks-1", "broker CPU"] > 0
    assert figures["fetch-warm", "memory"] > 1
    assert "single-1: one 100-byte record" in said
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]  # peers and plans are gone


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(
    ("scenario", "value_bytes"), [("batched-1k-acks-1", 1024), ("batched-100-acks-1-by-2", 100)]
)
def test_batches_by_librdkafka(tmp_path: Path, scenario: str, value_bytes: int) -> None:
    words = ("--peers", "ottla", "--scenarios", scenario, "--rounds", "1")
    _, run = whole_run(tmp_path, *words, "--window", "0.2")
    (record,) = run["records"]
    figures = {figure["name"]: figure["value"] for figure in record["figures"]}
    assert figures["messages"] > 0
    assert figures["rate"] == pytest.approx(figures["messages"] * value_bytes / 1e6)


def test_a_run_that_is_ended_leaves_nothing_and_goes_on(tmp_path: Path) -> None:
    told, folder = tmp_path / "run.json", Path(tempfile.mkdtemp(dir=tmp_path))
    words = ("--peers", "ottla", "--scenarios", "start-up,single-1", "--rounds", "1")
    harness = subprocess.Popen(
        command(*words, "--window", "30", "--json", str(told)),
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    harness.send_signal(signal.SIGTERM)
    said, complaint = harness.communicate(timeout=120)
    assert harness.returncode == 1, said + complaint
    assert "the same command goes on" in complaint
    assert list(folder.iterdir()) == []
    run = json.loads(told.read_text())
    assert [record["scenario"] for record in run["records"]] == ["start-up"]
    assert not run["finished"]
