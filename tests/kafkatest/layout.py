"""The folder /opt/kafka-dev of the hosts: Kafka's scripts, settings and jars, and ours over them.

Owns `.cache/kafkatest/`, which is outside git, with the sources of Kafka's tests, the jars that
Maven fetches by `pom.xml`, and ducktape's environment. Starts no host.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.tools.java_tools import CACHE_DIR, PROJECT_DIR, built_once, digest

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
WORK = CACHE_DIR / "kafkatest"
SOURCES = WORK / "sources"
DEV = WORK / "kafka-dev"
PATIENCE = WORK / "patience"
BRANCH = "4.4"
PARTS = ("tests", "bin", "config")
"""The folders of Kafka's repository that the tests need."""
LIBS = {
    "libs": "-DincludeScope=runtime",
    "libs-programs": "-Pprograms -DincludeScope=runtime",
    "libs-test": "-Pprograms -DincludeScope=test -DincludeClassifiers=test",
}
"""The folders of jars, with the options by which Maven fills them: broker, clients and tools; those
and the programs, of a release that has all; the classes of Kafka's own tests."""
DUCKTAPE = ("ducktape==0.14.0", "requests>=2.32", "psutil", "pytest", "mock")
MAVEN_TIMEOUT_S = 900


def kafka_version() -> str:
    """Return the release of Kafka that runs as broker, clients and tools."""
    match = re.search("<kafka.version>(.*)</kafka.version>", POM.read_text())
    assert match is not None
    return match[1]


def take_sources(checkout: Path, branch: str = BRANCH) -> None:
    """Copy Kafka's tests, scripts and settings from a checkout or a git directory.

    Raises ValueError if the place has none.
    """
    if (checkout / "tests" / "kafkatest").is_dir():
        shutil.rmtree(SOURCES, ignore_errors=True)
        for part in PARTS:
            shutil.copytree(checkout / part, SOURCES / part)
        return
    words = ["git", "-C", str(checkout), "archive", branch, *PARTS]
    done = subprocess.run(words, capture_output=True)
    if done.returncode != 0:
        error = done.stderr.decode(errors="replace").strip()
        raise ValueError(f"no checkout of Kafka in {checkout}, and no branch {branch}: {error}")
    shutil.rmtree(SOURCES, ignore_errors=True)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(SOURCES, filter="data")


def lay_out() -> None:
    """Fill `DEV`. Raises FileNotFoundError if `take_sources` has never copied any."""
    if not SOURCES.is_dir():
        raise FileNotFoundError("no tests of Kafka yet: --checkout says where they are")
    jars = jar_folder()
    if DEV.is_dir():
        shutil.rmtree(DEV)
    for part in PARTS:
        shutil.copytree(SOURCES / part, DEV / part)
    _name_version()
    for part in LIBS:
        shutil.copytree(jars / part, DEV / part, copy_function=os.link)
    _place_jars()
    for script in ("kafka-run-class.sh", "kafka-server-start.sh", "kafka-storage.sh"):
        shutil.copy(HERE / "scripts" / script, DEV / "bin" / script)
    (DEV / "shims").mkdir()
    for command in ("jcmd", "jps"):
        shutil.copy(HERE / "java_processes.py", DEV / "shims" / command)
        (DEV / "shims" / command).chmod(0o755)
    shutil.copytree(archives(), DEV / "archives", copy_function=os.link)
    (DEV / "ottla").write_text(f"{Path(sys.prefix) / 'bin' / 'ottla'}\n")
    PATIENCE.mkdir(exist_ok=True)
    shutil.copy(HERE / "patience.py", PATIENCE / "sitecustomize.py")
    _compile_ottla()


def ducktapes_python() -> Path:
    """Return the Python of an environment with ducktape, which is made once."""

    def build(scratch: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", scratch], check=True)
        pip = [str(scratch / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *DUCKTAPE], check=True)

    version = DUCKTAPE[0].rpartition("=")[2]
    return built_once(WORK / f"ducktape-{version}", build) / "bin" / "python"


def archives() -> Path:
    """Return the folder of the archives of classes, which are valid for the same jars only."""
    folder = WORK / f"archives-{jar_folder().name}"
    folder.mkdir(exist_ok=True)
    return folder


def jar_folder() -> Path:
    """Return a folder with the folders `LIBS` of jars."""

    def build(scratch: Path) -> None:
        goal = [
            "mvn",
            "-q",
            "-B",
            "-Dstyle.color=never",
            "-f",
            str(POM),
            "dependency:copy-dependencies",
        ]
        for part, which in LIBS.items():
            words = [*goal, f"-DoutputDirectory={scratch / part}", *which.split()]
            subprocess.run(words, check=True, timeout=MAVEN_TIMEOUT_S)

    return built_once(WORK / f"jars-{digest(POM)}", build)


def _name_version() -> None:
    """Write the release of the jars where the tests compare it with the jars of processes.

    The snapshot of the branch names the version of its vendor.
    """
    version = kafka_version()
    for name, pattern, line in (
        ("version.py", "^DEV_VERSION = .*", f'DEV_VERSION = KafkaVersion("{version}")'),
        ("__init__.py", "^__version__ = .*", f"__version__ = '{version}.dev0'"),
    ):
        file = DEV / "tests" / "kafkatest" / name
        file.write_text(re.sub(pattern, line, file.read_text(), flags=re.MULTILINE))


def _place_jars() -> None:
    """Move jars to where the services of the tests look for them, as in a checkout that was built.

    The services of Connect expect the version under test in the names.
    """
    for module, jars, name in (
        ("connect/file", "libs-programs/connect-file-*.jar", "connect-file"),
        (
            "connect/test-plugins",
            "libs-programs/connect-test-plugins-*.jar",
            "connect-test-plugins",
        ),
        ("core", "libs-test/kafka_2.13-*.jar", "kafka-test"),
    ):
        folder = DEV / module / "build" / "libs"
        folder.mkdir(parents=True)
        for jar in DEV.glob(jars):
            jar.rename(folder / f"{name}-{kafka_version()}.jar")
    # ducktape runs in the folder of the tests.
    (DEV / "tests" / "connect").symlink_to(Path("..") / "connect")


def _compile_ottla() -> None:
    """Compile Ottla's modules, because the user of the hosts cannot write into their folders."""
    for package in PROJECT_DIR.glob("*/__init__.py"):
        compileall.compile_dir(package.parent, quiet=1)
