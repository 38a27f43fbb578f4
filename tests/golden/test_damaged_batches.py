"""What the log's checks say to damaged batches, beside what Apache Kafka answered to them.

Each difference is on purpose and named here with its reason.
"""

from __future__ import annotations

import pytest

from storage.log.log_append_info import AppendOrigin
from storage.log.log_validator import AppendRefusal, validate
from storage.log_config import LogConfig
from tests.golden.damaged_batches import CASES, NOW_MS
from tests.golden.damaged_batches_answers import (
    KAFKA,
    KAFKAS_START,
    REFUSED_EARLIER,
    expected,
)


def test_every_case_has_kafkas_answer() -> None:
    assert list(CASES) == list(KAFKA)


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED_EARLIER])
def test_damaged_batch(name: str) -> None:
    _, records = CASES[name]
    assert records is not None
    writable = memoryview(bytearray(records))
    verdict = validate(writable, LogConfig(), AppendOrigin.CLIENT, NOW_MS, "damaged-0")
    assert (verdict.error.name if isinstance(verdict, AppendRefusal) else "NONE") == expected(name)
    names_start = not isinstance(verdict, AppendRefusal) or verdict.names_log_start
    assert names_start is (KAFKAS_START[name] == 0)
