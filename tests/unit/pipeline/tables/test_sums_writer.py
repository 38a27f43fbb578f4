"""One batch goes to both places, and the writer to a Python that has no `pipeline`."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.tables import aggregates
from pipeline.tables.sums_writer import SumsWriter
from tests.tools.java_tools import PROJECT_DIR

WRITER = SumsWriter("s3a://b/sums", "sums", {"kafka.bootstrap.servers": "k:1"})


class Rows:
    """A frame that remembers what was asked of it."""

    def __init__(self, empty: bool) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.sparkSession = "its session"
        self._empty = empty

    @property
    def write(self) -> Rows:
        return self

    def isEmpty(self) -> bool:
        return self._empty

    def options(self, **given: str) -> Rows:
        self.calls.append(("options", given))
        return self

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.calls.append((name, *given)) or self


@pytest.mark.parametrize("empty", [False, True])
def test_a_batch_goes_to_both_places(monkeypatch: pytest.MonkeyPatch, empty: bool) -> None:
    tables: list[Any] = []

    class Table:
        def __init__(self, *given: Any) -> None:
            self._given = given

        def write(self, rows: Any, batch: int) -> None:
            tables.append((*self._given, batch))

    monkeypatch.setattr(aggregates, "AggregateTable", Table)
    monkeypatch.setattr(aggregates, "as_records", lambda rows: rows)
    rows: Any = Rows(empty)
    WRITER(rows, 4)
    assert rows.calls[0] == ("persist",) and rows.calls[-1] == ("unpersist",)
    assert tables == ([] if empty else [("its session", "s3a://b/sums", 4)])
    sink = [("format", "kafka"), ("options", WRITER.sink), ("option", "topic", "sums"), ("save",)]
    assert rows.calls[1:-1] == ([] if empty else sink)


def test_it_goes_by_value() -> None:
    code = (
        "import sys, pickle; sys.modules['pipeline'] = None; "
        "print(pickle.loads(sys.stdin.buffer.read()))"
    )
    # Pickled by a process of its own: what is by value stays so in the process that says it.
    given = (
        "import sys, pipeline; from pyspark import cloudpickle; "
        "from pipeline.tables.sums_writer import SumsWriter; "
        "cloudpickle.register_pickle_by_value(pipeline); "
        "sys.stdout.buffer.write(cloudpickle.dumps(SumsWriter('t', 'r', {})))"
    )
    python = [sys.executable, "-P", "-c"]
    path = {**os.environ, "PYTHONPATH": str(PROJECT_DIR)}
    pickled = subprocess.run(
        [*python, given], env=path, capture_output=True, check=True, timeout=100
    )
    loaded = subprocess.run([*python, code], input=pickled.stdout, capture_output=True, timeout=100)
    assert loaded.stdout.startswith(b"SumsWriter(table='t'"), loaded.stderr.decode()
