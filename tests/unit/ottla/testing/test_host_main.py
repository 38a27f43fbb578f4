"""The program of the host runs by its path, and finds the server where the launcher does."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
HOST = """
class Host:
    def __init__(self, channel, script, can_fork):
        self.channel, self.said = channel, f"{script.rpartition('/')[2]} {can_fork}"
    def run(self):
        self.channel.sendall(self.said.encode())
"""
CHILD = """
def serve(channel):
    channel.sendall(b"a child")
    return 7
"""


@pytest.mark.parametrize(
    ("role", "said", "code"),
    [
        ("host", b"host_main.py True", 0),
        ("spawning-host", b"host_main.py False", 0),
        ("child", b"a child", 7),
    ],
)
def test_roles(tmp_path: Path, role: str, said: bytes, code: int) -> None:
    package = tmp_path / "site" / "ottla"
    server = package / "_server" / "testbed"
    (package / "testing").mkdir(parents=True)
    server.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "testing/__init__.py", "testing/host_main.py"):
        shutil.copy(ROOT / "ottla" / name, package / name)
    (server / "__init__.py").touch()
    (server / "host.py").write_text(HOST)
    (server / "child.py").write_text(CHILD)
    # Somebody else's package of the same name is not taken.
    (tmp_path / "testbed").mkdir()
    (tmp_path / "testbed" / "__init__.py").write_text("raise ImportError('somebody else is here')")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        script = str(package / "testing" / "host_main.py")
        done = subprocess.run(
            [sys.executable, "-P", script, role, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            env={"PYTHONPATH": str(tmp_path)},
            timeout=60,
        )
        assert (done.returncode, ours.recv(100)) == (code, said)
