"""A broker process: started, stopped, killed, restarted. A small script stands in for it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.launcher import READY
from ottla.testing.broker_process import HOST, BrokerProcess
from tests.tools.waiting import LIMIT_S

# Takes the port as the broker does, says so, ends cleanly on SIGTERM unless told to be stubborn.
STAND_IN = f"""
import signal, socket, sys
port, mood = int(sys.argv[1]), sys.argv[2]
if mood == "fails":
    sys.exit("ottla: it cannot be")
if mood == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:
    listener.bind(("{HOST}", port))
except OSError as error:
    sys.exit(f"ottla: {{error.strerror}}")
print("ottla: node 1 {READY} {HOST}", flush=True)
signal.pause()
"""


class StandIn(BrokerProcess):
    mood = "well"

    def _command(self) -> list[str]:
        return [sys.executable, "-c", STAND_IN, str(self.port), self.mood]


@pytest.fixture
def process() -> Iterator[StandIn]:
    one = StandIn(start_timeout_s=LIMIT_S)
    yield one
    one.close()


def test_restart_keeps_the_port_and_the_output(process: StandIn) -> None:
    process.start()
    port, pid = process.port, process.pid
    process.restart()
    assert (process.port, process.pid != pid) == (port, True)
    assert process.output().count(READY) == 2


def test_a_failed_start_says_what_the_broker_said(process: StandIn) -> None:
    process.mood = "fails"
    with pytest.raises(RuntimeError, match="ottla: it cannot be"):
        process.start()
    assert not process.running


def test_a_taken_port_is_only_replaced_when_nobody_chose_it() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        taken = other.getsockname()[1]
        chosen = StandIn(port=taken)
        with pytest.raises(RuntimeError, match="Address already in use"):
            chosen.start()
        chosen.close()


def test_a_broker_that_does_not_stop_is_killed(process: StandIn) -> None:
    process.mood = "stubborn"
    process.start()
    with pytest.raises(RuntimeError, match="did not stop within"):
        process.stop(timeout_s=0.05)
    assert not process.running


def test_folders(tmp_path: Path) -> None:
    own = StandIn()
    with own:
        folder = own.log_file.parent
        assert own.data_dir.parent == folder
    assert not folder.exists()
    kept = StandIn(data_dir=tmp_path)
    kept.close()
    assert tmp_path.exists()
