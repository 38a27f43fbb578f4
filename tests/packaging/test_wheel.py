"""The built wheel works alone in a fresh environment, and beside any project.

A missing file of a package shows here. And somebody else's project may have packages of any name:
where Ottla is installed, from the wheel or editable, only `ottla` is on the import path.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.installation import (
    ROOT,
    Environment,
    build_wheel,
    copy_of_the_sources,
    run,
    write_wheel,
)
from tests.tools.packages import SERVER

pytestmark = pytest.mark.timeout(300)

ROUND_TRIP = """
import sys
import ottla
from ottla.testing.broker_process import BrokerProcess
assert ottla.__file__.startswith(sys.prefix), ottla.__file__
from kafka import KafkaConsumer, KafkaProducer
with BrokerProcess() as broker:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    producer.send("t", b"there").get(timeout=60)
    consumer = KafkaConsumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g",
                             auto_offset_reset="earliest", consumer_timeout_ms=60000)
    assert next(consumer).value == b"there"
    consumer.close()
    producer.close()

from ottla.testing import simulate

async def scenario(cluster):
    client = cluster.client("app")
    await client.create_topic("t")
    await client.produce("t", "there")

assert len(simulate(scenario, seeds=1)) == 1
print("and back")
"""

# What somebody else's type checker sees; with --strict an unused "ignore" is an error, too.
TYPED = """
from typing import assert_type

import pytest

from ottla.testing import Broker, BrokerFactory, Cluster, Fault, Message, NotAsExpected, Record

@pytest.mark.ottla(topics={"orders": 3})
def test_it(ottla: Broker, ottla_broker_factory: BrokerFactory) -> None:
    orders = ottla.topic("orders", partitions=3)
    written = orders.seed([("k", {"id": 1}), b"raw", Message("x", headers={"h": "1"})])
    assert_type(written, list[Record])
    with ottla.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic=orders) as fault:
        assert_type(fault, Fault)
    assert_type(fault.met, int)
    ottla.fail("Produce", "NOT_LEADER_OR_FOLLOWER", tims=2)  # type: ignore[call-arg]
    with pytest.raises(NotAsExpected):
        ottla.assert_committed("app", orders, lag="none")  # type: ignore[arg-type]
    assert_type(ottla.requests("Produce")[0].records, list[Record])
    ottla_broker_factory({"num.partitions": "3"}, port=0).advance(days=8)
    ottla_broker_factory(prt=0)  # type: ignore[call-arg]

async def test_cluster(ottla_cluster: Cluster) -> None:
    async with Broker({"num.partitions": "3"}) as broker:
        assert_type(broker.bootstrap_servers, str)
"""

# The project of somebody who has never heard of Ottla's packages.
MODULE = "NAME = 'mine'\n"
THEIR_TEST = """
import broker.mymodule, controller.mymodule, pipeline.mymodule
import protocol.mymodule, storage.mymodule
from confluent_kafka import Producer

def test_their_own_packages():
    for package in (broker, controller, pipeline, protocol, storage):
        assert package.mymodule.NAME == "mine"

def test_the_helpers(ottla):
    orders = ottla.topic("orders", partitions=2)
    orders.seed([("k", {"id": 1}), b"raw"])
    assert len(orders.consume(2)) == 2
    ottla.assert_produced(orders, key=b"k")
    with ottla.faults.fail("Metadata", "LEADER_NOT_AVAILABLE", times=1):
        pass

def test_the_fixture(ottla_broker):
    failed = []
    producer = Producer({"bootstrap.servers": ottla_broker.bootstrap_servers})
    producer.produce("orders", b"1", on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(60) == 0 and failed == [None]
"""
CONFTEST = "import storage.mymodule\n"
SRC = "[pytest]\npythonpath = src\n"
# (where their packages are, other files, environment, the command)
LAYOUTS = {
    "root-python-m-pytest": ("", {}, {}, ("python", "-m", "pytest")),
    "root-PYTHONPATH": ("", {}, {"PYTHONPATH": "."}, ("pytest",)),
    "root-conftest": ("", {"conftest.py": CONFTEST}, {}, ("pytest",)),
    "src-in-the-ini": ("src", {"pytest.ini": SRC}, {}, ("pytest",)),
    "src-importlib": ("src", {"pytest.ini": SRC}, {}, ("pytest", "--import-mode=importlib")),
    "src-installed": ("src", {}, {}, ("pytest",)),
}
SEEN = """
import importlib.util, sys
for name in sys.argv[1:]:
    found = importlib.util.find_spec(name)
    print(name, found and found.origin and getattr(importlib.import_module(name), "NAME", "ours"))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_sources(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(sources, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("installed"))
    environment.install(wheel)
    return environment


@pytest.fixture(scope="module")
def editable(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("editable"))
    environment.install("-e", sources)
    return environment


@pytest.fixture(params=["from_wheel", "editable"])
def installed(request: pytest.FixtureRequest) -> Environment:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Environment)
    return found


def seen(environment: Environment) -> dict[str, str]:
    """Whose packages a program of the environment imports, by name."""
    said = environment.run("python", "-c", SEEN, "ottla", *SERVER)
    return dict(line.split(" ", 1) for line in said.splitlines())


def test_the_wheel_holds_every_package_and_data_file(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    places = {"ottla": "ottla", **{name: f"ottla/_server/{name}" for name in SERVER}}
    for package, place in places.items():
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".json", ".properties", ".py", ".typed", ".xml"):
                assert f"{place}/{path.relative_to(ROOT / package).as_posix()}" in names
    configurations = [name for name in names if "/conf/" in name]
    assert configurations == ["ottla/_server/conf/server.properties"]
    strangers = [name for name in names if not name.startswith(("ottla/", "ottla-"))]
    assert strangers == []


def test_a_wheel_has_no_files_of_an_earlier_build(tmp_path: Path) -> None:
    """Build in a folder where `pip install .` has left modules that the sources lost since."""
    for package in ("conf", "ottla", "ottla/plugins", "ottla/testing", "ottla/testing/simulation"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / "present.py").touch()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE"):
        shutil.copy2(ROOT / name, tmp_path / name)
    removed = ("ottla/removed.py", "ottla/_server/broker/removed.py", "removed/__init__.py")
    for name in removed:
        (tmp_path / "build" / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "build" / "lib" / name).touch()
    build = "import sys; from setuptools import build_meta as it; it.build_wheel(sys.argv[1])"
    run([sys.executable, "-c", build, tmp_path / "dist"], tmp_path)
    (wheel,) = (tmp_path / "dist").glob("ottla-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ottla/_server/broker/present.py" in names
    assert [name for name in names if name in removed] == []


def test_the_source_distribution_has_the_pages_that_the_help_names(wheel: Path) -> None:
    (archive,) = wheel.parent.glob("ottla-*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"docs/command-line.md", "README.md", "conf/server.properties"} <= names


def test_the_wheel_brings_its_license(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert b"License-Expression: Apache-2.0" in archive.read(metadata)
    for name in ("LICENSE", "NOTICE"):
        shipped = archive.read(metadata.replace("METADATA", f"licenses/{name}"))
        assert shipped == (ROOT / name).read_bytes()


def test_it_serves_in_a_fresh_environment(from_wheel: Environment) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert from_wheel.run("ottla", "--version") == f"ottla {version}\n"
    assert "and back" in from_wheel.run("python", "-c", ROUND_TRIP)


def test_it_has_an_example_of_a_configuration(installed: Environment) -> None:
    assert "\nprocess.roles=broker,controller\n" in installed.run("ottla", "config", "example")


def test_only_ottla_can_be_imported(installed: Environment) -> None:
    assert seen(installed) == {"ottla": "ours", **dict.fromkeys(SERVER, "None")}
    assert installed.run("ottla", "--version").startswith("ottla 0.")
    assert "generate" in installed.run("ottla-pipeline", "--help")


def test_what_users_write_is_typed(from_wheel: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_typed.py").write_text(TYPED)
    checked = from_wheel.run("python", "-m", "mypy", "--strict", "test_typed.py", folder=tmp_path)
    assert "Success" in checked


@pytest.mark.long(sample=4)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_beside_a_project_with_packages_of_our_names(
    installed: Environment, layout: str, tmp_path: Path
) -> None:
    where, files, variables, command = LAYOUTS[layout]
    for name in SERVER:
        (tmp_path / where / name).mkdir(parents=True)
        (tmp_path / where / name / "__init__.py").touch()
        (tmp_path / where / name / "mymodule.py").write_text(MODULE)
    for file, text in {"test_theirs.py": THEIR_TEST, **files}.items():
        (tmp_path / file).write_text(text)
    path_file = installed.libraries / "theirs.pth"  # what an editable install of theirs leaves
    if layout == "src-installed":
        path_file.write_text(f"{tmp_path / where}\n")
    try:
        said = installed.run(*command, "-q", folder=tmp_path, variables=variables)
    finally:
        path_file.unlink(missing_ok=True)
    assert "3 passed" in said


def test_beside_a_wheel_with_packages_of_our_names(wheel: Path, tmp_path: Path) -> None:
    """Installed before and after Ottla, and removed: neither touches the other."""
    their_wheel = write_wheel(tmp_path, "theirs", {"broker": MODULE, "storage": MODULE})
    environment = Environment(tmp_path)
    nobody = dict.fromkeys(("ottla", *SERVER), "None")
    theirs, ours = {"broker": "mine", "storage": "mine"}, {"ottla": "ours"}

    environment.install(their_wheel)
    environment.install(wheel)
    assert seen(environment) == {**nobody, **theirs, **ours}
    assert environment.run("ottla", "--version").startswith("ottla 0.")

    environment.pip("uninstall", "-y", "theirs")
    assert seen(environment) == {**nobody, **ours}
    assert environment.run("ottla", "--version").startswith("ottla 0.")

    environment.install(their_wheel)
    environment.pip("uninstall", "-y", "ottla")
    assert seen(environment) == {**nobody, **theirs}
