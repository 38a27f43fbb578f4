"""conf/ottla.service without systemd: its command is a plain process with the unit's settings."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from ottla.launcher import READY, ottla_command
from tests.packaging.installation import ROOT
from tests.tools.ports import free_port

UNIT = ROOT / "conf" / "ottla.service"
PROGRAM = "/opt/ottla/bin/ottla"
CONFIG = "/etc/ottla/server.properties"
WRONG_CONFIGURATION = 2


def settings() -> dict[str, list[str]]:
    """Return the values of each setting of the unit, in their order."""
    values = defaultdict(list)
    for key, value in re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE):
        values[key].append(value)
    return values


def start(folder: Path, config: str) -> subprocess.Popen[str]:
    """Run the unit's command with this text as its configuration and `folder` as its state."""
    unit = settings()
    (folder / "server.properties").write_text(config)
    assert unit["WorkingDirectory"] == [f"/var/lib/{unit['StateDirectory'][0]}"]
    program, *words = unit["ExecStart"][0].split()
    assert program == PROGRAM and CONFIG in words
    words = [str(folder / "server.properties") if word == CONFIG else word for word in words]
    state = folder / "state"
    state.mkdir(exist_ok=True)
    return subprocess.Popen(
        ottla_command(*words),
        cwd=state,
        env=dict(pair.split("=", 1) for pair in unit["Environment"]),
        umask=int(unit["UMask"][0], 8),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_node_serves_from_the_units_folders_and_stops(tmp_path: Path) -> None:
    config = (ROOT / "conf" / "server.properties").read_text()
    for port in ("9092", "9093"):
        config = re.sub(rf"(?m)^([^#].*):{port}\b", rf"\g<1>:{free_port()}", config)
    with start(tmp_path, config) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert next((line for line in lines if READY in line), None) is not None
            assert (tmp_path / "state" / "data" / "meta.properties").stat().st_mode & 0o077 == 0
            process.send_signal(signal.Signals[settings()["KillSignal"][0]])
            assert process.wait(float(settings()["TimeoutStopSec"][0])) == 0
        finally:
            process.kill()


def test_a_wrong_configuration_is_not_started_again(tmp_path: Path) -> None:
    with start(tmp_path, "log.dirz=data\n") as process:
        said, _ = process.communicate()
    assert process.returncode == WRONG_CONFIGURATION, said
    assert settings()["RestartPreventExitStatus"] == [str(WRONG_CONFIGURATION)]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    program = ottla_command()[0]
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace(PROGRAM, program))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
