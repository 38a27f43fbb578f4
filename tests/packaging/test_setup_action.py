"""The action setup-ottla without GitHub: its steps are run as a runner does, as shell scripts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.packaging.installation import ROOT, copy_of_the_sources
from tests.tools.ports import free_base, free_port
from tests.tools.waiting import wait_until

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "setup-ottla" / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
STEP_KEYS = {"name", "id", "if", "shell", "env", "run"}
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # which switches isolation off: setuptools is here
}


class Runner:
    """A job with the folders and files that a runner gives to the steps of an action."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.action_path = copy_of_the_sources(folder) / "setup-ottla"
        shutil.copytree(ROOT / "setup-ottla", self.action_path)

    def step(self, name: str, inputs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run the script of a step as GitHub's runners run bash, with these inputs."""
        values = {f"inputs.{key}": given["default"] for key, given in ACTION["inputs"].items()}
        values |= {f"inputs.{key}": value for key, value in inputs.items()}
        values["github.action_path"] = str(self.action_path)
        step = STEPS[name]
        script = self.folder / f"{name}.sh"
        script.write_text(step["run"])
        clean = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
        given = {
            key: EXPRESSION.sub(lambda found: values[found[1]], text)
            for key, text in step["env"].items()
        }
        files = {key: str(self.folder / key) for key in ("GITHUB_PATH", "GITHUB_OUTPUT")}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.folder,
            env={
                **clean,
                **OFFLINE,
                **files,
                **given,
                "RUNNER_TEMP": str(self.folder),
                "PYTHONPATH": sysconfig.get_path("purelib"),
            },
            capture_output=True,
            text=True,
            timeout=240,
        )

    def outputs(self) -> dict[str, str]:
        """Return the outputs that the steps have written."""
        lines = (self.folder / "GITHUB_OUTPUT").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @contextmanager
    def started(self, inputs: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Run the step that starts brokers, yield its outputs, and stop the brokers cleanly."""
        (self.folder / "GITHUB_OUTPUT").unlink(missing_ok=True)
        done = self.step("start", inputs)
        assert done.returncode == 0, done.stdout + done.stderr
        outputs = self.outputs()
        try:
            yield outputs
        finally:
            os.kill(int(outputs["pid"]), signal.SIGTERM)
            wait_until(lambda: has_ended(int(outputs["pid"])), "the end of the brokers")


def has_ended(pid: int) -> bool:
    """Return True if no process has this id, or only one that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    runner = Runner(tmp_path_factory.mktemp("job"))
    done = runner.step("install", {"python": sys.executable})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ottla 0.")
    return runner


def test_the_structure_is_that_of_a_composite_action() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert set(step) <= STEP_KEYS and step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs come by variables: nothing in them is run"
        for text in step["env"].values():
            (name,) = EXPRESSION.findall(text)
            known = {f"inputs.{key}" for key in ACTION["inputs"]} | {"github.action_path"}
            assert name in known
    assert STEPS["start"]["if"] == "${{ inputs.brokers != '0' }}"
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.start.outputs.{name} }}}}"
    readme = (ROOT / "setup-ottla" / "README.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \|", readme, re.MULTILINE)
    assert rows == [*ACTION["inputs"], *ACTION["outputs"]]


def test_only_the_command_comes_onto_the_path(runner: Runner) -> None:
    (folder,) = (runner.folder / "GITHUB_PATH").read_text().splitlines()
    assert [file.name for file in Path(folder).iterdir()] == ["ottla"]


def test_a_broker_serves_after_the_step(runner: Runner) -> None:
    port = str(free_port())
    with runner.started({"port": port}) as outputs:
        assert outputs["bootstrap-servers"] == f"localhost:{port}"
        assert "is ready" in Path(outputs["log"]).read_text()
        assert not has_ended(int(outputs["pid"]))


@pytest.mark.timeout(300)
def test_a_cluster_serves_after_the_step(runner: Runner) -> None:
    base = free_base()
    with runner.started({"port": str(base), "brokers": "3"}) as outputs:
        servers = [f"localhost:{base + number}" for number in range(3)]
        assert outputs["bootstrap-servers"] == ",".join(servers)


def test_a_broker_that_does_not_start_fails_the_step_with_its_output(runner: Runner) -> None:
    done = runner.step("start", {"port": "none"})
    assert done.returncode == 1
    assert "::error::ottla serve is not ready" in done.stdout
    assert "none" in done.stdout.partition("::error::")[2]
