"""`python -m command` is the command `ottla`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from command.__main__ import main
from ottla.launcher import ottla_command
from tests.tools.waiting import LIMIT_S


def test_main_ends_with_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ottla", "no-such-command"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("ottla: No such command")


@pytest.mark.parametrize(
    "words", [["config", "explain"], ["config", "explain", "--json"], ["help"]]
)
def test_a_reader_that_has_enough_ends_a_command_quietly(words: list[str]) -> None:
    """A reader such as `head` may end before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        ottla_command(*words), stdout=writing, stderr=subprocess.PIPE, timeout=LIMIT_S
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_modules_are_loaded_ends_serve_quietly(number: int) -> None:
    """The signal comes at the first import that `main` does."""
    program = f"""
import builtins, os, sys
from command.__main__ import main
real = builtins.__import__
def importing(name, *rest):
    if name == "command.cli":
        os.kill(os.getpid(), {int(number)})
    return real(name, *rest)
builtins.__import__ = importing
sys.argv = ["ottla", "serve"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_serving_nothing_is_collected_until_all_modules_are_loaded() -> None:
    """What `main` has turned off, the server turns on before anything else of it runs."""
    program = """
import gc, sys
import broker.config.file, broker.process.server
from command.__main__ import main
seen = []
async def serve(*_):
    seen.append((gc.isenabled(), gc.get_freeze_count() > 0))
broker.process.server._serve = serve
load = broker.config.file.load_config
def loading(*_):
    seen.append((gc.isenabled(), gc.get_freeze_count() > 0))
    return load(None, ())
broker.config.file.load_config = loading
sys.argv = ["ottla", "serve"]
try:
    main()
finally:
    print(seen)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=LIMIT_S)
    last = done.stdout.decode().splitlines()[-1:]
    assert last == ["[(False, False), (True, True)]"], done.stderr.decode()
