"""Free memory is made scarce before a load, where it is the host's and not the machine's."""

from __future__ import annotations

from mmap import PAGESIZE
from pathlib import Path

import pytest

from bench import page_cache
from bench.machine import free_memory
from bench.page_cache import PageCache, gives_free_memory_back, read_memory, zones
from bench.scenario import WindowResult, steady
from tests.unit.bench.counted_peer import CountedPeer

MIB = 1 << 20


def test_a_balloon_with_page_reporting_tells_of_such_a_machine(tmp_path: Path) -> None:
    def device(number: int, kind: str, features: str) -> None:
        folder = tmp_path / f"virtio{number}"
        folder.mkdir()
        (folder / "device").write_text(kind + "\n")
        (folder / "features").write_text(features + "\n")

    assert not gives_free_memory_back(tmp_path / "nowhere")
    device(0, "0x0001", "1111111100")
    device(1, "0x0005", "0110000000")
    assert not gives_free_memory_back(tmp_path)
    device(2, "0x0005", "0110010000")
    assert gives_free_memory_back(tmp_path)


class Memory:
    """A machine of eight steps, whose largest zone has one step less free at each look."""

    def __init__(self, free: int, available: int, small_free: int = 0) -> None:
        self.free, self.available, self.small_free = free, available, small_free

    def told(self) -> dict[str, int]:
        self.free -= page_cache.STEP_BYTES
        return {
            "MemTotal": 8 * page_cache.STEP_BYTES,
            "MemAvailable": self.available,
            page_cache.LARGEST_ROOM: self.free,
            page_cache.SMALL_ROOM: self.small_free,
            page_cache.SMALL_TOTAL: 2 * page_cache.STEP_BYTES,
        }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "STEP_BYTES", MIB)
    monkeypatch.setattr(page_cache, "STEPS_AT_ONCE", 2)
    monkeypatch.setattr(page_cache, "LOCKED_STEP_BYTES", MIB)
    monkeypatch.setattr(page_cache, "ROOM_BYTES", MIB // 2)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("free_steps", "available_steps", "filled_steps"),
    [(5, 8, 6), (1, 8, 0), (99, 8, 8), (99, 4, 0)],
    ids=["until little is free", "full already", "once through at most", "not into real memory"],
)
def test_it_fills_what_is_free(free_steps: int, available_steps: int, filled_steps: int) -> None:
    memory = Memory(free_steps * MIB, available_steps * MIB)
    cache = PageCache(memory.told)
    try:
        assert cache.fill() == filled_steps * MIB
        assert cache.locked_bytes == 0
    finally:
        cache.close()


@pytest.mark.usefixtures("small")
def test_what_is_free_of_small_zones_is_locked_up_to_twice_their_size() -> None:
    cache = PageCache(Memory(0, 8 * MIB, small_free=2 * MIB).told)
    try:
        cache.fill()
        cache.fill()
        assert cache.locked_bytes == 4 * MIB
    finally:
        cache.close()


ZONEINFO = """\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 40811
        high     10
        managed  100
        protection: (0, 5, 85, 85)
      nr_free_pages 90
    cpu: 0
              high:     7
Node 0, zone   Normal
        high     20
        managed  5000
        protection: (0, 0, 0, 0)
      nr_free_pages 27
Node 0, zone    DMA32
        high     10
        managed  300
        protection: (0, 0, 30, 30)
      nr_free_pages 200
Node 0, zone  Movable
        high     32
        managed  0
        protection: (0, 0, 0, 0)
"""


def test_room_is_what_is_taken_before_the_kernel_evicts() -> None:
    assert zones(ZONEINFO) == {
        page_cache.LARGEST_ROOM: 7 * PAGESIZE,
        page_cache.SMALL_ROOM: 160 * PAGESIZE,
        page_cache.SMALL_TOTAL: 400 * PAGESIZE,
    }


def test_the_machine_tells_its_memory() -> None:
    told = read_memory()
    assert 0 < told["MemFree"] <= told["MemTotal"]
    assert told["MemTotal"] > 100 * MIB
    assert 0 <= told[page_cache.LARGEST_ROOM] <= told["MemTotal"]


def test_the_report_says_whose_free_memory_is() -> None:
    assert free_memory(False, False) == "the machine's own"
    assert "filled before each window" in free_memory(True, True)
    assert "pays for each page" in free_memory(True, False)


def test_each_window_is_prepared_before_it_is_measured() -> None:
    peer = CountedPeer(1e-6)
    events: list[str] = []
    peer.prepare = lambda: events.append("prepared")

    def load(_seconds: float) -> WindowResult:
        events.append("load")
        return WindowResult(peer.serve(100), (), 1.0)

    steady(peer, load, 1.0)
    assert events == ["prepared", "load"] * 2
