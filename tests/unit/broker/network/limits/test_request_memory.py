"""Who may have memory for a frame, who waits, and that nobody waits for ever."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from broker.network.limits.request_memory import SMALL_FRAME_BYTES, InterBrokerMemory, RequestMemory
from protocol.frames.framing import SCRATCH_BYTES, FrameReader

MIB = 1024 * 1024


class Bench:
    """A memory whose later calls the test runs."""

    def __init__(self, limit: int = 80 * MIB, frame_max: int = 20 * MIB) -> None:
        self.soon: list[Callable[[], None]] = []
        self.memory = RequestMemory(limit, frame_max, self.soon.append)
        self.granted: list[str] = []

    def wait(self, name: str, size: int) -> Callable[[], object]:
        def granted() -> None:
            self.granted.append(name)

        assert not self.memory.claim(size)
        self.memory.wait(size, granted)
        return granted

    def run(self) -> list[str]:
        while self.soon:
            self.soon.pop(0)()
        granted, self.granted = self.granted, []
        return granted


def test_what_is_claimed_is_there_for_nobody_else_until_it_is_freed() -> None:
    bench = Bench()
    memory = bench.memory
    assert [memory.claim(20 * MIB) for _ in range(4)] == [True, True, True, False]
    assert memory.held_bytes == 60 * MIB, "an eighth is kept free for small frames"
    memory.free(20 * MIB)
    assert memory.claim(20 * MIB)


def test_who_waits_is_served_in_order_and_not_overtaken() -> None:
    bench = Bench()
    memory = bench.memory
    for _ in range(3):
        assert memory.claim(20 * MIB)
    bench.wait("first", 20 * MIB)
    bench.wait("second", 15 * MIB)
    assert not memory.claim(2 * MIB), "there is room for it, but it came later"
    assert bench.run() == []
    memory.free(20 * MIB)
    assert bench.run() == ["first"]
    memory.free(20 * MIB)
    assert bench.run() == ["second"]
    assert memory.held_bytes == 55 * MIB and memory.waiting_count == 0


def test_who_has_gone_holds_nobody_up() -> None:
    bench = Bench()
    for _ in range(3):
        bench.memory.claim(20 * MIB)
    gone = bench.wait("gone", 20 * MIB)
    bench.wait("behind", 5 * MIB)
    bench.memory.forget(gone)
    assert bench.run() == ["behind"]
    bench.memory.forget(gone)
    assert bench.memory.held_bytes == 65 * MIB


def test_small_frames_do_not_wait_for_large_ones() -> None:
    bench = Bench()
    for _ in range(3):
        bench.memory.claim(20 * MIB)
    bench.memory.claim(10 * MIB)
    bench.wait("large", 20 * MIB)
    small = 0
    while bench.memory.claim(SMALL_FRAME_BYTES):
        small += 1
    assert small == 10, "the eighth that is theirs; the rest is waited for, if nobody is under way"


def test_a_large_frame_gets_what_many_small_ones_give_back() -> None:
    bench = Bench()
    memory = bench.memory
    while memory.claim(SMALL_FRAME_BYTES):
        pass
    assert memory.held_bytes == 80 * MIB
    bench.wait("large", 20 * MIB)
    for _ in range(19):
        memory.free(SMALL_FRAME_BYTES)
        assert not memory.claim(SMALL_FRAME_BYTES)
    assert bench.run() == []
    memory.free(SMALL_FRAME_BYTES)
    assert bench.run() == ["large"]


def test_a_limit_below_one_frame_lets_one_frame_in() -> None:
    bench = Bench(limit=1, frame_max=20 * MIB)
    assert bench.memory.claim(20 * MIB)
    assert not bench.memory.claim(1)


def begun(bench: Bench, size: int) -> FrameReader:
    """A reader that has the first bytes of a frame of `size` bytes, and waits for memory."""
    reader = FrameReader(20 * MIB, bytearray(SCRATCH_BYTES), bench.memory)
    buffer = reader.get_buffer()
    buffer[:4] = size.to_bytes(4)
    reader.buffer_updated(len(buffer))
    assert reader.next_frame() is None and reader.starved
    bench.memory.wait(reader.wanted_bytes, lambda: bench.granted.append(str(size)))
    return reader


def test_what_has_come_of_frames_that_wait_does_not_keep_them_waiting() -> None:
    """Both are as large as any may be, and the memory is for one."""
    bench = Bench(limit=1, frame_max=20 * MIB)
    memory, size = bench.memory, 20 * MIB - 4
    assert memory.claim(20 * MIB)
    readers = [begun(bench, size), begun(bench, size)]
    assert memory.held_bytes == 20 * MIB + 2 * SCRATCH_BYTES
    memory.free(20 * MIB)
    for reader in readers:
        assert bench.run() == [str(size)]
        reader.feed()
        reader.close()
    assert memory.held_bytes == 0


def test_what_idle_connections_keep_is_given_back_first() -> None:
    bench = Bench()
    memory = bench.memory
    for _ in range(17):
        memory.hold(4 * MIB)
    kept = [4 * MIB] * 5

    def reclaim() -> None:
        while kept:
            memory.free(kept.pop())

    memory.reclaimers.append(reclaim)
    assert memory.claim(2 * MIB)
    assert kept == [4 * MIB] * 5, "there was room"
    assert memory.claim(20 * MIB)
    assert kept == []


def test_brokers_are_counted_and_never_wait() -> None:
    bench = Bench()
    brokers = InterBrokerMemory(bench.memory)
    for _ in range(10):
        assert brokers.claim(20 * MIB)
    assert bench.memory.held_bytes == 200 * MIB
    assert not bench.memory.claim(2 * MIB)
    for _ in range(10):
        brokers.free(20 * MIB)
    assert bench.memory.claim(20 * MIB)


@pytest.mark.parametrize("seed", range(20))
def test_never_over_the_limit_and_all_are_served(seed: int) -> None:
    rng = random.Random(seed)
    limit = rng.choice([20, 21, 30, 100]) * MIB
    bench = Bench(limit)
    memory, held, waiting = bench.memory, [], {}
    for number in range(2_000):
        size = rng.choice([1, 5_000, MIB, MIB + 1, rng.randrange(20 * MIB), 20 * MIB]) or 1
        if memory.claim(size):
            held.append(size)
        else:
            waiting[str(number)] = size
            memory.wait(size, lambda name=str(number): bench.granted.append(name))
        while held and (rng.random() < 0.6 or memory.waiting_count > 50):
            memory.free(held.pop(rng.randrange(len(held))))
            held += [waiting.pop(name) for name in bench.run()]
        assert sum(held) == memory.held_bytes <= limit
    while held:
        memory.free(held.pop())
        held += [waiting.pop(name) for name in bench.run()]
    assert not waiting
