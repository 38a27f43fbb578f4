"""A stand-in for the `docker` package, with which aiokafka's tests run against any broker.

aiokafka's `tests/conftest.py` starts its broker as a container. With this folder on PYTHONPATH and
`--docker-image any/kafka:RELEASE` its "container" is a process: the command in BROKER_COMMAND, in
which `{config}` is filled in: a file that says what the image's start script says (listeners with
TLS and SASL, users, an authorizer), but Kerberos. What the tests run inside of the container is run
here: `gen-ssl-certs.sh` by bash, `kafka-acls` and `kafka-configs` by the command in TOOL_COMMAND,
with the tool's name for `{tool}`. Used outside of this project's own tests; standard library only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HOST = "127.0.0.1"
PORTS = {
    "PLAINTEXT": "ADVERTISED_PORT",
    "SSL": "ADVERTISED_SSL_PORT",
    "SASL_PLAINTEXT": "ADVERTISED_SASL_PLAINTEXT_PORT",
    "SASL_SSL": "ADVERTISED_SASL_SSL_PORT",
}
MODULES = "org.apache.kafka.common.security"
PLAIN_USERS = (
    f'{MODULES}.plain.PlainLoginModule required username="admin" password="admin" '
    'user_admin="admin" user_test="test" user_test2="test2";'
)
STORE_PASSWORD = "abcdefgh"
OF_ZOOKEEPER = {
    "kafka-acls": ["--authorizer-properties", "zookeeper.connect=localhost:2181"],
    "kafka-configs": ["--zookeeper", "localhost:2181"],
}
"""What the tests' commands have in place of `--bootstrap-server`."""


def properties(
    environment: dict[str, Any], certificates: str, folder: str, controller_port: int
) -> dict[str, Any]:
    """The broker's configuration, for the image's environment."""
    listeners = [f"{name}://{HOST}:{environment[key]}" for name, key in PORTS.items()]
    controller = f"{HOST}:{controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": 0,
        "log.dirs": f"{folder}/data",
        "controller.quorum.voters": f"0@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in PORTS)]
        ),
        "listeners": ",".join([*listeners, f"CONTROLLER://{controller}"]),
        "advertised.listeners": ",".join(listeners),
        "num.partitions": environment["NUM_PARTITIONS"],
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "auto.create.topics.enable": "true",
        **tls(certificates),
        **sasl(environment["SASL_MECHANISMS"].split(",")),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        # The controller's listener is the second one's: there was none with ZooKeeper.
        "super.users": "User:admin;User:ANONYMOUS",
    }


def tls(certificates: str) -> dict[str, str]:
    stores = {"keystore": "br_server.keystore.jks", "truststore": "br_server.truststore.jks"}
    found = {}
    for store, name in stores.items():
        found[f"ssl.{store}.type"] = "JKS"
        found[f"ssl.{store}.location"] = f"{certificates}/{name}"
        found[f"ssl.{store}.password"] = STORE_PASSWORD
    return {
        **found,
        "ssl.key.password": STORE_PASSWORD,
        "ssl.client.auth": "required",
        "ssl.endpoint.identification.algorithm": "",
        "security.inter.broker.protocol": "SSL",
    }


def sasl(mechanisms: Sequence[str]) -> dict[str, str]:
    served = [one for one in mechanisms if one != "GSSAPI"]
    found = {"sasl.enabled.mechanisms": ",".join(served)}
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for one in served:
            scram = f"{MODULES}.scram.ScramLoginModule required;"
            key = f"listener.name.{listener}.{one.lower()}.sasl.jaas.config"
            found[key] = PLAIN_USERS if one == "PLAIN" else scram
    return found


def held_port() -> socket.socket:
    """A port of its own for the controller: it is bound and never listens, and the broker may."""
    held = socket.socket()
    held.bind((HOST, 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held


def one_mechanism_each(words: list[str]) -> list[list[str]]:
    """The commands in place of one: since ZooKeeper went, a request changes a user once."""
    both = next((word for word in words if word.startswith("SCRAM-")), None)
    if both is None:
        return [words]
    each = re.findall(r"SCRAM-SHA-\d+=\[.*?\]", both)
    return [[one if word == both else word for word in words] for one in each]


class Container:
    """The folder of a container, and its broker where it runs one."""

    def __init__(self, environment: dict[str, Any], mounted: dict[str, str], working: str) -> None:
        self._mounted = mounted
        self._working = mounted.get(working, ".")
        self._folder = tempfile.mkdtemp(prefix="aiokafka-tests-")
        self._process: subprocess.Popen[bytes] | None = None
        self._held: socket.socket | None = None
        if environment:
            self._bootstrap = f"{HOST}:{environment['ADVERTISED_PORT']}"
            self._held = held_port()
            port: int = self._held.getsockname()[1]
            self._start(properties(environment, mounted["/ssl_cert"], self._folder, port))

    def _start(self, settings: dict[str, Any]) -> None:
        config = Path(self._folder) / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = os.environ["BROKER_COMMAND"].format(config=config)
        self._process = subprocess.Popen(shlex.split(command))

    def exec_run(self, command: str | list[str], **_: object) -> tuple[int, bytes]:
        """The exit code and the output."""
        words = shlex.split(command) if isinstance(command, str) else command
        if words[0] == "supervisorctl":
            return 1, b"what the broker said is above"
        code, output = 0, b""
        for one in self._as_run_here(words):
            done = subprocess.run(one, cwd=self._working, capture_output=True)
            code, output = code or done.returncode, output + done.stdout + done.stderr
        return code, output

    def _as_run_here(self, words: list[str]) -> list[list[str]]:
        tool = Path(words[0]).stem
        if tool not in OF_ZOOKEEPER:
            return [[self._mounted.get(word, word) for word in words]]
        given = [word for word in words[1:] if word not in OF_ZOOKEEPER[tool]]
        command = shlex.split(os.environ["TOOL_COMMAND"].format(tool=tool))
        command += ["--bootstrap-server", self._bootstrap]
        return [[*command, *one] for one in one_mechanism_each(given)]

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        if self._held is not None:
            self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Client:
    """`docker.from_env()`."""

    def __init__(self) -> None:
        self.containers = self
        self.images = self

    def run(
        self,
        image: str,
        environment: dict[str, Any] | None = None,
        volumes: dict[str, dict[str, str]] | None = None,
        working_dir: str = "",
        **_: object,
    ) -> Container:
        mounted = {where["bind"]: str(path) for path, where in (volumes or {}).items()}
        return Container(environment or {}, mounted, working_dir)

    def pull(self, image: str) -> None:
        pass

    def close(self) -> None:
        pass


def from_env() -> Client:
    return Client()


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
