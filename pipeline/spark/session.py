"""The SparkSession of a job, on any master, with the connector and settings that the jobs rely on.

Under `spark-submit` the command line there decides about master and jars; otherwise the options
here do, and Spark runs inside this process' own JVM. Owns no data.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from pipeline.spark.jars import PACKAGE, jar_settings
from pipeline.spark.java import check_java

LOG_SETTINGS = str(Path(__file__).parents[1] / "connector" / "log4j2.properties")

# What the jobs need whatever the cluster: times are UTC in windows, folders and texts.
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
}
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

_LISTS = ("spark.jars.packages", "spark.sql.extensions")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that every job on Spark has."""
    group = parser.add_argument_group("Spark")
    group.add_argument(
        "--master", help="local[2] (the default), spark://HOST:7077, yarn, k8s://https://HOST:PORT"
    )
    group.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's own"
    )


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
    """The session of this process. PipelineError where Java or a setting is wrong."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        check_java()
    settings = settings_for(options.master, parsed(options.conf), submitted, needs)
    if settings.get("spark.driver.host") == "127.0.0.1":
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Else executors take the python3 of the PATH, where this environment's packages are not.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"ottla-{job}").config(map=dict(settings))
    return builder.getOrCreate()


def settings_for(
    master: str | None, chosen: dict[str, str], submitted: bool, needs: Needs = NOTHING_MORE
) -> dict[str, str]:
    """All settings, those of `chosen` last; who chooses `spark.jars` names all of them."""
    settings = {**_ALWAYS, **needs.settings}
    if not submitted:
        where = master or chosen.get("spark.master") or "local[2]"
        settings["spark.master"] = where
        if where.startswith("local"):
            settings.update(_LOCAL)
        settings.update(_jars(chosen, needs))
    elif master:
        raise PipelineError("under spark-submit give --master to spark-submit itself")
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
    """`KEY=VALUE` each; PipelineError for another form."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise PipelineError(f"--conf {pair}: KEY=VALUE is wanted")
        found[key] = value
    return found
