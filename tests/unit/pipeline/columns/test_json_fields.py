"""What goes to Spark's executors works in a Python without this package."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark import cloudpickle

from pipeline.columns import json_fields
from pipeline.columns.json.batches import ReadRecords, SeeFields
from pipeline.columns.schema_text import parse_schema

EXECUTOR = """
import pickle, sys
sys.modules.update({"pipeline": None, "ottla": None})
import pyarrow
read, see = pickle.loads(sys.stdin.buffer.read())
good = b'{"id":1,"s":{"a": [1.50]},"t":"2026-11-28T12:30:00Z","p":1,"f":0.1,"b":"aGk=","new":1}'
batch = pyarrow.RecordBatch.from_pydict({"value": [good, b'{"id":1.5}', b'{"t":"0001-01-01"}']})
for row in next(iter(read([batch]))).column("read").to_pylist():
    print(row["reason"], row["new"], row["fields"] and row["fields"]["s"])
print(next(iter(see([batch]))).to_pylist()[0]["records"])
"""


def test_an_executor_needs_no_package() -> None:
    json_fields._send_reader()
    schema = parse_schema(
        "x", "id INT, s STRUCT<a: STRING>, t TIMESTAMP, p DECIMAL(5,2), f FLOAT, b BINARY, d DATE"
    )
    calls = (ReadRecords(schema, "add", "value", "read"), SeeFields(10, None))
    done = subprocess.run(
        [sys.executable, "-c", EXECUTOR],
        input=cloudpickle.dumps(calls),  # type: ignore[no-untyped-call]
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode().splitlines() == [
        "None ['new'] {'a': '[1.50]'}",
        "field id is DECIMAL(2,1), not INT: 1.5 None None",
        "None [] None",
        "3",
    ], done.stderr.decode()[-600:]
