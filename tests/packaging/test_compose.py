"""docker-compose.yml without Docker: its structure, and that its parts fit each other.

The keys are those of the Compose specification that the file uses; one that is misspelt is not
among them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from broker.config.file import load_config
from broker.config.properties import parse_properties
from broker.config.values import BrokerConfig
from broker.node.preparation.storage_folders import check_cluster_id
from command.cluster_layout import new_layout
from tests.tools.java_tools import PROJECT_DIR

COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT_DIR / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
BROKERS = ("broker-1", "broker-2", "broker-3")
SERVICE_KEYS = {
    "build": str,
    "command": list,
    "depends_on": dict,
    "environment": dict,
    "image": str,
    "ports": list,
    "stop_grace_period": str,
    "volumes": list,
}
INSIDE = "/etc/ottla/server.properties"


def mounts(service: str) -> dict[str, str]:
    """What is mounted, by the place where it is."""
    pairs = [text.removesuffix(":ro").split(":") for text in SERVICES[service]["volumes"]]
    return {inside: outside for outside, inside in pairs}


def config(service: str) -> BrokerConfig:
    return load_config(str(PROJECT_DIR / mounts(service)[INSIDE]), ())


def test_the_structure_is_that_of_the_specification() -> None:
    assert [key for key in COMPOSE if key not in ("name", "services", "volumes")] == ["x-broker"]
    assert list(SERVICES) == [*BROKERS, "spark"]
    for name, service in SERVICES.items():
        for key, value in service.items():
            assert key in SERVICE_KEYS, f"{name}.{key}"
            assert isinstance(value, SERVICE_KEYS[key]), f"{name}.{key}"
        assert all(isinstance(text, str) for text in service["environment"].values()), name
        assert re.fullmatch(r"[a-z0-9/._-]+(:[a-z0-9._-]+)?", service["image"])
    for needed in SERVICES["spark"]["depends_on"].items():
        assert needed[0] in BROKERS and needed[1] == {"condition": "service_healthy"}


def test_volumes_are_declared_and_files_exist() -> None:
    used = []
    for service in SERVICES:
        for inside, outside in mounts(service).items():
            assert inside.startswith("/")
            if outside.startswith("./"):
                assert (PROJECT_DIR / outside).is_file(), outside
            else:
                used.append(outside)
    assert sorted(used) == sorted(COMPOSE["volumes"])
    assert len(used) == len(dict.fromkeys(used)), "no two services share a volume"


@pytest.mark.parametrize("service", BROKERS)
def test_a_node_has_a_configuration_that_fits_its_service(service: str) -> None:
    node = config(service)
    assert node.warnings == ()
    assert service == f"broker-{node.node_id}"
    data = Path(node.log_dirs[0])
    assert any(data.is_relative_to(inside) for inside in mounts(service) if inside != INSIDE)
    (published,) = SERVICES[service]["ports"]
    address, outer, inner = published.split(":")
    bound = {one.listener_name: one.port for one in node.listeners}
    told = {one.listener_name: (one.host, one.port) for one in node.advertised_listeners}
    assert address == "127.0.0.1", "open to this machine only"
    assert bound["EXTERNAL"] == int(inner) and told["EXTERNAL"] == ("localhost", int(outer))
    assert told["INTERNAL"] == (service, bound["INTERNAL"])
    assert all(one.host is None for one in node.listeners), "every interface of the container"
    voters = {voter.node_id: (voter.host, voter.port) for voter in node.controller_quorum_voters}
    assert voters[node.node_id] == (service, bound["CONTROLLER"])
    assert [host for host, _ in voters.values()] == list(BROKERS)


def test_the_nodes_are_one_cluster() -> None:
    ids = [SERVICES[one]["environment"]["OTTLA_CLUSTER_ID"] for one in BROKERS]
    assert len(dict.fromkeys(ids)) == 1
    check_cluster_id(ids[0])
    ports = [SERVICES[one]["ports"][0].split(":")[1] for one in BROKERS]
    assert ports == ["9092", "9093", "9094"]
    voters = [config(one).controller_quorum_voters for one in BROKERS]
    assert voters[0] == voters[1] == voters[2]


@pytest.mark.parametrize("service", BROKERS)
def test_a_command_in_a_nodes_container_needs_no_address(service: str) -> None:
    host, _, port = SERVICES[service]["environment"]["OTTLA_BOOTSTRAP_SERVERS"].partition(":")
    bound = {one.listener_name: one.port for one in config(service).listeners}
    assert (host, int(port)) == ("localhost", bound["INTERNAL"])
    others = [config(name).advertised_listeners for name in BROKERS]
    reachable = [e for listed in others for e in listed if e.listener_name == "INTERNAL"]
    assert [one.host for one in reachable] == list(BROKERS), "not localhost of another container"


def test_they_keep_as_many_copies_as_ottla_cluster() -> None:
    layout = new_layout(3)
    written = parse_properties(layout.properties(layout.nodes[0], "/c"))
    place = layout.keys_of_place(layout.nodes[0], "/c")
    named = ("node.id", "inter.broker.listener.name", "listener.security.protocol.map")
    for service in BROKERS:
        ours = config(service).originals
        differing = [key for key in written if ours.get(key) != written[key]]
        assert [key for key in differing if key not in (*place, *named)] == []


def test_the_image_alone_is_a_node_of_one() -> None:
    node = load_config(str(PROJECT_DIR / "conf" / "docker" / "server.properties"), ())
    assert node.warnings == ()
    assert [one.node_id for one in node.controller_quorum_voters] == [node.node_id]
    outside, inside = node.advertised_listeners
    assert str(outside) == "PLAINTEXT://localhost:9092"
    assert (inside.listener_name, inside.port) == ("INTERNAL", 19092)
    assert inside.host != "localhost", "the container's own name"


def test_every_key_of_these_files_has_a_line_that_says_why() -> None:
    for file in sorted((PROJECT_DIR / "conf" / "docker").glob("*.properties")):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            if re.match(r"[a-z][a-z.]+=", line):
                assert re.match(r"# [A-Z]", lines[number - 1]), f"{file.name}: {line}"


def test_the_spark_job_is_started_as_it_wants_to_be() -> None:
    pytest.importorskip("pyspark")
    from pipeline import topics_to_table

    spark = SERVICES["spark"]
    assert all(spark["environment"].get(name) for name in topics_to_table.SETTINGS)
    servers = spark["environment"]["BOOTSTRAP_SERVERS"].split(",")
    listeners = [config(one).advertised_listeners for one in BROKERS]
    told = [e for found in listeners for e in found if e.listener_name == "INTERNAL"]
    assert servers == [f"{one.host}:{one.port}" for one in told]
    assert re.fullmatch(spark["environment"]["TOPICS"], "events-of-today")
    job = spark["command"][-1]
    assert mounts("spark")[job] == "./pipeline/topics_to_table.py"
    places = [spark["environment"][name] for name in ("TABLE", "CHECKPOINT")]
    for place in (*places, spark["command"][2].partition("ivy=")[2]):
        assert any(Path(place).is_relative_to(inside) for inside in mounts("spark"))


def test_one_version_of_spark() -> None:
    pytest.importorskip("pyspark")
    pinned = re.search(r'"pyspark==([0-9.]+)"', (PROJECT_DIR / "pyproject.toml").read_text())
    assert pinned is not None
    assert SERVICES["spark"]["image"] == f"apache/spark:{pinned[1]}-python3"
    (packages,) = [one for one in SERVICES["spark"]["command"] if one.startswith("--packages=")]
    from pipeline.spark.jars import PACKAGE
    from pipeline.tables.delta_table import PACKAGES

    assert PACKAGE.endswith(f":{pinned[1]}")
    assert packages == f"--packages={','.join((PACKAGE, *PACKAGES))}"
