"""What `load` leaves to `table`, and with which options."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for


def test_every_option_of_table_has_its_value() -> None:
    of_load = vars(parser_for("load").parse_args(["load"]))
    of_table = vars(parser_for("table").parse_args(["table", "--topic", "cdr"]))
    assert set(of_table) <= set(of_load)
    assert (of_load["to"], of_load["table"], of_load["merge_above"]) == (
        "parquet",
        str(Path("pipeline-data/events").absolute()),
        0,
    )
