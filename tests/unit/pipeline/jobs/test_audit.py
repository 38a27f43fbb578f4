"""The small decisions of the audit: which formats its tables have."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for
from pipeline.jobs import audit


def test_a_tables_format_is_seen_or_said(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    options = parser_for("audit").parse_args(["audit", "--table", str(tmp_path)])
    assert audit.table_form(options) == "delta"
    assert audit.needs(options).packages == ("io.delta:delta-spark_2.13:4.0.0",)
    options = parser_for("audit").parse_args(["audit", "--table", "s3a://bucket/t"])
    assert audit.table_form(options) == "parquet" and audit.needs(options).packages == ()
    far = ["audit", "--table", "s3a://bucket/t", "--table-format", "iceberg"]
    assert audit.table_form(parser_for("audit").parse_args(far)) == "iceberg"


def test_an_audit_of_topics_wants_nothing_more_of_spark() -> None:
    options = parser_for("audit").parse_args(["audit", "--topic", "t"])
    assert audit.needs(options).packages == ()
