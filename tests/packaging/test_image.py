"""The Dockerfile without Docker: every step of it is run here as a plain command.

COPY copies, RUN runs, WORKDIR and ENV hold, with `/` replaced by a temporary folder; pip takes its
dependencies from this environment, so that no network is needed. Then the container's command is
started with the image's own configuration, asked by its HEALTHCHECK, and stopped as Docker does.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ottla.launcher import READY
from tests.packaging.container_folder import SCRIPTS, paths_inside, write_scripts
from tests.tools.java_tools import PROJECT_DIR
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

DOCKERFILE = PROJECT_DIR / "Dockerfile"
KNOWN = ("FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK")


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments), continuations joined and comments left out."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    logical = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [(words[0], words[1]) for line in logical if (words := line.split(None, 1))]


@dataclass
class Image:
    """What a build leaves: a folder for `/`, and what the last stage declares."""

    root: Path
    declared: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"

    def inside(self, text: str) -> str:
        """A command or path with the image's folders in the place of this machine's."""
        return paths_inside(text, self.root)

    def variables(self) -> dict[str, str]:
        clean = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
        mine = {key: self.inside(text) for key, text in self.environment.items()}
        path = mine.get("PATH", "$PATH").replace("$PATH", clean["PATH"])
        return {**clean, **mine, "PATH": path, "PYTHONPATH": sysconfig.get_path("purelib")}


def build(root: Path) -> Image:
    image = Image(root)
    for instruction, arguments in instructions():
        if instruction == "FROM":  # one folder serves both stages: the second copies of the first
            image.declared, image.environment, image.folder = {"FROM": arguments}, {}, "/"
        elif instruction == "WORKDIR":
            image.folder = arguments
            (root / arguments.lstrip("/")).mkdir(parents=True, exist_ok=True)
            image.declared[instruction] = arguments
        elif instruction == "COPY":
            copy(image, arguments)
        elif instruction == "RUN":
            run(image, arguments)
        elif instruction == "ENV":
            image.environment |= dict(pair.split("=", 1) for pair in arguments.split())
        else:
            image.declared[instruction] = arguments
    return image


def copy(image: Image, arguments: str) -> None:
    words = arguments.split()
    if words[0].startswith("--from="):
        assert words[1] == words[2] and (image.root / words[1].lstrip("/")).exists()
        return
    target = image.root / os.path.join(image.folder, words[-1]).lstrip("/")
    for word in words[:-1]:
        source = PROJECT_DIR / word
        if source == SCRIPTS:
            write_scripts(image.root)
        elif source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place = target / source.name if words[-1].endswith("/") else target
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)


def run(image: Image, command: str) -> None:
    own = f"{os.getuid()}:{os.getgid()}"
    command = image.inside(command).replace("1000:1000", own).replace("1000:0", own)
    command = re.sub(r"^python ", f"{sys.executable} ", command)
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=image.root / image.folder.lstrip("/"),
        env={
            **image.variables(),
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # which switches isolation off: setuptools is here
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"RUN {command}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return build(tmp_path_factory.mktemp("image"))


def configured(image: Image, ports: Sequence[int]) -> None:
    """Let the image's configuration use the folders and free ports of this machine."""
    file = image.root / "etc" / "ottla" / "server.properties"
    text = image.inside((PROJECT_DIR / "conf" / "docker" / "server.properties").read_text())
    for inner, outer in zip(("9092", "19092", "9093"), ports, strict=True):
        text = text.replace(f":{inner}", f":{outer}")
    file.write_text(text.replace("://:", "://localhost:"))


@pytest.fixture
def container(image: Image) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """ENTRYPOINT and CMD, running; and the port in the place of 9092."""
    port = free_port()
    configured(image, (port, free_port(), free_port()))
    image.environment["KAFKA_OTTLA_METRICS_PORT"] = str(free_port())
    command = json.loads(image.declared["ENTRYPOINT"]) + json.loads(image.declared["CMD"])
    process = subprocess.Popen(
        [image.inside(word) for word in command],
        cwd=image.root / image.declared["WORKDIR"].lstrip("/"),
        env=image.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process, port
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_every_instruction_is_one_that_is_checked_here() -> None:
    names = [name for name, _ in instructions()]
    assert [name for name in names if name not in (*KNOWN, "ENTRYPOINT", "CMD")] == []
    assert names.count("FROM") == 2


def test_nothing_runs_as_root(image: Image) -> None:
    user = image.declared["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    owned = [text for name, text in instructions() if name == "RUN" and f"chown -R {user}" in text]
    assert owned and image.declared["VOLUME"] in owned[0]


@pytest.mark.timeout(300)
def test_it_serves_is_healthy_and_stops(
    image: Image, container: tuple[subprocess.Popen[str], int]
) -> None:
    process, port = container
    assert process.stdout is not None
    assert READY in process.stdout.readline(), "one line, and no warning before it"
    check = json.loads(image.declared["HEALTHCHECK"].partition("CMD ")[2])
    wait_until(lambda: health(image, check) == 0, "a healthy container")
    assert ottla(image, "status", "--bootstrap-server", f"localhost:{port}") == 0
    assert (image.root / "var/lib/ottla/data/meta.properties").exists()
    process.send_signal(signal.SIGTERM)
    assert process.wait(90) == 0
    assert health(image, check) == 1, "Docker knows 0 and 1"


def health(image: Image, check: Sequence[str]) -> int:
    """Return the exit code of the health check."""
    command = [image.inside(word) for word in check]
    return subprocess.run(
        command, env=image.variables(), timeout=60, capture_output=True
    ).returncode


def ottla(image: Image, *arguments: str) -> int:
    """Return the exit code of a command of the installed `ottla`, as `docker exec` runs it."""
    program = shutil.which("ottla", path=image.variables()["PATH"])
    assert program is not None and program.startswith(str(image.root))
    return subprocess.run(
        [program, *arguments], env=image.variables(), timeout=60, capture_output=True
    ).returncode


def test_what_is_copied_is_not_left_out_of_the_context() -> None:
    lines = (PROJECT_DIR / ".dockerignore").read_text().splitlines()
    kept = [line[1:] for line in lines if line.startswith("!")]
    assert "*" in lines
    for name, arguments in instructions():
        if name == "COPY" and not arguments.startswith("--from"):
            for word in arguments.split()[:-1]:
                assert any(fnmatch.fnmatch(f"{word}/", f"{one}/*") for one in kept), word
                assert (PROJECT_DIR / word).exists(), word


def test_the_image_needs_no_pipeline_and_no_tests(image: Image) -> None:
    program = "import ottla; print(ottla.__file__); import broker"
    done = subprocess.run(
        [image.inside("/opt/ottla/bin/python"), "-c", program],
        cwd=image.root,
        env={**image.variables(), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(image.inside("/opt/ottla/lib")), done.stderr
    assert "No module named 'broker'" in done.stderr, "only ottla is on the path"
    assert not list((image.root / "opt/ottla").rglob("_server/pipeline"))
