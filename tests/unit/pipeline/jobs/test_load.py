"""What `load` leaves to `table`, and with which options."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for
from pipeline.jobs import load


def test_every_option_of_table_has_its_value() -> None:
    of_load = vars(parser_for("load").parse_args(["load"]))
    of_table = vars(parser_for("table").parse_args(["table", "--topic", "cdr"]))
    assert set(of_table) <= set(of_load)
    assert (of_load["to"], of_load["table"], of_load["merge_above"]) == (
        "parquet",
        "pipeline-data/events",
        0,
    )


def test_it_takes_what_is_wrong_before_spark_starts() -> None:
    options = parser_for("load").parse_args(["load", "--batch-max", "0"])
    with pytest.raises(load.table.PipelineError, match="--batch-max 0: at least 1 is wanted"):
        load.check(options)
