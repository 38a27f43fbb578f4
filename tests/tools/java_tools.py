"""Java for the tests: Apache Kafka's jars through Maven, its tools, our small programs.

Owns the cache of jars and compiled classes (`.cache/` at the project's root, outside git). It is
filled once, from the poms under `tests/java/` and the releases of `kafka_release`; several test
processes may use it at the same time. Starts no broker: that is `tests/tools/apache_kafka.py`.
Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.tools.kafka_release import RELEASE

PROJECT_DIR = Path(__file__).resolve().parents[2]
JAVA_DIR = PROJECT_DIR / "tests" / "java"
CACHE_DIR = PROJECT_DIR / ".cache"
JAVA_VERSION_MIN = 17
MAVEN_TIMEOUT_S = 600


def digest(*files: Path) -> str:
    """Return a folder name for the product of these files, which differs when a file changes."""
    sha = hashlib.sha256()
    for file in files:
        sha.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return sha.hexdigest()[:16]


# A tool runs for a second: compile little, share classes, no parallel collector.
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
ARCHIVES_DIR = CACHE_DIR / "archives"
KAFKA_ARCHIVE = ARCHIVES_DIR / f"kafka-{RELEASE}-{digest(JAVA_DIR / 'pom.xml')}"
CLASSES = "classes.jsa"
QUIET_ARCHIVE = "-Xlog:cds*=off"
"""An option against the warning, on standard output, of a JVM that cannot use its archive."""
FAST_START = (
    *QUICK_JVM,
    *("-Xmx256m", f"-XX:SharedArchiveFile={KAFKA_ARCHIVE / CLASSES}", QUIET_ARCHIVE),
)
"""`QUICK_JVM` with the archive that `tests.tools.class_archives` makes of Kafka's classes."""

TOOLS: dict[str, str] = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-share-consumer": "org.apache.kafka.tools.VerifiableShareConsumer",
}
"""Kafka's scripts by name, with the class that each runs."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether Java tests can run here: true, or false with the reason on one line."""

    reason: str | None

    def __bool__(self) -> bool:
        return self.reason is None


def java_home_bin(name: str = "java") -> str | None:
    """Return the path of `java` or another program of the JDK, None if there is none.

    JAVA_HOME comes before the search path, as in Kafka's scripts.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / name
        if candidate.is_file():
            return str(candidate)
    return shutil.which(name)


@cache
def java_version() -> int | None:
    """Return the feature release of the Java in use (17, 21 …), None if there is no Java."""
    java = java_home_bin()
    if java is None:
        return None
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match else None


@cache
def java_available() -> Availability:
    """Return whether the tests marked `java` can run.

    They need Java ≥ 17 with its compiler, and Apache Kafka's jars or Maven.
    """
    version = java_version()
    if version is None:
        return Availability("Java is not installed (apt-get install openjdk-17-jdk-headless maven)")
    if version < JAVA_VERSION_MIN:
        return Availability(
            f"Java {version} is too old (JDK {JAVA_VERSION_MIN} or later is needed)"
        )
    if java_home_bin("javac") is None:
        return Availability("javac is missing (a JDK is needed, not only a JRE)")
    if shutil.which("mvn") is None and not _jar_folder(JAVA_DIR / "pom.xml", RELEASE).is_dir():
        return Availability(
            "mvn is not installed (apt-get install maven: it fetches Apache Kafka's jars)"
        )
    return Availability(None)


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the lock file `.cache/<name>.lock` against other processes of the same project."""
    CACHE_DIR.mkdir(parents=True, exist_ok=True)
    with open(CACHE_DIR / f"{name}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def built_once(folder: Path, build: Callable[[Path], None]) -> Path:
    """Return `folder`, after `build(temporary folder)` made it if it is missing.

    Other processes never see it half made.
    """
    if folder.is_dir():
        return folder
    with exclusive(folder.parent.name):
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
            try:
                build(scratch)
                scratch.chmod(0o755)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _jar_folder(pom: Path, release: str = "") -> Path:
    return CACHE_DIR / "jars" / "-".join(part for part in (release, digest(pom)) if part)


def _copy_dependencies(pom: Path, release: str = "") -> Path:
    def build(scratch: Path) -> None:
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-Dkafka.version={release}"] if release else []
        command += [f"-DoutputDirectory={scratch}", "-DincludeScope=runtime"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S)
        if done.returncode != 0 or not any(scratch.glob("*.jar")):
            place = pom.relative_to(PROJECT_DIR)
            output = (done.stdout + done.stderr)[-2000:]
            raise RuntimeError(f"Maven could not fetch the jars of {place}\n{output}")

    return built_once(_jar_folder(pom, release), build)


def kafka_classpath(release: str = RELEASE) -> str:
    """Return the class path of Apache Kafka: broker, tools, clients. Fetch the jars once."""
    return f"{_copy_dependencies(JAVA_DIR / 'pom.xml', release)}/*"


def kafka_39_classpath() -> str:
    """Return the class path of Apache Kafka 3.9.1, the oldest that `ottla`'s commands support."""
    return f"{_copy_dependencies(JAVA_DIR / 'kafka39' / 'pom.xml')}/*"


def spark_jars() -> list[str]:
    """Return the jars of PySpark 4.0.0's Kafka connector, for `spark.jars`. Fetch them once."""
    pom = PROJECT_DIR / "pipeline" / "connector" / "pom.xml"
    return sorted(map(str, _copy_dependencies(pom).glob("*.jar")))


def program_classpath() -> str:
    """Return `kafka_classpath()` with our programs of `tests/java/src`, compiled if needed."""
    jars = kafka_classpath()
    sources = sorted((JAVA_DIR / "src").glob("*.java"))

    def build(scratch: Path) -> None:
        javac = java_home_bin("javac") or "javac"
        command = [javac, "--release", "17", "-proc:none", "-Xlint:all,-serial,-classfile"]
        command += ["-d", str(scratch), "-cp", jars, *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"javac failed:\n{done.stderr[-4000:]}")

    classes = CACHE_DIR / "classes" / f"{RELEASE}-{digest(JAVA_DIR / 'pom.xml', *sources)}"
    return f"{jars}:{built_once(classes, build)}"  # the class archive requires the jars first


def java_command(
    main_class: str, *args: str, classpath: str | None = None, jvm: tuple[str, ...] = FAST_START
) -> list[str]:
    """Return the command line that runs `main_class`; its log, from warnings on, goes to stderr."""
    logging = f"-Dlog4j2.configurationFile={JAVA_DIR / 'log4j2-tools.properties'}"
    path = kafka_classpath() if classpath is None else classpath
    return [java_home_bin() or "java", *jvm, logging, "-cp", path, main_class, *args]


def run_tool(
    tool: str,
    *args: str,
    input: str | None = None,
    timeout: float = 60,
    classpath: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one of `TOOLS` by script name, or any main class; return its exit code and output.

    Raises `subprocess.TimeoutExpired` after `timeout` seconds.
    """
    return subprocess.run(
        java_command(TOOLS.get(tool, tool), *args, classpath=classpath),
        input="" if input is None else input,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def run_program(name: str, *args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run `tests/java/src/<name>.java` with Kafka's jars."""
    return subprocess.run(
        java_command(name, *args, classpath=program_classpath()),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


if __name__ == "__main__":
    # python -m tests.tools.java_tools kafka-topics --bootstrap-server localhost:9092 --list
    _, name, *rest = sys.argv
    sys.exit(subprocess.call(java_command(TOOLS.get(name, name), *rest)))
