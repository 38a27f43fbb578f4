"""The job `load`: it is the job `table` with other values of some options."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for


def test_the_options_are_those_of_the_job_table_with_their_defaults() -> None:
    """The job `table` runs with them, so it has to find each of its options."""
    load = vars(parser_for("load").parse_args(["load"]))
    table = vars(parser_for("table").parse_args(["table", "--topic", "cdr"]))
    assert load.keys() == table.keys()
    others = {name for name, value in table.items() if load[name] != value}
    assert others == {"job", "to", "table", "merge_above"}
