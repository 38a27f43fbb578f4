"""The console beside a broker: what it is started with, and that it ends."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from broker.config.start_error import StartError
from command import console_process
from command.admin.decode_options import DecodeOptions
from command.console_process import ConsoleProcess, check_console_installed


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_process, "_NEEDED", ("sys", "no_such_package"))
    with pytest.raises(StartError, match="needs no_such_package: .* -m pip install no_such"):
        check_console_installed()


@pytest.mark.parametrize(
    ("host", "reached"), [(None, "localhost"), ("0.0.0.0", "localhost"), ("a.example", "a.example")]
)
def test_it_is_started_with_what_the_broker_knows(
    host: str | None, reached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []

    def command(*words: str) -> list[str]:
        started.append(words)
        return [sys.executable, "-c", "import sys; sys.stdin.read()"]

    monkeypatch.setattr(console_process, "ottla_command", command)
    decode = DecodeOptions(("orders=a.avsc",), registry="http://r:8081")
    process = ConsoleProcess(["a", "b"], 8081, decode, allow_writes=True)
    process.start(host, 9092)
    process.stop()
    where = ("console", "--bootstrap-server", f"{reached}:9092", "--data", "a", "--data", "b")
    explains = ("--avro-schema=orders=a.avsc", "--registry=http://r:8081")
    assert started == [(*where, "--port", "8081", "--while-stdin", *explains, "--allow-writes")]


def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def kept(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        running.append(popen(*args, **kwargs))
        return running[-1]

    monkeypatch.setattr(console_process.subprocess, "Popen", kept)
    monkeypatch.setattr(console_process, "_STOP_WITHIN_S", 0.01)
    monkeypatch.setattr(
        console_process, "ottla_command", lambda *_: [sys.executable, "-c", "while True: pass"]
    )
    process = ConsoleProcess([], 0, DecodeOptions(), allow_writes=False)
    process.stop()
    process.start("localhost", 1)
    process.stop()
    assert running[0].returncode == -9
