"""Who has a port, by a `/proc` that a test has made, and by the machine's own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from broker.process.port_holder import holder_of_port

HEAD = "  sl  local_address rem_address   st tx rx tr tm retrnsmt   uid  timeout inode\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        f"{HEAD}   0: 0100007F:2384 00000000:0000 0A 00:00 00:00 00 0 0 77 1\n"
        "   1: 0100007F:2385 0100007F:1F90 01 00:00 00:00 00 0 0 78 1\n"
    )
    folder = tmp_path / "4711" / "fd"
    folder.mkdir(parents=True)
    (folder / "3").symlink_to("socket:[77]")
    (tmp_path / "4711" / "comm").write_text("java\n")
    (tmp_path / "self").mkdir()
    return tmp_path


def test_a_listener_is_told_with_its_process(proc: Path) -> None:
    assert holder_of_port(0x2384, proc) == "process 4711 (java)"


def test_a_connection_that_was_made_from_the_port(proc: Path) -> None:
    said = holder_of_port(0x2385, proc)
    assert said is not None and said.startswith("a connection that somebody made from it")


def test_nothing_is_said_where_nothing_is_known(proc: Path, tmp_path: Path) -> None:
    assert holder_of_port(1, proc) is None
    (proc / "4711" / "fd" / "3").unlink()
    assert holder_of_port(0x2384, proc) is None
    assert holder_of_port(0x2384, tmp_path / "no-proc") is None


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_real_process() -> None:
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    port = int(holder.stdout.readline())
    said = holder_of_port(port)
    holder.communicate(b"\n")
    assert said is not None and said.startswith(f"process {holder.pid} (")
    with socket.create_server(("127.0.0.1", 0)) as own:
        assert holder_of_port(own.getsockname()[1]) is None
