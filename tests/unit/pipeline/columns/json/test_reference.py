"""Random JSON texts of each type beside a reference: no value changes, none is null in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyarrow as pa

from pipeline.columns.json.batches import ReadRecords
from pipeline.columns.schema_text import parse_schema
from tests.unit.pipeline.columns.json import time_cases
from tests.unit.pipeline.columns.json.json_reference import REFUSED, TYPES, meant, random_texts

SEED, TEXTS = 60, 1_500
# Where a value stands: what is put around its JSON, its name in a reason, and how it is found.
PLACES: tuple[tuple[str, str, Callable[[dict[str, Any]], Any]], ...] = (
    ('{"t":%s}', "t", lambda row: row["t"]),
    ('{"s":{"t": %s,"u":1}}', "s.t", lambda row: row["s"]["t"]),
    ('{"l":[null,%s ]}', "l[]", lambda row: row["l"][1]),
    ('{"m":{"k":%s}}', "m[]", lambda row: dict(row["m"])["k"]),
    ('{"o":[null,{"t":null},{"t" :%s}]}', "o[].t", lambda row: row["o"][2]["t"]),
)
FIELDS = (
    "t {0}, s STRUCT<t: {0}, u: INT>, l ARRAY<{0}>, m MAP<STRING, {0}>, o ARRAY<STRUCT<t: {0}>>"
)


def read(schema: str, values: list[str]) -> list[dict[str, Any]]:
    """Return what each value becomes, as Arrow has it."""
    batch = pa.RecordBatch.from_pydict({"value": [value.encode() for value in values]})
    reader = ReadRecords(parse_schema("x", schema), "ignore", "value", "read")
    (done,) = reader([batch])
    read: list[dict[str, Any]] = done.column("read").to_pylist()
    return read


def is_same(value: Any, wanted: Any) -> bool:
    """Return whether both are equal, of one type, and of one sign if they are 0."""
    return bool(type(value) is type(wanted) and value == wanted and f"{value}" == f"{wanted}")


@pytest.mark.parametrize("kind", TYPES)
def test_a_text_is_the_value_that_it_means_or_a_misfit(kind: str) -> None:
    fitting = check(kind, random_texts(kind, TEXTS, SEED))
    assert fitting > TEXTS // 20, "both sides are tried"
    assert kind == "STRING" or TEXTS - fitting > TEXTS // 4


@pytest.mark.parametrize("kind", TYPES)
def test_times_that_were_written_by_hand(kind: str) -> None:
    numbers = [raw for raw in time_cases.NUMBERS if "N" not in raw and "Inf" not in raw]
    check(kind, [*map(json.dumps, time_cases.TEXTS), *numbers])


def check(kind: str, raws: list[str]) -> int:
    """Compare the reader with the reference, and return how many texts fit."""
    cases = [(raw, PLACES[n // 2 % len(PLACES)]) for n, raw in enumerate(raws)]
    became = read(FIELDS.format(kind), [around % raw for raw, (around, _, _) in cases])
    wrong, fitting = [], 0
    for (raw, (_, name, value_in)), row in zip(cases, became, strict=True):
        wanted = meant(raw, kind)
        if wanted is REFUSED:
            if row["fields"] is not None or not row["reason"].startswith(f"field {name} is "):
                wrong.append((raw, name, "refused", row["reason"] or value_in(row["fields"])))
        elif row["reason"] is not None or not is_same(value_in(row["fields"]), wanted):
            wrong.append((raw, name, wanted, row["reason"] or value_in(row["fields"])))
        fitting += wanted is not REFUSED and wanted is not None
    assert wrong == []
    return fitting
