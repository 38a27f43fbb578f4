"""The table of docs/pipeline.md, line by line; bounds and roundings of numbers."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.json.converters import decimal_of, is_exact, nearest_float
from pipeline.columns.json.record_reader import RecordReader
from pipeline.columns.schema_text import parse_schema

PAGE = Path(__file__).parents[5] / "docs" / "pipeline.md"


def rows_of_the_page() -> list[tuple[str, list[str], list[str]]]:
    """Return type, examples that fit and examples that do not, of each line of the table."""
    lines = PAGE.read_text("utf-8").splitlines()
    start = lines.index("| type | JSON that fits | what it becomes | examples | do not fit |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        kinds, *_, fit, others = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        for kind in re.findall("`([^`]+)`", kinds):
            rows.append((kind, *(re.findall("`([^`]+)`", cell) for cell in (fit, others))))
    return rows


@pytest.mark.parametrize(("kind", "fit", "others"), rows_of_the_page())
def test_the_examples_of_the_page(kind: str, fit: list[str], others: list[str]) -> None:
    reader = RecordReader(parse_schema("x", f"f {kind}"), "ignore", "value")
    for raw in (*fit, "null"):
        read = reader.read(f'{{"f":{raw}}}'.encode())
        assert read.reason is None and (read.values == (None,)) == (raw == "null"), (kind, raw)
    for raw in others:
        read = reader.read(f'{{"f":{raw}}}'.encode())
        assert read.values is None and read.reason and read.reason.startswith("field f"), raw
    assert fit and (others or kind == "STRING")


def test_the_page_has_each_type() -> None:
    kinds = {re.sub("[(<].*", "", kind) for kind, *_ in rows_of_the_page()}
    assert kinds == {
        *("BOOLEAN", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING"),
        *("BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRUCT", "ARRAY", "MAP"),
    }


@pytest.mark.parametrize(
    ("whole", "exact"),
    [
        *(("0", True), ("-9007199254740992", True), ("9007199254740993", False)),
        *(("9007199254740994", True), (str(2**63), True), (str(2**63 - 1), False)),
        *((str(2**256), True), (str(2**256 - 1), False), ("1" + "0" * 22, True)),
        *(("1" + "0" * 23, False), (str(2**1023), True), (str(2**1024), False), ("9" * 999, False)),
    ],
)
def test_whole_numbers_that_a_double_holds(whole: str, exact: bool) -> None:
    assert is_exact(whole) is exact


@pytest.mark.parametrize(
    ("number", "nearest"),
    [
        *(("0.1", 0.10000000149011612), ("-0.0", -0.0), ("16777217.0", 16777216.0)),
        # A little above the middle of 1 and the next FLOAT: as a DOUBLE it is the middle.
        ("1.000000059604644775390625000001", 1.0000001192092896),
        ("1.000000059604644775390625", 1.0),
        ("1.000000178813934326171874999999", 1.0000001192092896),
        ("340282356779733661637539395458142568448.0", math.inf),
        ("340282356779733661637539395458142568447.99", 3.4028234663852886e38),
        *(("-1e39", -math.inf), ("1e400", math.inf), ("1e-45", 1.401298464324817e-45)),
        *(("7.006492321624085e-46", 0.0), ("7.0064923216240854e-46", 1.401298464324817e-45)),
        ("1e-999999999999", 0.0),
    ],
)
def test_the_nearest_float(number: str, nearest: float) -> None:
    assert repr(nearest_float(number)) == repr(nearest)


@pytest.mark.parametrize(
    ("number", "kind", "decimal"),
    [
        *(("12.34", (10, 2), "12.34"), ("12.345", (10, 2), None), ("12.340", (10, 2), "12.34")),
        *(("1e2", (5, 2), "100.00"), ("1e3", (5, 2), None), ("123456E-2", (6, 2), "1234.56")),
        *(("-0.00", (1, 0), "0"), ("0e99999999999", (1, 0), "0"), ("1e99999999999", (38, 0), None)),
        *(("1e-99999999999", (38, 38), None), ("0.00001", (5, 5), "0.00001"), ("1", (5, 5), None)),
        (f"{10**38 - 1}", (38, 0), f"{10**38 - 1}"),
        *((f"{10**38}", (38, 0), None), (f"-{10**38 - 1}.0e0", (38, 0), f"-{10**38 - 1}")),
    ],
)
def test_decimals_are_exact_or_none(
    number: str, kind: tuple[int, int], decimal: str | None
) -> None:
    value: Any = decimal_of(number, *kind)
    assert value == (None if decimal is None else Decimal(decimal))
    assert value is None or -value.as_tuple().exponent == kind[1]
