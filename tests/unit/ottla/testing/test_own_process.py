"""A process, its folder and its ports; a script in the place of a broker, and a real host."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing.errors import Misuse, StopFailed
from ottla.testing.own_process import OwnProcess
from ottla.testing.ports import HeldPort

SCRIPT = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3) if sys.argv[1] == "well" else None)
print("there", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def process() -> Iterator[OwnProcess]:
    one = OwnProcess("one", [HeldPort()], None)
    yield one
    one.close(gently=False)


def begin(process: OwnProcess, mood: str = "well") -> None:
    expected = process.output_size + len("there\n")  # which may come as two writes
    process.begin_command([sys.executable, "-c", SCRIPT, mood])
    while process.output_size < expected:
        assert process.running


def test_it_is_begun_stopped_and_begun_again(process: OwnProcess) -> None:
    assert process.stop() == 0, "it does not run"
    begin(process)
    with pytest.raises(Misuse, match="running already"):
        begin(process)
    assert process.stop() == 3
    with pytest.raises(Misuse, match=r"start\(\) it"):
        _ = process.pid
    begin(process)
    process.kill()
    assert not process.running
    assert process.output().splitlines() == ["there", "there"]
    assert process.output(len("there\n")) == "there"


def test_one_that_does_not_stop_is_killed(process: OwnProcess) -> None:
    begin(process, "stubborn")
    with pytest.raises(StopFailed, match="did not stop within 0.01 s; it said:\nthere"):
        process.stop(0.01)
    assert not process.running


def test_the_folder_of_a_process_that_does_not_stop_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ottla.testing.own_process._CLOSE_TIMEOUT_S", 0.01)
    stubborn = OwnProcess("stubborn", [HeldPort()], None)
    begin(stubborn, "stubborn")
    with pytest.raises(StopFailed):
        stubborn.close(gently=True)
    assert not stubborn.running and not stubborn.log_file.parent.exists()


def test_what_ends_by_itself_is_waited_for(process: OwnProcess) -> None:
    process.begin_command([sys.executable, "-c", ""])
    process.wait_for_end()
    assert not process.running


@pytest.mark.parametrize("gently", [True, False])
def test_its_end(tmp_path: Path, gently: bool) -> None:
    port = HeldPort()
    one = OwnProcess("one", [port], tmp_path if gently else None)
    assert one.is_temporary is not gently
    begin(one)
    folder = one.log_file.parent
    one.close(gently=gently)
    one.close(gently=gently)
    assert not folder.exists() and tmp_path.exists()
    assert one.output() == "there"
    with pytest.raises(Misuse, match="make a new one"):
        begin(one)
    assert port._socket is None, "given up"
