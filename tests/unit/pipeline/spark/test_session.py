"""The settings of a session: which master, which jars, who has the last word."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.spark.java import JARS_VARIABLE
from pipeline.spark.session import parsed, settings_for
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
    chosen = {"spark.driver.memory": "4g", "spark.jars.packages": "a:b:c"}
    settings = settings_for(None, chosen, submitted=False)
    assert settings["spark.driver.memory"] == "4g"
    assert "spark.jars" not in settings


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
