"""A folder in the place of a container's `/`: the image's scripts run there as plain processes.

Paths and ports in the texts of scripts, configurations and environments are replaced by those of
this machine, and listeners on all interfaces by listeners on loopback. `ottla` on the search path
is the one of these sources.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ottla.launcher import ottla_command
from tests.tools.java_tools import PROJECT_DIR
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

SCRIPTS = PROJECT_DIR / "conf" / "docker" / "scripts"
_ABSOLUTE = re.compile(r"(?<![\w.$}:/])/(?=(?:opt|src|var|etc|mnt|tmp|usr/sbin|tc-start\.sh)\b)")
_PORT = re.compile(r":(\d{4,5})\b")
_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"


def paths_inside(text: str, root: Path) -> str:
    """Return the text with the container's absolute paths below `root`."""
    return _ABSOLUTE.sub(f"{root}/", text)


def write_scripts(root: Path) -> None:
    """Copy the image's scripts to their folder, with their paths below `root`."""
    target = root / "etc" / "kafka" / "docker"
    shutil.copytree(SCRIPTS, target, dirs_exist_ok=True)
    for script in target.iterdir():
        script.write_text(paths_inside(script.read_text(), root))


@dataclass
class ContainerFolder:
    """The folder, and the ports of this machine that stand for the container's."""

    root: Path
    ports: dict[int, int] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        for folder in ("etc/ottla", "etc/kafka/secrets", "etc/confluent", "var/lib/ottla/data"):
            (self.root / folder).mkdir(parents=True)
        for folder in ("bin", "tmp", "usr/sbin"):
            (self.root / folder).mkdir(parents=True)
        write_scripts(self.root)
        scripts = self.root / "etc" / "kafka" / "docker"
        (self.root / "etc" / "confluent" / "docker").symlink_to(scripts)
        (self.root / "bin" / "kafka-storage").symlink_to(scripts / "kafka-storage")
        self.write_program("ottla", f'exec {shlex.join(ottla_command())} "$@"')
        self.write_program("hostname", "echo 127.0.0.1")
        self.copy_in("/etc/ottla/server.properties", self._image_configuration())

    def _image_configuration(self) -> str:
        return (PROJECT_DIR / "conf" / "docker" / "server.properties").read_text()

    def write_program(self, name: str, line: str) -> None:
        """Put a shell script of one line on the search path."""
        program = self.root / "bin" / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    def port(self, number: int) -> int:
        """Return the port of this machine for a port of the container."""
        if number not in self.ports:
            self.ports[number] = free_port()
        return self.ports[number]

    def inside(self, text: str) -> str:
        """Return the text with this machine's paths and ports, and loopback for all interfaces."""
        text = paths_inside(text, self.root).replace("://0.0.0.0:", "://127.0.0.1:")
        text = text.replace("://:", "://localhost:")
        return _PORT.sub(lambda match: f":{self.port(int(match[1]))}", text)

    def copy_in(self, path: str, text: str, mode: int = 0o644) -> None:
        """Put a file into the container, complete at the moment when it appears."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.part")
        partial.write_text(self.inside(text))
        partial.chmod(mode)
        partial.rename(target)

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a process in the container."""
        return {
            "PATH": f"{self.root}/bin:{_SEARCH_PATH}",
            "KAFKA_OTTLA_METRICS_PORT": str(self.port(9404)),
            **{name: self.inside(text) for name, text in environment.items()},
        }

    def run(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the container to its end."""
        return subprocess.run(
            [self.inside(word) for word in command],
            cwd=self.root,
            env=self.variables(environment or {}),
            capture_output=True,
            text=True,
            timeout=60,
        )

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the container's process, in a session of its own."""
        with (self.root / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [self.inside(word) for word in command],
                cwd=self.root,
                env=self.variables(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self) -> str:
        """Return what the container's processes have printed."""
        return (self.root / "log").read_text()

    def wait_for_line(self, pattern: str) -> None:
        """Wait until the log has a line that the regular expression matches, as testcontainers
        does."""
        process = self.process
        assert process is not None
        wait_until(
            lambda: re.search(pattern, self.log()) or process.poll() is not None,
            f"{pattern} logged",
        )
        assert process.poll() is None, self.log()

    def kill(self) -> None:
        """Kill all processes of the container, as Docker does at its end."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def properties(self) -> dict[str, str]:
        """Return the keys of the configuration that `configure` has written."""
        lines = (self.root / "etc" / "kafka" / "kafka.properties").read_text().splitlines()
        pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
        assert len(pairs) == len({key for key, _, _ in pairs}), "each key once"
        return {key: value for key, _, value in pairs}
