"""An Apache Kafka broker as a process, for comparisons in tests and in `bench/`.

`ApacheKafka` runs one combined broker and controller from the jars of `tests/java/pom.xml`, with
the JVM options of Kafka's own start script, on free ports of 127.0.0.1. It owns its process, and
its temporary folder unless it was given one. Standard library only.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.tools.java_tools import JAVA_DIR, java_home_bin, kafka_classpath, run_tool
from tests.tools.kafka_log import errors_in
from tests.tools.ports import Ports

HOST = "127.0.0.1"

# bin/kafka-run-class.sh of the distribution: KAFKA_JVM_PERFORMANCE_OPTS
JVM_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)

# The keys of a cluster of one: one replica of internal topics, no pause before a rebalance.
SINGLE_NODE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}

# ApiVersions v0, correlation id 1, no client id: a server that answers it serves.
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def answers_api_versions(
    port: int, timeout_s: float = 10.0, tls: ssl.SSLContext | None = None
) -> bool:
    """Return whether a process on `port` of 127.0.0.1 answers a Kafka ApiVersions request."""
    try:
        plain = socket.create_connection((HOST, port), timeout=timeout_s)
        with plain if tls is None else tls.wrap_socket(plain, server_hostname=HOST) as connection:
            connection.sendall(_API_VERSIONS)
            answer = connection.recv(8)
            return len(answer) == 8 and answer[4:] == b"\0\0\0\1"
    except OSError:
        return False


def listens(port: int, timeout_s: float = 10.0) -> bool:
    """Return whether a process on `port` of 127.0.0.1 accepts a connection."""
    try:
        socket.create_connection((HOST, port), timeout=timeout_s).close()
    except OSError:
        return False
    return True


def fresh_id() -> str:
    """Return a random id in Kafka's form.

    It never begins with `-`, like an option of Kafka's tools.
    """
    while (text := urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()).startswith("-"):
        pass
    return text


class ApacheKafka:
    """An Apache Kafka process; `with ApacheKafka() as kafka: … kafka.bootstrap …`.

    `data_dir`     an existing, formatted folder (`log.dirs`); None: format a temporary folder, with
                   `cluster_id` (a Kafka base64 uuid) or a random id
    `static_voters`  set `controller.quorum.voters`, in place of a dynamic (standalone) quorum
    `features`     feature levels to format with, in place of the release's own
    `format_options`  further options of `kafka-storage format`
    `properties`   further server properties, which override those of this class
    `heap`         -Xms and -Xmx, 1G as in Kafka's own start script
    `jvm_options`  in place of Kafka's own, for example `FAST_START` in a test of a few requests
    `classpath`    the jars of another release (`kafka_classpath(PREVIOUS)`)
    `log_file`     the broker's log; None: a file in the temporary folder
    """

    def __init__(
        self,
        *,
        data_dir: Path | str | None = None,
        node_id: int = 1,
        cluster_id: str | None = None,
        static_voters: bool = False,
        features: Mapping[str, int] | None = None,
        format_options: Sequence[str] = (),
        port: int | None = None,
        controller_port: int | None = None,
        properties: Mapping[str, str] | None = None,
        heap: str = "1G",
        jvm_options: Sequence[str] = JVM_OPTIONS,
        log_file: Path | str | None = None,
        start_timeout_s: float = 120,
        classpath: str | None = None,
    ) -> None:
        self.node_id = node_id
        self._classpath = classpath
        self.cluster_id = cluster_id
        self._held = Ports()
        self.port = port or self._held.take()
        self.controller_port = controller_port or self._held.take()
        self._static_voters = static_voters
        self._features = dict(features or {})
        self._format_options = list(format_options)
        self._extra = dict(properties or {})
        self._jvm = [*jvm_options, f"-Xms{heap}", f"-Xmx{heap}"]
        self._start_timeout_s = start_timeout_s
        self._formatted = data_dir is not None
        self._folder = Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self.data_dir = Path(data_dir) if data_dir is not None else self._folder / "data"
        self.log_file = Path(log_file) if log_file is not None else self._folder / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        assert self._process is not None, "Apache Kafka is not running"
        return self._process.pid

    def server_properties(self) -> dict[str, str]:
        """Return the broker's whole configuration."""
        controller = f"{HOST}:{self.controller_port}"
        quorum = (
            {"controller.quorum.voters": f"{self.node_id}@{controller}"}
            if self._static_voters
            else {"controller.quorum.bootstrap.servers": controller}
        )
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            **quorum,
            **SINGLE_NODE,
            **self._extra,
        }

    def start(self) -> ApacheKafka:
        """Format if needed, start, and wait until the broker answers.

        Raises RuntimeError if it never does.
        """
        config = self.format()
        with open(self.log_file, "ab") as log:
            log_start = log.tell()
            self._process = subprocess.Popen(
                [
                    java_home_bin() or "java",
                    *self._jvm,
                    f"-Dlog4j2.configurationFile={JAVA_DIR / 'log4j2-broker.properties'}",
                    f"-Dlog4j.configuration=file:{JAVA_DIR / 'kafka39' / 'log4j.properties'}",
                    "-cp",
                    self._classpath or kafka_classpath(),
                    "kafka.Kafka",
                    str(config),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait_until_serving(log_start)
        except BaseException:
            self.kill()
            raise
        return self

    def format(self) -> Path:
        """Write the configuration, format the folder if needed, and return the file written."""
        config = self._folder / "server.properties"
        lines = [f"{key}={value}" for key, value in self.server_properties().items()]
        config.write_text("\n".join(lines) + "\n")
        if not self._formatted:
            self._format(config)
        return config

    def _format(self, config: Path) -> None:
        self.cluster_id = self.cluster_id or fresh_id()
        options = ["-t", self.cluster_id, "-c", str(config), *self._format_options]
        if not self._static_voters:
            options.append("--standalone")
        for feature, level in self._features.items():
            options += ["--feature", f"{feature}={level}"]
        done = run_tool("kafka-storage", "format", *options, classpath=self._classpath)
        if done.returncode != 0:
            raise RuntimeError(f"kafka-storage format failed:\n{done.stdout}{done.stderr}")
        self._formatted = True

    def _wait_until_serving(self, log_start: int) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_timeout_s
        # The log shows that this broker answers, not another process on the port.
        while not (self._says_started(log_start) and answers_api_versions(self.port)):
            if self._process.poll() is not None:
                raise RuntimeError(f"Apache Kafka ended at start:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"Apache Kafka does not answer:\n{self.log_tail()}")
            time.sleep(0.05)

    def _says_started(self, log_start: int) -> bool:
        with open(self.log_file, "rb") as log:
            log.seek(log_start)
            return b"Kafka Server started" in log.read()

    def log_tail(self, size: int = 4000) -> str:
        """Return the last `size` characters of the broker's log; "" if there is no log."""
        try:
            return self.log_file.read_text(errors="replace")[-size:]
        except OSError:
            return ""

    def errors(self, *expected: str) -> list[str]:
        """Return the log's unexpected entries of level ERROR, see `kafka_log.errors_in`."""
        return errors_in(self.log_tail(1_000_000), *expected)

    def stop(self, timeout_s: float = 90) -> int | None:
        """Send SIGTERM, for a clean shutdown, and SIGKILL after `timeout_s`.

        Return the exit status, None if the broker did not run. The data folder stays for a later
        `start()`; `close()` removes the temporary folder.
        """
        if self._process is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process = None
        return status

    def kill(self) -> None:
        """Send SIGKILL and wait for the end of the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop the broker and remove the temporary folder; a `data_dir` of the caller stays."""
        self.stop()
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> ApacheKafka:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
