"""Jobs and results as text."""

from __future__ import annotations

import pytest

from storage.cleaning.cleaner_job import (
    CleanJob,
    CleanResult,
    decode_job,
    decode_result,
    encode_job,
    encode_result,
)
from storage.log.cleaned_group import CleanedGroup

JOB = CleanJob(
    "/data/t-0", ((0, 10), (5, 20)), (9,), 3, 9, 1_000, 2_000, 30, 40, 50, 60, 0.9, 70, 1.7e308,
    ((1, -1, 2), (3, 4, 5)),
)  # fmt: skip
RESULT = CleanResult(9, (CleanedGroup((0, 5), 12, 99, 8, (".index", ".log")),), 30, 12, 4, 2, 1, 3)


def test_a_job_and_a_result_are_one_line_each_and_come_back() -> None:
    assert "\n" not in encode_job(JOB) + encode_result(RESULT)
    assert decode_job(encode_job(JOB)) == JOB
    assert decode_result(encode_result(RESULT)) == RESULT


def test_what_is_no_result_is_refused() -> None:
    for text in ("", "{}", "[1]", '{"groups": [1]}'):
        with pytest.raises((ValueError, KeyError, TypeError)):
            decode_result(text)
