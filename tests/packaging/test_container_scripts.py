"""The image's scripts, each as a plain process: configuration from variables, start, health."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.packaging.container_folder import ContainerFolder
from tests.tools.java_tools import java_command

ENTRYPOINT = "/etc/kafka/docker/entrypoint"
CONFIGURE = "/etc/kafka/docker/configure"
PROPERTIES = "/etc/kafka/kafka.properties"
NODE = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
}
NAMES = {
    "KAFKA_A_B__C___D____E_____F": "x",
    "KAFKA_MY_KAFKA_KEY": r"a\nb",
    "KAFKA_EMPTY": "",
    "KAFKA_LINES": "first\nsecond=2",
    "KAFKA_lower_Case": "V",
    "KAFKA_LISTENER_NAME_SASL_PLAIN_SASL_JAAS_CONFIG": 'Module required a="b c" d="$x";',
    "NOT_KAFKA_X": "1",
}
OTHER_PROGRAMS = {
    "KAFKA_VERSION": "4.4.0",
    "KAFKA_HEAP_OPTS": "-Xmx1G",
    "KAFKA_OPTS": "-Dx=y",
    "KAFKA_LOG4J_OPTS": "-Dx=y",
    "KAFKA_JMX_OPTS": "-Dx=y",
    "KAFKA_JMX_HOSTNAME": "kafka",
    "KAFKA_JVM_PERFORMANCE_OPTS": "-server",
    "KAFKA_GC_LOG_OPTS": "-Xlog",
    "KAFKA_LOG4J_ROOT_LOGLEVEL": "INFO",
    "KAFKA_LOG4J_LOGGERS": "kafka=INFO",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL": "INFO",
}
IGNORED_BY_KAFKA = {
    "KAFKA_JMX_PORT": "9999",
    "KAFKA_PORT": "tcp://10.0.0.1:9092",
    "KAFKA_PORT_9092_TCP": "tcp://10.0.0.1:9092",
    "KAFKA_SERVICE_HOST": "10.0.0.1",
    "KAFKA_REST_BOOTSTRAP_SERVERS": "localhost:9092",
    "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[ContainerFolder]:
    folder = ContainerFolder(tmp_path)
    yield folder
    folder.kill()


def configured(container: ContainerFolder, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that `configure` writes."""
    done = container.run([CONFIGURE], environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return container.properties()


def test_variables_become_keys_by_kafkas_rules(container: ContainerFolder) -> None:
    variables = {**NODE, **NAMES, **OTHER_PROGRAMS, **IGNORED_BY_KAFKA}
    properties = configured(container, variables)
    assert properties.pop("log.dirs") == container.inside("/var/lib/ottla/data")
    assert properties.pop("ottla.metrics.port") == str(container.port(9404))
    assert properties == {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@localhost:{container.port(9093)}",
        "a.b_c-d-.e-_f": "x",
        "my.kafka.key": r"a\nb",
        "empty": "",
        "lines": "first",
        "second": "2",
        "lower.case": "V",
        "listener.name.sasl.plain.sasl.jaas.config": 'Module required a="b c" d="$x";',
    }


@pytest.mark.java
def test_apache_kafka_makes_the_same_keys(container: ContainerFolder, tmp_path: Path) -> None:
    variables = {**NODE, **NAMES, **OTHER_PROGRAMS}
    for folder in ("default", "mounted", "final"):
        (tmp_path / folder).mkdir()
    wrapper = java_command(
        "kafka.docker.KafkaDockerWrapper",
        "setup",
        *("--default-configs-dir", str(tmp_path / "default")),
        *("--mounted-configs-dir", str(tmp_path / "mounted")),
        *("--final-configs-dir", str(tmp_path / "final")),
    )
    (tmp_path / "final" / "server.properties").touch()
    environment = container.variables(variables)
    # It fails later, because there are no files of Log4j.
    subprocess.run(wrapper, env=environment, capture_output=True, timeout=60)
    lines = (tmp_path / "final" / "server.properties").read_text().split("\n")
    expected = dict(line.split("=", 1) for line in lines if line)
    properties = configured(container, variables)
    assert expected and expected == {key: properties[key] for key in expected}
    assert properties.keys() - expected.keys() == {"log.dirs"}


def test_without_roles_the_variables_come_on_top_of_the_images_file(
    container: ContainerFolder,
) -> None:
    before = configured(container, {})
    assert before["listeners"].startswith("PLAINTEXT://")
    changed = {"num.partitions": "3", "node.id": "7"}
    after = configured(container, {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_NODE_ID": "7"})
    assert after == {**before, **changed}


def test_a_mounted_file_comes_before_the_images_file(container: ContainerFolder) -> None:
    container.copy_in("/mnt/shared/config/server.properties", "node.id = 5\nlog.dir=/var/lib/x\n")
    properties = configured(container, {**NODE, "KAFKA_NODE_ID": "6"})
    assert properties["node.id"] == "6"
    assert "log.dirs" not in properties, "log.dir is set"
    assert "listeners" not in properties


def test_listeners_follow_from_advertised_listeners(container: ContainerFolder) -> None:
    advertised = "PLAINTEXT://kafka:19092,OUTSIDE://[::1]:9092"
    properties = configured(container, {**NODE, "KAFKA_ADVERTISED_LISTENERS": advertised})
    plain, outside = container.port(19092), container.port(9092)
    assert properties["listeners"] == f"PLAINTEXT://0.0.0.0:{plain},OUTSIDE://0.0.0.0:{outside}"


def test_files_of_secrets_become_keys(container: ContainerFolder) -> None:
    for name, text in (("store.p12", "store"), ("key", "k$ y\n"), ("store", "s\n")):
        container.copy_in(f"/etc/kafka/secrets/{name}", text)
    properties = configured(
        container,
        {
            **NODE,
            "KAFKA_SSL_KEYSTORE_FILENAME": "store.p12",
            "KAFKA_SSL_KEY_CREDENTIALS": "key",
            "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store",
        },
    )
    ssl = {key: value for key, value in properties.items() if key.startswith("ssl.")}
    assert ssl == {
        "ssl.keystore.location": container.inside("/etc/kafka/secrets/store.p12"),
        "ssl.key.password": "k$ y",
        "ssl.keystore.password": "s",
    }
    written = container.root / "etc/kafka/kafka.properties"
    assert written.stat().st_mode & 0o077 == 0, "it has passwords"


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181"}, "Ottla has no ZooKeeper"),
        ({"KAFKA_SSL_KEYSTORE_FILENAME": "absent"}, "KAFKA_SSL_KEYSTORE_FILENAME=absent"),
        ({"KAFKA_SSL_KEY_CREDENTIALS": "absent"}, "KAFKA_SSL_KEY_CREDENTIALS=absent"),
        ({"OTTLA_CONFIG": "/etc/absent"}, "/etc/absent (OTTLA_CONFIG)"),
        ({"KAFKA_LOG_DIRS": "/etc/ottla/server.properties/data"}, "cannot write the data folder"),
    ],
)
def test_a_start_that_cannot_work_is_refused_in_one_line(
    container: ContainerFolder, variables: Mapping[str, str], line: str
) -> None:
    done = container.run([ENTRYPOINT, "serve"], variables)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert line in done.stderr.replace(str(container.root), "")


def test_options_of_java_reach_the_node_which_reads_their_jaas_file(
    container: ContainerFolder,
) -> None:
    container.write_program("ottla", 'echo "$KAFKA_OPTS"')
    options = "-Djava.security.auth.login.config=/etc/kafka/jaas.conf"
    done = container.run([ENTRYPOINT, "serve"], {"KAFKA_OPTS": options})
    assert done.stdout.replace(str(container.root), "") == f"{options}\n"
    assert done.stderr == ""


def test_the_entry_point_runs_commands_of_ottla_and_shells(container: ContainerFolder) -> None:
    container.write_program("ottla", 'echo "ottla $*"')
    status = ["status", "--json"]
    assert container.run([ENTRYPOINT, *status]).stdout == "ottla status --json\n"
    assert container.run([ENTRYPOINT, "ottla", *status]).stdout == "ottla status --json\n"
    assert container.run([ENTRYPOINT, "sh", "-c", "echo $0"]).stdout == "sh\n"
    assert container.run([ENTRYPOINT, "/bin/echo", "x"]).stdout == "x\n"
    served = container.run([ENTRYPOINT, "serve", "--override", "a=b c"]).stdout
    file = container.inside("/etc/kafka/kafka.properties")
    assert served == f"ottla serve --config {file} --kafka-log-lines --override a=b c\n"


def test_the_run_script_takes_variables_as_arguments(container: ContainerFolder) -> None:
    container.write_program("ottla", "env")
    done = container.run(["/etc/kafka/docker/run", "KAFKA_NUM_PARTITIONS=4", "CLUSTER_ID=x"])
    assert "OTTLA_CLUSTER_ID=x" in done.stdout.splitlines()
    assert container.properties()["num.partitions"] == "4"


@pytest.mark.parametrize(
    ("variables", "cluster_id"),
    [
        ({}, None),
        ({"CLUSTER_ID": "a"}, "a"),
        ({"CLUSTER_ID": "a", "OTTLA_CLUSTER_ID": "b"}, "b"),
        (NODE, "5L6g3nShT-eMCtK--X86sw"),
        ({**NODE, "CLUSTER_ID": "a"}, "a"),
    ],
)
def test_the_cluster_id_formats_an_empty_folder_only(
    container: ContainerFolder, variables: Mapping[str, str], cluster_id: str | None
) -> None:
    container.write_program("ottla", 'echo "${OTTLA_CLUSTER_ID-none}"')
    start = [ENTRYPOINT, "serve"]
    assert container.run(start, variables).stdout == f"{cluster_id or 'none'}\n"
    container.copy_in("/var/lib/ottla/data/meta.properties", "cluster.id=other\n")
    own = variables.get("OTTLA_CLUSTER_ID", "none")
    assert container.run(start, variables).stdout == f"{own}\n", "a formatted folder keeps its id"


def test_kafka_storage_formats_a_folder_once(container: ContainerFolder) -> None:
    ids = [container.run(["kafka-storage", "random-uuid"]).stdout for _ in range(2)]
    assert ids[0] != ids[1] and [len(text) for text in ids] == [23, 23]
    configured(container, {})
    command = ["kafka-storage", "format", "-t", ids[0].strip(), "-c", PROPERTIES]
    assert container.run(command).returncode == 0
    meta = container.root / "var/lib/ottla/data/meta.properties"
    assert f"cluster.id={ids[0]}" in meta.read_text()
    command[3] = ids[1].strip()
    assert container.run(command).returncode == 2, "the folder of another cluster"
    assert container.run([*command, "--ignore-formatted"]).returncode == 0


def test_kafka_storage_passes_on_what_the_metadata_begins_with(container: ContainerFolder) -> None:
    configured(container, {})
    user = "SCRAM-SHA-256=[name=alice,password=a b]"
    command = ["kafka-storage", "format", "--release-version=4.2", "-f", "group.version=0"]
    command += ["-t", "MkU3OEVBNTcwNTJENDM2Qg", "-S", user, "--config", PROPERTIES]
    done = container.run(command)
    assert done.returncode == 0
    assert "metadata.version=29" in done.stdout and "group.version=0" in done.stdout
    data = container.root / "var/lib/ottla/data"
    assert b"alice" in (data / "bootstrap.checkpoint").read_bytes()


@pytest.mark.slow
def test_the_health_check_follows_the_node(container: ContainerFolder) -> None:
    container.start([ENTRYPOINT, "serve"], {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092"})
    container.wait_for_line("is ready")
    assert "warning" not in container.log()
    assert container.run(["/etc/kafka/docker/health"]).returncode == 0
    process = container.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, "a clean stop: each script hands its process on"
    done = container.run(["/etc/kafka/docker/health"])
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == f"nothing answers on port {container.port(9404)}\n"
