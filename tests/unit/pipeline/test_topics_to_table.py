"""What is said of a query; its rows and the program are in tests/compat."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")


def test_each_batch_with_records_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from pipeline.topics_to_table import follow

    seen = [None, (0, 7), (0, 7), (1, 0), (2, 1_200)]

    class Query:
        def awaitTermination(self, timeout: int) -> bool:
            one = seen.pop(0)
            self.lastProgress = one and SimpleNamespace(batchId=one[0], numInputRows=one[1])
            return not seen

    follow(Query(), "/t")  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines() == [
        "batch 0: 7 records into /t",
        "batch 2: 1,200 records into /t",
    ]
