"""Buffers of every size: writable, and their pages are taken when they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.network.server.frame_buffer import frame_buffer

MIB = 1024 * 1024


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("size", [1, 100_000, 256 * 1024, 5 * MIB])
def test_a_buffer_is_written_and_read_through_views(size: int) -> None:
    view = memoryview(frame_buffer(size))
    assert len(view) == size and not view.readonly
    view[-1] = 7
    assert view[size - 1] == 7


def test_pages_are_taken_by_what_is_written_and_given_back() -> None:
    before = resident_bytes()
    view = memoryview(frame_buffer(400 * MIB))
    assert resident_bytes() - before < 20 * MIB
    view[: 40 * MIB] = bytes(40 * MIB)
    assert 35 * MIB < resident_bytes() - before < 80 * MIB
    del view
    assert resident_bytes() - before < 20 * MIB
