"""The SparkSession of a job, on any master, with the connector and settings that the jobs rely on.

Under `spark-submit` the command line there decides about master and jars, with `--remote` the
server of Spark Connect; otherwise the options here do, and Spark's driver runs in a JVM of this
process' own. Owns no data.
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

# What the jobs need whatever the cluster: times are UTC in windows, folders and texts, and files
# have them in µs. Spark's own INT96 is another time to Arrow and pandas before 1677 and after 2262.
# A batch for an executor's Python is in memory as a whole: ten thousand records of 400 KB fill it.
# A limit in bytes is worse: Spark computes the size after each record, which takes it 50 µs.
_ALWAYS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "40",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
}
# Spark's own log on a cluster would hide the lines of the job.
_QUIET = f"-Dlog4j2.configurationFile={shlex.quote(LOG_SETTINGS)}"
# A laptop's: few partitions, no web server, and scratch files where TMPDIR says, as Python's. Java
# compiles quickly and well enough: its second compiler took as long as all the work of a job that
# lasts a minute. --conf has the last word.
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
    "spark.local.dir": tempfile.gettempdir(),
    # Each is files of state in every batch, and without native libraries Hadoop forks for each.
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# Of Hadoop 3.4.1, which is PySpark's.
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
    """The options that every job on Spark has."""
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
    """PipelineError where the Spark that the options name does not answer, or cannot be found.

    Spark itself tries for a minute, and says it with a trace of Java.
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
    """What a job wants of Spark beyond its Kafka source: a module's `needs(options)` says it."""

    packages: tuple[str, ...] = ()
    """Maven coordinates, `group:name:version`; fetched once, see `pipeline.spark.jars`."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the session: extensions, catalogs. `--conf` has the last word."""


NOTHING_MORE = Needs()


def make_session(
    job: str, options: argparse.Namespace, needs: Needs = NOTHING_MORE
) -> SparkSession:
    """The session of this process, after `check`. PipelineError where a setting is wrong."""
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
        # Else executors take the python3 of the PATH, where this environment's packages are not.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"ottla-{job}").config(map=dict(settings))
    if SparkSession.getActiveSession() is None:
        say("starting Spark")
    with busy(say, "starting Spark"):
        return builder.getOrCreate()


def store_packages(options: argparse.Namespace) -> tuple[str, ...]:
    """The packages for the object stores of which an option names a path. A cluster brings those
    that it has, and they are large: here alone are they fetched."""
    master = options.master or parsed(options.conf).get("spark.master") or "local"
    if not master.startswith("local"):
        return ()
    given = [one for one in vars(options).values() if isinstance(one, str)]
    named = (one for one in _STORES if any(path.startswith(one) for path in given))
    return tuple(_STORES[one] for one in named)


def is_remote(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, its Spark another process or machine."""
    return ".connect." in type(spark).__module__


def _connected(job: str, remote: str, chosen: Mapping[str, str], needs: Needs) -> SparkSession:
    """A session of a server, which brings its own jars, memory and extensions."""
    spark: Any = SparkSession.builder.remote(remote).appName(f"ottla-{job}").getOrCreate()
    for key, value in {**_ALWAYS, **needs.settings, **chosen}.items():
        try:
            spark.conf.set(key, value)
        except AnalysisException as error:
            there = (spark.conf.get(key, "") or "").split(",")
            if not set(value.split(",")) <= set(there):
                more = "".join(f" --packages {one}" for one in needs.packages)
                spark.stop()
                raise PipelineError(
                    f"{key} is decided when the server of Spark Connect starts: start it with"
                    f"{more} --conf {key}={value}"
                ) from error
    return cast(SparkSession, spark)


def _submitted() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _remote_of(options: argparse.Namespace) -> str | None:
    """The option, else what the environment of a managed Spark says."""
    if options.remote or options.master or _submitted():
        return cast("str | None", options.remote)
    found = os.environ.get("SPARK_REMOTE")
    # PySpark takes "local" for a server of its own, which is no use here.
    return found if found and found.startswith("sc://") else None


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
    """PipelineError where at none of the hosts of `scheme://host:port,host:port/…` is anybody."""
    hosts = re.sub(r"^\w+://", "", address).partition("/")[0].split(",")
    tried = []
    for one in hosts:
        host, _, number = one.rpartition(":") if one.rpartition(":")[2].isdigit() else (one, "", "")
        try:
            socket.create_connection((host.strip("[]"), int(number or port)), _ANSWER_S).close()
            return
        except OSError as error:
            tried.append(f"{one}: {error.strerror or error}")
    raise PipelineError(f"{option} {address}: no {what} answers ({'; '.join(tried)})")


def settings_for(
    master: str | None, chosen: dict[str, str], submitted: bool, needs: Needs = NOTHING_MORE
) -> dict[str, str]:
    """All settings, those of `chosen` last; who chooses `spark.jars` names all of them."""
    settings = {**_ALWAYS, **needs.settings}
    if not submitted:
        where = master or chosen.get("spark.master") or "local[2]"
        settings["spark.master"] = where
        settings["spark.driver.extraJavaOptions"] = _QUIET
        if where.startswith("local"):
            settings.update(_LOCAL)
        settings.update(_jars(chosen, needs))
    return _with(settings, chosen)


def _jars(chosen: Mapping[str, str], needs: Needs) -> dict[str, str]:
    if "spark.jars" in chosen:
        return {}
    if "spark.jars.packages" in chosen:
        return {"spark.jars.packages": ",".join((PACKAGE, *needs.packages))}
    return jar_settings(needs.packages)


def _with(settings: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """`chosen` has the last word; what it says of a list comes beside what is there."""
    found = {**settings, **chosen}
    for key in _LISTS:
        words = ",".join(one[key] for one in (settings, chosen) if one.get(key))
        if words:
            found[key] = ",".join(dict.fromkeys(words.split(",")))
    return found


def parsed(pairs: list[str]) -> dict[str, str]:
    """`KEY=VALUE` each."""
    return dict(one.partition("=")[::2] for one in pairs)
