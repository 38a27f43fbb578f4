"""The forms of dates and times.

`tests/compat/pipeline/columns/test_table_times.py` has what Spark makes of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark")


from pipeline.columns import times

DATE = ("2026-11-28", "0001-01-01", "9999-12-31")
LOCAL = (*DATE, "2026-11-28T12:30", "2026-11-28 12:30:00", "2026-11-28T12:30:00.123456000")
ZONED = ("2026-11-28T12:30Z", "2026-11-28 12:30:00.5+02", "2026-11-28T12:30:00-0230")
NO_FORM = (
    *("20261128", "2026-11", "2026", "0000-01-01", "10000-01-01", "-001-01-01", "2026-1-2", "now"),
    *("2026-11-28\n", " 2026-11-28", "2026-11-28T", "2026-11-28T12", "2026-11-28Z", "12:30", ""),
    *("2026-11-28t12:30", "2026-11-28T12:30.5", "2026-11-28T12:30:00.", "2026-11-28T12:30:00,5"),
    *("2026-11-28T12:30:00.1234567", "2026-11-28T12:30z", "2026-11-28T12:30 Z", "２０２６-11-28"),
    *("2026-11-28T12:30+2", "2026-11-28T12:30+02:0", "2026-11-28T12:30:00Z\r\n", "1764000000"),
)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        (times.DATE_FORM, DATE),
        (times.LOCAL_FORM, LOCAL),
        (times.TIMESTAMP_FORM, (*LOCAL, *ZONED)),
    ],
)
def test_a_form_takes_its_texts_alone(form: str, texts: tuple[str, ...]) -> None:
    tried = (*LOCAL, *ZONED, *NO_FORM)
    assert [text for text in tried if re.search(form, text)] == list(texts)


def test_the_first_and_the_last_second_are_those_of_the_years() -> None:
    assert datetime(1, 1, 1, tzinfo=UTC).timestamp() == times.FIRST_SECOND
    assert datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() == times.LAST_SECOND
