"""The built wheel works alone in a fresh environment: a missing file of a package shows here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("broker", "controller", "protocol", "storage")

ROUND_TRIP = """
import sys
from broker.testing.broker_process import BrokerProcess
import broker
assert broker.__file__.startswith(sys.prefix), broker.__file__
from kafka import KafkaConsumer, KafkaProducer
with BrokerProcess() as ottla:
    producer = KafkaProducer(bootstrap_servers=ottla.bootstrap_servers)
    producer.send("t", b"there").get(timeout=20)
    consumer = KafkaConsumer("t", bootstrap_servers=ottla.bootstrap_servers, group_id="g",
                             auto_offset_reset="earliest", consumer_timeout_ms=20000)
    assert next(consumer).value == b"there"
    consumer.close()
    producer.close()
print("and back")
"""


def run(command: Sequence[str | Path], folder: Path) -> str:
    """Run something apart from the sources: no PYTHONPATH, another folder."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder of the sources takes part."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    sources.mkdir()
    for name in (*PACKAGES, "pipeline", "pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        if (ROOT / name).exists():
            run(["cp", "-r", ROOT / name, sources / name], folder)
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            sources,
        ],
        folder,
    )
    (found,) = folder.glob("ottla-*.whl")
    return found


@pytest.mark.timeout(300)
def test_the_wheel_holds_every_package_and_data_file(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".py", ".json") and "__pycache__" not in path.parts:
                assert path.relative_to(ROOT).as_posix() in names
    strangers = [name.split("/")[0] for name in names if ".dist-info" not in name]
    assert [name for name in dict.fromkeys(strangers) if name not in (*PACKAGES, "pipeline")] == []


@pytest.mark.timeout(300)
def test_the_wheel_brings_its_license(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert b"License-Expression: Apache-2.0" in archive.read(metadata)
    for name in ("LICENSE", "NOTICE"):
        shipped = archive.read(metadata.replace("METADATA", f"licenses/{name}"))
        assert shipped == (ROOT / name).read_bytes()


@pytest.mark.timeout(300)
def test_it_serves_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    """Dependencies come from this environment through a path file, so no network is needed."""
    home = tmp_path / "venv"
    run([sys.executable, "-m", "venv", home], tmp_path)
    python = home / "bin" / "python"
    run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], tmp_path)
    folder = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path)
    libraries = sysconfig.get_path("purelib")
    (Path(folder.strip()) / "dependencies.pth").write_text(f"{libraries}\n")
    assert run([home / "bin" / "ottla", "--version"], tmp_path).startswith("ottla 0.")
    assert "and back" in run([python, "-c", ROUND_TRIP], tmp_path)
