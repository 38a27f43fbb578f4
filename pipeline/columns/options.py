"""The options that say how values and keys become columns, and the `Columns` that they ask for.

All that can be wrong with them is found before Spark starts. Writes nothing: whoever owns the table
keeps `Columns.to_text()` beside it and gives it back at the next run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from pyspark.sql import DataFrame

from pipeline.columns.columns import Columns
from pipeline.columns.plain import Raw, Text

VALUE_FORMATS = ("raw", "text")
KEY_FORMATS = ("raw", "text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How the records' values and keys are read."""
    group = parser.add_argument_group("the columns")
    group.add_argument(
        "--value-format",
        choices=VALUE_FORMATS,
        default="raw",
        help="raw: bytes as they are; text: UTF-8",
    )
    group.add_argument("--key-format", choices=KEY_FORMATS, default="raw", help="of the column key")


def check(options: argparse.Namespace) -> None:
    """Before Spark starts or anything is written; PipelineError for what cannot be."""


def columns_of(
    options: argparse.Namespace, kept: str | None, sample: Callable[[], DataFrame]
) -> Columns:
    """As the options ask for, in agreement with what the table has kept.

    `kept` is the text that `Columns.to_text` gave when the table was last written, None for a new
    one. `sample` gives some records of the topic; it is called only where a schema is to be found
    in them. PipelineError where the kept columns and the options do not agree.
    """
    value = Raw() if options.value_format == "raw" else Text()
    key = Raw("key") if options.key_format == "raw" else Text("key")
    return Columns(value, key)
