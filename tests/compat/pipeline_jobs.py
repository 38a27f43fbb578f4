"""The jobs of the pipeline as the command runs them, in a Spark session that is there already."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jobs(spark: SparkSession, servers: str, settings: str, folder: Path) -> Callable[..., int]:
    """`job("load", "--topic", "t")` with these settings, as Kafka's tools take them."""
    from pipeline.command import parser_for

    file = folder / "client.properties"
    file.write_text(settings)
    spark.conf.set("spark.sql.session.timeZone", "UTC")

    def run(name: str, *arguments: str) -> int:
        reach = ("--bootstrap-server", servers, "--command-config", str(file))
        options = parser_for(name).parse_args([name, *reach, *arguments])
        module = import_module(f"pipeline.jobs.{name}")
        if name == "generate":
            return int(module.run(options))
        module.check(options)
        return int(module.run(spark, options))

    return run
