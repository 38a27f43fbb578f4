"""A peak is seen, and is not forgotten when it is over."""

from __future__ import annotations

import os

import pytest

from bench.innocent.memory_peak import MemoryPeak, memory_of
from tests.tools.waiting import wait_until

MIB = 1 << 20


def test_a_peak_stays() -> None:
    before = memory_of(os.getpid())
    assert before.resident >= before.anonymous > 0
    with MemoryPeak(os.getpid()) as memory:
        held = bytearray(b"x") * (256 * MIB)  # what others let go of meanwhile is less
        wait_until(lambda: memory.peak.anonymous >= before.anonymous + 50, "the peak")
        del held
    assert memory.peak.anonymous >= before.anonymous + 50
    assert memory.peak.resident >= memory.peak.anonymous


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(OSError):
        memory_of(1 << 30)
