"""What a person asks for, and the columns that it makes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def given(*words: str) -> argparse.Namespace:
    from pipeline.columns import options

    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    found = parser.parse_args(words)
    options.check(found)
    return found


def no_sample() -> DataFrame:
    raise AssertionError("no sample is wanted")


def test_bytes_and_text() -> None:
    from pipeline.columns.options import columns_of

    for words, kind in (
        ((), "binary"),
        (("--value-format", "text", "--key-format", "text"), "string"),
    ):
        schema = columns_of(given(*words), None, no_sample).schema
        assert {schema[name].dataType.simpleString() for name in ("key", "value")} == {kind}
