"""The texts of dates and times that fit, each of them alone.

`test_reference.py` has what they become.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.json import time_texts
from pipeline.columns.json.time_texts import NotThisTime, days_of, local_us_of, us_of

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


def fits(parse: Callable[[str], int | None], text: str) -> bool:
    try:
        return parse(text) is not None
    except NotThisTime:
        return False


@pytest.mark.parametrize(
    ("parse", "texts"),
    [(days_of, DATE), (local_us_of, LOCAL), (us_of, (*LOCAL, *ZONED))],
)
def test_a_form_takes_its_texts_alone(
    parse: Callable[[str], int | None], texts: tuple[str, ...]
) -> None:
    tried = (*LOCAL, *ZONED, *NO_FORM)
    assert [text for text in tried if fits(parse, text)] == list(texts)


def test_the_first_and_the_last_second_are_those_of_the_years() -> None:
    assert datetime(1, 1, 1, tzinfo=UTC).timestamp() == time_texts.FIRST_SECOND
    assert datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() == time_texts.LAST_SECOND
    assert us_of("9999-12-31T23:59:59.999999Z") == time_texts.LAST_SECOND * 1_000_000 + 999_999
    assert us_of("0001-01-01") == time_texts.FIRST_SECOND * 1_000_000
    assert days_of("1970-01-02") == 1 and local_us_of("1969-12-31 23:59:59.9") == -100_000
    assert us_of("2026-11-28T12:30:00+0230") == us_of("2026-11-28 10:00")
