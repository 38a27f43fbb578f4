"""Where the jobs run: each place starts a broker and a Spark, and says how a job reaches both.

    cluster   a standalone cluster of two workers, the driver here (`--master`)
    connect   a server of Spark Connect (`--remote`)
    secured   Spark here, and a broker that wants TLS and SASL/SCRAM (`--command-config`)
    far       Spark here, and tables that are no folder of this machine to the jobs: a mount of
              Hadoop's `viewfs`, which they reach through Spark alone, as an object store

Everything listens on 127.0.0.1 and ends with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ottla.testing.broker_process import BrokerProcess
from pipeline.spark.jars import jar_settings
from pipeline.tables.table import FORMATS, wants
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import SASL_SSL, SHA_512, java_properties
from tests.compat.spark_cluster import SparkCluster
from tests.compat.spark_connect import ConnectServer

_SMALL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
_MOUNT = "spark.hadoop.fs.viewfs.mounttable.far.link./there"


@dataclass(frozen=True, slots=True)
class Place:
    """A running broker and Spark."""

    broker: tuple[str, ...]
    """What a job is told of the broker."""
    spark: tuple[str, ...]
    """What a job on Spark is told besides."""
    data: Path
    """The broker's data folder."""
    root: str
    """Where tables and checkpoints lie."""


@contextmanager
def cluster(folder: Path) -> Iterator[Place]:
    """See the module."""
    with BrokerProcess() as broker, SparkCluster(folder / "cluster") as spark:
        reach = ("--bootstrap-server", broker.bootstrap_servers)
        there = ("--master", spark.master, *_conf(_SMALL))
        yield Place(reach, there, broker.data_dir, str(folder))


@contextmanager
def connect(folder: Path) -> Iterator[Place]:
    """See the module."""
    packages, settings = wants(FORMATS, local=True)
    jars = jar_settings(packages)["spark.jars"].split(",")
    with BrokerProcess() as broker, ConnectServer(folder / "server", jars, settings) as server:
        reach = ("--bootstrap-server", broker.bootstrap_servers)
        yield Place(reach, ("--remote", server.remote), broker.data_dir, str(folder))


@contextmanager
def secured(folder: Path) -> Iterator[Place]:
    """See the module."""
    started: list[BrokerProcess] = []

    def start(properties: Mapping[str, str]) -> BrokerProcess:
        started.append(BrokerProcess(properties))
        return started[0].start()

    try:
        with closing(SecuredBroker(start, folder)) as running:
            way = running.way(SASL_SSL, SHA_512)
            reach = ("--command-config", str(java_properties(way, folder)))
            reach += ("--bootstrap-server", way.servers)
            yield Place(reach, (), started[0].data_dir, str(folder))
    finally:
        for one in started:
            one.close()


@contextmanager
def far(folder: Path) -> Iterator[Place]:
    """See the module."""
    with BrokerProcess() as broker:
        reach = ("--bootstrap-server", broker.bootstrap_servers)
        mount = _conf({_MOUNT: f"file://{folder}"})
        yield Place(reach, mount, broker.data_dir, "viewfs://far/there")


PLACES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "cluster": cluster,
    "connect": connect,
    "secured": secured,
    "far": far,
}


def _conf(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for pair in settings.items() for word in ("--conf", "=".join(pair)))
