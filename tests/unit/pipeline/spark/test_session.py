"""The settings of a session: which master, which jars, who has the last word."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException

from pipeline.errors import PipelineError
from pipeline.spark import session
from pipeline.spark.jars import JARS_VARIABLE, PACKAGE
from pipeline.spark.session import Needs, parsed, settings_for


@pytest.fixture(autouse=True)
def jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JARS_VARIABLE, "/kafka.jar")


def test_a_laptop_without_options() -> None:
    settings = settings_for(None, {}, submitted=False)
    assert settings["spark.master"] == "local[2]"
    assert settings["spark.jars"] == "/kafka.jar"
    assert settings["spark.ui.enabled"] == "false"
    java = settings["spark.driver.extraJavaOptions"].split()
    assert {"-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=2g"} <= set(java)


def test_a_cluster_keeps_its_own_settings() -> None:
    settings = settings_for("spark://host:7077", {}, submitted=False)
    assert settings["spark.master"] == "spark://host:7077"
    assert "spark.driver.host" not in settings


def test_what_is_chosen_wins() -> None:
    settings = settings_for(None, {"spark.driver.memory": "4g", "spark.jars": "/my.jar"}, False)
    assert "MaxDirectMemorySize" not in settings["spark.driver.extraJavaOptions"]
    assert settings["spark.driver.memory"] == "4g"
    assert settings["spark.jars"] == "/my.jar"


def test_what_a_job_needs_comes_beside_what_is_chosen() -> None:
    needs = Needs(("d:d:1",), {"spark.sql.extensions": "D", "spark.sql.catalog.c": "C"})
    chosen = {"spark.sql.extensions": "X,D", "spark.jars.packages": "a:b:c"}
    settings = settings_for(None, chosen, False, needs)
    assert settings["spark.sql.extensions"] == "D,X"
    assert settings["spark.sql.catalog.c"] == "C"
    assert settings["spark.jars.packages"] == f"{PACKAGE},d:d:1,a:b:c"
    assert "spark.jars" not in settings
    settings = settings_for(None, {"spark.sql.catalog.c": "mine"}, True, needs)
    assert settings["spark.sql.catalog.c"] == "mine"
    assert "spark.jars.packages" not in settings


def test_jars_of_an_object_store_come_with_a_path_in_it() -> None:
    def wanted(table: str, master: str | None = None, *conf: str) -> tuple[str, ...]:
        options = argparse.Namespace(table=table, master=master, conf=list(conf), every=1.0)
        return session.store_packages(options)

    assert wanted("s3a://bucket/t") == ("org.apache.hadoop:hadoop-aws:3.4.1",)
    assert wanted("/t") == () == wanted("s3a://bucket/t", "spark://host:7077")
    assert wanted("s3a://bucket/t", None, "spark.master=yarn") == ()


def test_spark_submit_decides_about_master_and_jars() -> None:
    settings = settings_for(None, {}, submitted=True)
    assert "spark.master" not in settings and "spark.jars" not in settings
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"


def test_a_setting_is_a_pair() -> None:
    assert parsed(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


class Server:
    """A server of Spark Connect, where one setting cannot be changed."""

    def __init__(self, extensions: str) -> None:
        self.settings = {"spark.sql.extensions": extensions}
        self.conf = self
        self.builder = self
        self.stopped = False

    def remote(self, _: str) -> Server:
        return self

    appName = remote

    def getOrCreate(self) -> Server:
        return self

    def set(self, key: str, value: str) -> None:
        if key == "spark.sql.extensions":
            raise AnalysisException("[CANNOT_MODIFY_CONFIG] …")
        self.settings[key] = value

    def get(self, key: str, default: str) -> str:
        return self.settings.get(key, default)

    def stop(self) -> None:
        self.stopped = True


def test_a_server_of_spark_connect_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    options = argparse.Namespace(remote="sc://h:1", master=None, conf=["spark.sql.x=1"])
    needs = Needs(("d:d:1",), {"spark.sql.extensions": "D"})
    server = Server("X,D")
    monkeypatch.setattr(session, "SparkSession", server)
    made: Any = session.make_session("table", options, needs)
    assert made is server and server.settings["spark.sql.x"] == "1"
    assert server.settings["spark.sql.session.timeZone"] == "UTC" and not session.is_remote(made)
    lacking = Server("X")
    monkeypatch.setattr(session, "SparkSession", lacking)
    wanted = "start it with --packages d:d:1 --conf spark.sql.extensions=D$"
    with pytest.raises(PipelineError, match=wanted):
        session.make_session("table", options, needs)
    assert lacking.stopped
