"""The settings of a session: which master, which jars, who has the last word."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.spark.jars import JARS_VARIABLE, PACKAGE
from pipeline.spark.session import Needs, parsed, settings_for
from tests.unit.pipeline.small_frames import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JARS_VARIABLE, "/kafka.jar")


def test_a_laptop_without_options() -> None:
    settings = settings_for(None, {}, submitted=False)
    assert settings["spark.master"] == "local[2]"
    assert settings["spark.jars"] == "/kafka.jar"
    assert settings["spark.ui.enabled"] == "false"
    assert "-XX:TieredStopAtLevel=1" in settings["spark.driver.extraJavaOptions"].split()


def test_a_cluster_keeps_its_own_settings() -> None:
    settings = settings_for("spark://host:7077", {}, submitted=False)
    assert settings["spark.master"] == "spark://host:7077"
    assert "spark.driver.host" not in settings


def test_what_is_chosen_wins() -> None:
    settings = settings_for(None, {"spark.driver.memory": "4g", "spark.jars": "/my.jar"}, False)
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


def test_spark_submit_decides_about_master_and_jars() -> None:
    settings = settings_for(None, {}, submitted=True)
    assert "spark.master" not in settings and "spark.jars" not in settings
    assert settings["spark.sql.session.timeZone"] == "UTC"
    with pytest.raises(PipelineError, match="to spark-submit itself"):
        settings_for("yarn", {}, submitted=True)


def test_a_setting_is_a_pair() -> None:
    assert parsed(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    with pytest.raises(PipelineError, match="KEY=VALUE is wanted"):
        parsed(["spark.x"])


@on_spark
def test_executors_use_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
