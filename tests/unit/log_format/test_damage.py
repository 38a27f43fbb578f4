from __future__ import annotations

import pickle

import pytest

from log_format.damage import DamagedLog, LogError, OldFormat


@pytest.mark.parametrize("error", [DamagedLog("a.log", 5, "why"), OldFormat("a.log", 7, 1)])
def test_errors_come_back_from_spark_workers(error: LogError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


def test_they_are_one_line() -> None:
    assert str(DamagedLog("a.log", 5, "why")) == "a.log is damaged at byte 5: why"
    assert "format v1" in str(OldFormat("a.log", 7, 1)) and "\n" not in str(OldFormat("a", 7, 1))
