"""A long wait is told, a short one is not."""

from __future__ import annotations

import re
import threading

import pytest

from pipeline.spark.waiting import busy
from tests.tools.waiting import LIMIT_S


def test_a_long_wait_is_told_again_and_again() -> None:
    said: list[str] = []
    twice = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            twice.set()

    with busy(say, "starting Spark", every_s=0.01):
        assert twice.wait(LIMIT_S)
    assert all(re.fullmatch(r"  … starting Spark, \d+ s", one) for one in said)
    assert not [one for one in threading.enumerate() if one.name == "tells"]


def test_a_short_wait_says_nothing_nor_does_one_that_fails() -> None:
    said: list[str] = []
    with busy(said.append, "reading", every_s=60):
        pass
    with pytest.raises(ValueError, match="so it is"), busy(said.append, "reading", every_s=60):
        raise ValueError("so it is")
    assert said == []
