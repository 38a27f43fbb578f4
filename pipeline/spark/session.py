"""The SparkSession of a job, on any master, with the connector and settings that the jobs need.

Under `spark-submit`, the command line of that program decides the master and the jars. With
`--remote`, the server of Spark Connect does. Otherwise the options here decide, and Spark's driver
runs in a JVM of this process. Owns no data.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from ottla.launcher import install_command
from pipeline.errors import PipelineError
from pipeline.options import pair
from pipeline.spark.jars import PACKAGE, jar_settings
from pipeline.spark.java import check_java
from pipeline.spark.waiting import busy, teller

LOG_SETTINGS = str(Path(__file__).parents[1] / "connector" / "log4j2.properties")

# The jobs need these on each cluster. Times are UTC in windows, folders and texts, and in µs in
# files: Arrow and pandas misread Spark's own INT96 before 1677 and after 2262. A batch for an
# executor's Python is bounded, because ten thousand large records fill the memory: by records, as
# Spark computes the size in bytes after each record, which takes 50 µs of CPU.
_ALWAYS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "40",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
}
# On a cluster, Spark's own log would hide the lines of the job.
_QUIET = f"-Dlog4j2.configurationFile={shlex.quote(LOG_SETTINGS)}"
# Settings for a laptop: few partitions, no web server, and scratch files in TMPDIR, as Python's.
# Java uses its first compiler alone, because the second took as long as all the work of a job of a
# minute. --conf overrides these settings.
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": shlex.join(
        (
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j2.configurationFile={LOG_SETTINGS}",
            f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        )
    ),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # A task without memory fails with an error that the job explains; else Spark would end its JVM.
    "spark.executor.killOnFatalError.depth": "0",
    # The records that a task has polled and not used stay for this time.
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.local.dir": tempfile.gettempdir(),
    # Each partition writes state files in every batch, and without native libraries Hadoop forks
    # a process for each file.
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# Buffers of records for an executor's Python are outside of Java's heap, whose size is the default
# of their limit. Each has several copies: 40 records of 1 MB take some 800 MB for two tasks.
_BUFFERS_OF_DEFAULT_MEMORY = "-XX:MaxDirectMemorySize=2g"

# The version is that of PySpark's Hadoop.
_STORES = {"s3a://": "org.apache.hadoop:hadoop-aws:3.4.1"}
_SC_PORT, _MASTER_PORT, _HTTPS_PORT = 15002, 7077, 443
_ANSWER_S = 5.0
_MASTER = re.compile(
    r"yarn|local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\])?|local-cluster\[\d+,\d+,\d+\]|"
    r"(?!sc:|http)[a-z0-9]+://[^\s/].*"
)
_REMOTE = re.compile(r"sc://[^\s:/]+(:\d{1,5})?(/.*)?")
_LISTS = ("spark.jars.packages", "spark.sql.extensions")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every job on Spark."""
    group = parser.add_argument_group("Spark")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--master",
        type=_master,
        metavar="MASTER",
        help="Run on this Spark: local[2], spark://HOST:7077, yarn or k8s://https://HOST:PORT. "
        "[default: local[2]]",
    )
    where.add_argument(
        "--remote",
        type=_remote,
        metavar="sc://HOST:PORT",
        help="Run the job on this server of Spark Connect. [default: SPARK_REMOTE, if it is set]",
    )
    group.add_argument(
        "--conf",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="Set this key of Spark's own configuration; may be repeated.",
    )


def check(options: argparse.Namespace) -> None:
    """Raise PipelineError if the Spark of the options does not answer, or cannot be found.

    Spark itself tries for a minute, and then reports the failure with a trace of Java.
    """
    remote, master = _remote_of(options), options.master or parsed(options.conf).get("spark.master")
    if _submitted():
        if options.master or options.remote:
            raise PipelineError("under spark-submit give --master to spark-submit itself")
        return
    if remote is not None:
        _check_connect_installed()
        _check_answers("server of Spark Connect", "--remote", remote, _SC_PORT)
        return
    check_java()
    if master is None:
        return
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & os.environ.keys():
        raise PipelineError("--master yarn: set HADOOP_CONF_DIR to the folder of the cluster's own")
    if master.startswith("spark://"):
        _check_answers("master of Spark", "--master", master, _MASTER_PORT)
    elif master.startswith("k8s://"):
        _check_answers("Kubernetes", "--master", master.removeprefix("k8s://"), _HTTPS_PORT)


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements of a job beyond Spark's Kafka source, which a module's `needs(options)`
    returns."""

    packages: tuple[str, ...] = ()
    """The Maven coordinates of packages, `group:name:version`; `pipeline.spark.jars` fetches them
    once."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of the session, such as extensions and catalogs. `--conf` overrides them."""


NOTHING_MORE = Needs()


def make_session(
    job: str, options: argparse.Namespace, needs: Needs = NOTHING_MORE
) -> SparkSession:
    """Return the session of this process. Call `check` before. Raises PipelineError for a wrong
    setting."""
    remote = _remote_of(options)
    say = teller(job)
    if remote is not None:
        say(f"opening a session at {remote.partition(';')[0]}")
        with busy(say, "waiting for Spark Connect"):
            return _connected(job, remote, parsed(options.conf), needs)
    submitted = _submitted()
    needs = replace(needs, packages=(*needs.packages, *store_packages(options)))
    settings = settings_for(options.master, parsed(options.conf), submitted, needs)
    if settings.get("spark.driver.host") == "127.0.0.1":
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Otherwise executors use the python3 of the PATH, which lacks this environment's packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"ottla-{job}").config(map=dict(settings))
    if SparkSession.getActiveSession() is None:
        say("starting Spark")
    with busy(say, "starting Spark"):
        return builder.getOrCreate()


def store_packages(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the packages for the object stores in the paths of the options. A cluster has its own,
    and they are large, so they are fetched only for a local master."""
    master = options.master or parsed(options.conf).get("spark.master") or "local"
    if not master.startswith("local"):
        return ()
    given = [value for value in vars(options).values() if isinstance(value, str)]
    named = (scheme for scheme in _STORES if any(path.startswith(scheme) for path in given))
    return tuple(_STORES[scheme] for scheme in named)


def is_remote(spark: SparkSession) -> bool:
    """Return whether the session is one of Spark Connect, so that Spark runs in another process or
    on another machine."""
    return ".connect." in type(spark).__module__


def _connected(job: str, remote: str, chosen: Mapping[str, str], needs: Needs) -> SparkSession:
    """Return a session of a server, which has its own jars, memory and extensions. Raises
    PipelineError if a setting can be changed only at the server's start."""
    spark: Any = SparkSession.builder.remote(remote).appName(f"ottla-{job}").getOrCreate()
    for key, value in {**_ALWAYS, **needs.settings, **chosen}.items():
        try:
            spark.conf.set(key, value)
        except AnalysisException as error:
            there = (spark.conf.get(key, "") or "").split(",")
            if not set(value.split(",")) <= set(there):
                more = "".join(f" --packages {package}" for package in needs.packages)
                spark.stop()
                raise PipelineError(
                    f"{key} is decided when the server of Spark Connect starts: start it with"
                    f"{more} --conf {key}={value}"
                ) from error
    return cast(SparkSession, spark)


def _submitted() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _remote_of(options: argparse.Namespace) -> str | None:
    """Return the address of a server of Spark Connect from the option, else from the environment of
    a managed Spark; None without both, or if `--master` or spark-submit decides."""
    if options.remote or options.master or _submitted():
        return cast("str | None", options.remote)
    remote = os.environ.get("SPARK_REMOTE")
    # For "local", PySpark starts a server of its own, which a job cannot use.
    return remote if remote and remote.startswith("sc://") else None


def _master(text: str) -> str:
    if not _MASTER.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT is wanted"
        )
    return text


def _remote(text: str) -> str:
    if not _REMOTE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: sc://HOST:PORT is wanted")
    return text


def _check_connect_installed() -> None:
    missing = [name for name in ("pandas", "pyarrow", "grpc", "grpc_status") if not _there(name)]
    if missing:
        command = install_command("pyspark[connect]==4.0.0")
        raise PipelineError(f"--remote needs {missing[0]}: {command}")


def _there(module: str) -> bool:
    return find_spec(module) is not None


def _check_answers(what: str, option: str, address: str, port: int) -> None:
    """Raise PipelineError if nothing answers at any of the hosts of
    `scheme://host:port,host:port/…`."""
    hosts = re.sub(r"^\w+://", "", address).partition("/")[0].split(",")
    tried = []
    for place in hosts:
        host, _, number = (
            place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "")
        )
        try:
            socket.create_connection((host.strip("[]"), int(number or port)), _ANSWER_S).close()
            return
        except OSError as error:
            tried.append(f"{place}: {error.strerror or error}")
    raise PipelineError(f"{option} {address}: no {what} answers ({'; '.join(tried)})")


def settings_for(
    master: str | None, chosen: dict[str, str], submitted: bool, needs: Needs = NOTHING_MORE
) -> dict[str, str]:
    """Return all settings of a session; those of `chosen` override the others. If `chosen` has
    `spark.jars`, they are all jars."""
    settings = {**_ALWAYS, **needs.settings}
    if not submitted:
        where = master or chosen.get("spark.master") or "local[2]"
        settings["spark.master"] = where
        settings["spark.driver.extraJavaOptions"] = _QUIET
        if where.startswith("local"):
            settings.update(_LOCAL)
            if "spark.driver.memory" not in chosen:
                settings["spark.driver.extraJavaOptions"] += f" {_BUFFERS_OF_DEFAULT_MEMORY}"
        settings.update(_jars(chosen, needs))
    return _with(settings, chosen)


def _jars(chosen: Mapping[str, str], needs: Needs) -> dict[str, str]:
    if "spark.jars" in chosen:
        return {}
    if "spark.jars.packages" in chosen:
        return {"spark.jars.packages": ",".join((PACKAGE, *needs.packages))}
    return jar_settings(needs.packages)


def _with(settings: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with those of `chosen`, which override the others but are added to
    lists."""
    merged = {**settings, **chosen}
    for key in _LISTS:
        words = ",".join(source[key] for source in (settings, chosen) if source.get(key))
        if words:
            merged[key] = ",".join(dict.fromkeys(words.split(",")))
    return merged


def parsed(pairs: list[str]) -> dict[str, str]:
    """Return the pairs of texts such as `KEY=VALUE`."""
    return dict(text.partition("=")[::2] for text in pairs)
