"""The plugin as other projects meet it: pytest runs inside pytest, with a stand-in broker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]

# Replaces the process by an object that counts, before the fixtures import it.
STAND_IN = """
import pytest, ottla.testing.broker_process

class Process:
    started = 0
    def __init__(self, properties=None, **options):
        self.properties = properties or {}
        self.closed = False
        self.bootstrap_servers = "127.0.0.1:1"
    def start(self):
        Process.started += 1
        return self
    def output(self):
        return "what the broker said"
    def close(self):
        self.closed = True
        print("closed a broker")

ottla.testing.broker_process.BrokerProcess = Process
"""

STRICT = """
[tool.pytest.ini_options]
addopts = "--strict-markers --strict-config -p ottla.testing.pytest_plugin"
"""


def run(folder: Path, test: str, settings: str = STRICT) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(STAND_IN)
    (folder / "pyproject.toml").write_text(settings)
    (folder / "test_it.py").write_text(test)
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:randomly", "-rA", "-q", str(folder)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_the_fixture_gives_each_test_its_own_broker(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "seen = []\n"
        "def test_a(ottla_broker): seen.append(ottla_broker)\n"
        "def test_b(ottla_broker):\n"
        "    assert seen[0].closed and seen[0] is not ottla_broker\n"
        "def test_c(ottla_broker_factory):\n"
        "    one = ottla_broker_factory({'num.partitions': '3'})\n"
        "    assert one.properties == {'num.partitions': '3'} and not one.closed\n",
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "3 passed" in found.stdout


def test_the_scope_is_a_setting(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "seen = []\n"
        "def test_a(ottla_broker): seen.append(ottla_broker)\n"
        "def test_b(ottla_broker): assert seen[0] is ottla_broker and not seen[0].closed\n",
        STRICT + 'ottla_broker_scope = "session"\n',
    )
    assert found.returncode == 0, found.stdout + found.stderr
    wrong = run(tmp_path, "def test_a(ottla_broker): pass", STRICT + 'ottla_broker_scope = "x"\n')
    assert wrong.returncode != 0
    assert "ottla_broker_scope is x; it must be one of function" in wrong.stdout + wrong.stderr


def test_a_failure_shows_what_the_broker_said(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "def test_bad(ottla_broker): assert False\ndef test_unrelated(): assert False\n",
    )
    assert "2 failed" in found.stdout
    assert found.stdout.count("Ottla broker on 127.0.0.1:1") == 1
    assert "what the broker said" in found.stdout


def test_nothing_heavy_is_imported_until_a_fixture_is_used() -> None:
    script = "import sys, ottla.testing.pytest_plugin; print(*(m for m in sys.modules if '.' in m))"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = found.stdout.split()
    ours = [name for name in loaded if name.startswith(("ottla", "broker", "storage", "protocol"))]
    assert ours == ["ottla.testing", "ottla.testing.pytest_plugin"]
