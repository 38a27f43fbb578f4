"""The writer goes to a Python that has no `pipeline`.

That a batch goes to both places, `tests/compat/spark/test_pipeline.py` shows.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

from tests.tools.java_tools import PROJECT_DIR


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
