"""Frames out of bytes however they are cut, whose memory they lie in, and what is refused."""

from __future__ import annotations

import random
import struct

import pytest

from protocol.errors import ProtocolError
from protocol.frames.framing import KEPT_BYTES, FrameReader
from tests.received_frames import frames_in, reserved_bytes

LIMIT = 1_000_000


def frame(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def reader(max_bytes: int = LIMIT, scratch_bytes: int = 256) -> FrameReader:
    return FrameReader(max_bytes, bytearray(scratch_bytes))


def feed(frames: FrameReader, data: bytes) -> list[bytes]:
    """What a processor does with bytes that arrive: fill, then take until None."""
    taken = []
    while data:
        room = frames.get_buffer(-1)
        nbytes = min(len(room), len(data))
        room[:nbytes], data = data[:nbytes], data[nbytes:]
        frames.buffer_updated(nbytes)
        while (found := frames.next_frame()) is not None:
            taken.append(bytes(found))
    return taken


def receive(frames: FrameReader, data: bytes) -> None:
    """One receive, whose frames nobody takes yet."""
    room = frames.get_buffer()
    room[: len(data)] = data
    frames.buffer_updated(len(data))


def test_a_whole_frame_is_a_writable_view_of_the_scratch() -> None:
    scratch = bytearray(64)
    frames = FrameReader(LIMIT, scratch)
    receive(frames, frame(b"hello"))
    found = frames.next_frame()
    assert found is not None and found.tobytes() == b"hello"
    found[0] = ord("j")
    assert scratch[4:9] == b"jello"
    assert frames.next_frame() is None and reserved_bytes(frames) == 0


def test_several_frames_in_one_receive() -> None:
    assert feed(reader(), frame(b"a") + frame(b"") + frame(b"ccc")) == [b"a", b"", b"ccc"]


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 7, 64, 255, 256, 1000])
def test_every_way_to_cut_the_stream(step: int) -> None:
    contents = [bytes([n]) * size for n, size in enumerate([0, 1, 3, 4, 5, 251, 252, 253, 5000, 9])]
    stream = b"".join(frame(content) for content in contents)
    frames = reader()
    taken = []
    for start in range(0, len(stream), step):
        taken += feed(frames, stream[start : start + step])
    assert taken == contents
    assert not frames.in_progress and not frames.has_unread


@pytest.mark.parametrize("seed", range(20))
def test_random_cuts_with_two_connections_on_one_scratch(seed: int) -> None:
    rng = random.Random(seed)
    scratch = bytearray(100)
    readers = [FrameReader(LIMIT, scratch) for _ in range(2)]
    contents = [[rng.randbytes(rng.choice([0, 2, 90, 300, 4000])) for _ in range(20)] for _ in "ab"]
    streams = [b"".join(map(frame, part)) for part in contents]
    taken: list[list[bytes]] = [[], []]
    while any(streams):
        which = rng.randrange(2)
        nbytes = rng.choice([1, 3, 50, 700])
        taken[which] += feed(readers[which], streams[which][:nbytes])
        streams[which] = streams[which][nbytes:]
    assert taken == contents


def test_bytes_give_frames() -> None:
    data = frame(b"one") + frame(b"x" * 700) + frame(b"last")[:-1]
    frames = reader()
    assert [bytes(found) for found in frames_in(frames, data)] == [b"one", b"x" * 700]
    assert [bytes(found) for found in frames_in(frames, b"t")] == [b"last"]


@pytest.mark.parametrize("size", [-(2**31), -2, -1, LIMIT + 1, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 3, 4, 8])
def test_a_wrong_size_is_refused_and_stays_refused(size: int, step: int) -> None:
    data = frame(b"fine") + struct.pack(">i", size) + b"more"
    frames = reader()
    taken: list[bytes] = []
    with pytest.raises(ProtocolError, match=str(size)):
        for start in range(0, len(data), step):
            taken += feed(frames, data[start : start + step])
    with pytest.raises(ProtocolError):
        feed(frames, frame(b"later"))
    with pytest.raises(ProtocolError):
        frames.next_frame()
    assert reserved_bytes(frames) == 0


def test_frames_before_a_wrong_size_are_given() -> None:
    frames = reader()
    receive(frames, frame(b"fine") + struct.pack(">i", -1))
    found = frames.next_frame()
    assert found is not None and bytes(found) == b"fine"
    with pytest.raises(ProtocolError):
        frames.next_frame()


def test_a_frame_of_the_limit_is_not_over_it() -> None:
    assert feed(reader(10), frame(b"0123456789")) == [b"0123456789"]
    with pytest.raises(ProtocolError):
        feed(reader(10), frame(b"0123456789x"))


class Granted:
    """A memory of so many bytes, and the buffers that were made in it."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes
        self.made: list[int] = []

    def claim(self, size: int) -> bool:
        if size > self.free_bytes:
            return False
        self.free_bytes -= size
        return True

    def hold(self, size: int) -> None:
        self.free_bytes -= size

    def free(self, size: int) -> None:
        self.free_bytes += size

    hold_waiting, free_waiting, is_waited_for = hold, free, False

    def make(self, size: int) -> bytearray:
        self.made.append(size)
        return bytearray(size)


def counted(memory: Granted, scratch_bytes: int = 256) -> FrameReader:
    return FrameReader(LIMIT, bytearray(scratch_bytes), memory, memory.make)


def test_a_buffer_is_made_once_for_the_whole_frame_and_only_if_it_is_granted() -> None:
    memory = Granted(6_000)
    frames = counted(memory)
    assert feed(frames, frame(b"x" * 5_000)[:3_000]) == []
    assert memory.made == [5_004] and memory.free_bytes == 996
    other = counted(memory)
    receive(other, frame(b"y" * 5_000)[:200])
    assert other.next_frame() is None
    assert other.starved and other.in_progress and memory.made == [5_004]
    assert memory.free_bytes == 796, "what has come is counted"
    with pytest.raises(AssertionError):
        other.get_buffer()
    assert feed(frames, b"x" * 2_004) == [b"x" * 5_000]


def test_a_starved_reader_goes_on_where_it_was() -> None:
    memory = Granted(1_000)
    frames = counted(memory)
    receive(frames, frame(b"y" * 5_000)[:200])
    assert frames.next_frame() is None and frames.starved
    memory.free_bytes += 10_000
    assert memory.claim(frames.wanted_bytes)
    frames.feed()
    assert not frames.starved
    assert feed(frames, b"y" * 4_804) == [b"y" * 5_000]
    assert memory.free_bytes == 11_000 - 5_004, "kept for the next one"
    frames.release()
    assert memory.free_bytes == 11_000


def test_a_larger_frame_behind_one_in_the_kept_buffer_may_starve_too() -> None:
    memory = Granted(6_000)
    frames = counted(memory)
    feed(frames, frame(b"x" * 5_000))
    receive(frames, frame(b"a" * 50) + frame(b"y" * 9_000)[:3_000])
    assert frames.next_frame() == b"a" * 50
    assert frames.next_frame() is None and frames.starved
    assert memory.free_bytes == 3_000, "the buffer is gone, what has come is there"
    memory.free_bytes += 10_000
    assert memory.claim(frames.wanted_bytes)
    frames.feed()
    assert feed(frames, b"y" * 6_004) == [b"y" * 9_000]
    frames.close()
    assert memory.free_bytes == 16_000


def test_close_lets_go_of_all_whatever_is_in_it() -> None:
    memory = Granted(20_000)
    half, starved, detached, whole = (counted(memory) for _ in range(4))
    receive(half, frame(b"x" * 9_000)[:200])
    assert half.next_frame() is None
    receive(starved, frame(b"x" * 15_000)[:200])
    assert starved.next_frame() is None and starved.starved
    receive(detached, frame(b"x") + frame(b"y"))
    detached.detach()
    receive(whole, frame(b"x" * 5_000)[:200])
    assert whole.next_frame() is None
    whole.get_buffer()[:] = b"x" * 4_804
    whole.buffer_updated(4_804)  # nobody has taken it
    assert memory.free_bytes < 6_000
    for frames in (half, starved, detached, whole):
        frames.close()
        assert reserved_bytes(frames) == 0 and not frames.in_progress and not frames.has_unread
    assert memory.free_bytes == 20_000


def test_what_keep_gives_is_counted_by_whoever_keeps_it() -> None:
    memory = Granted(20_000)
    frames = counted(memory)
    kept = frames.keep(received_in_parts(frames, b"x"))
    assert memory.free_bytes == 20_000 and reserved_bytes(frames) == 0
    assert kept == b"x" * 5_000


def test_what_hold_gives_is_counted_until_its_request_is_answered() -> None:
    memory = Granted(20_000)
    frames = counted(memory)
    kept = frames.keep_counted(received_in_parts(frames, b"x"))
    assert memory.free_bytes == 15_000 and frames.lent == 5_000
    frames.settle()
    receive(frames, frame(b"a" * 100))
    other = frames.keep_counted(frames.next_frame() or memoryview(b""))
    assert memory.free_bytes == 19_900 and frames.next_frame() is None
    receive(frames, frame(b"z" * 100))
    assert kept == b"x" * 5_000 and other == b"a" * 100
    frames.close()
    assert memory.free_bytes == 20_000


def test_a_large_buffer_is_lent_to_its_frame_and_counted_until_that_is_done_with() -> None:
    memory = Granted(20_000)
    frames = counted(memory)
    found = received_in_parts(frames, b"x")
    frames.lend()
    assert frames.lent and reserved_bytes(frames) == 0 and memory.free_bytes == 14_996
    feed(frames, frame(b"y" * 5_000))
    assert found == b"x" * 5_000, "its buffer is not used again"
    frames.settle()
    frames.settle()
    assert memory.free_bytes == 14_996, "the one of the second frame is kept"
    frames.lend()
    frames.close()
    assert memory.free_bytes == 20_000 and not frames.lent


def test_a_buffer_above_what_is_kept_says_so() -> None:
    frames = FrameReader(10 * KEPT_BYTES, bytearray(256))
    feed(frames, frame(bytes(KEPT_BYTES - 4)))
    assert not frames.is_large
    feed(frames, frame(bytes(KEPT_BYTES)))
    assert frames.is_large
    frames.release()
    assert not frames.is_large and reserved_bytes(frames) == 0


def test_the_rest_of_a_large_frame_is_received_in_its_place() -> None:
    frames = reader()
    content = bytes(range(256)) * 40
    data = frame(content)
    receive(frames, data[:256])
    assert frames.next_frame() is None
    position = 256
    while position < len(data):
        room = frames.get_buffer()
        assert len(room) <= len(data) - position, "never past the frame's end"
        room[:] = data[position : position + len(room)]
        position += len(room)
        frames.buffer_updated(len(room))
    found = frames.next_frame()
    assert found == content
    assert found is not None and not found.readonly
    assert reserved_bytes(frames) == len(data)


def test_a_large_frames_buffer_serves_the_next_one_and_can_be_released() -> None:
    frames = reader()
    feed(frames, frame(b"x" * 9000))
    kept = reserved_bytes(frames)
    assert kept >= 9000
    receive(frames, frame(b"y" * 9000)[:256])
    assert frames.next_frame() is None
    assert len(frames.get_buffer()) == 9004 - 256, "no growing in steps the second time"
    frames.release()
    assert reserved_bytes(frames) == kept, "a frame in progress is not dropped"
    room = frames.get_buffer()
    room[:] = b"y" * len(room)
    frames.buffer_updated(len(room))
    frames.release()
    assert reserved_bytes(frames) == kept, "nor one that waits"
    assert frames.next_frame() == b"y" * 9000
    assert frames.next_frame() is None
    frames.release()
    assert reserved_bytes(frames) == 0
    assert feed(frames, frame(b"small")) == [b"small"]


def test_detach_keeps_unread_frames_from_other_connections() -> None:
    scratch = bytearray(256)
    mine, other = FrameReader(LIMIT, scratch), FrameReader(LIMIT, scratch)
    receive(mine, frame(b"first") + frame(b"second") + frame(b"third")[:5])
    assert mine.next_frame() == b"first"
    mine.detach()
    assert mine.has_unread
    feed(other, frame(b"#" * 200))
    assert mine.next_frame() == b"second"
    assert mine.next_frame() is None
    feed(other, frame(b"#" * 200))
    assert feed(mine, frame(b"third")[5:]) == [b"third"]


def test_detach_twice_and_with_nothing_unread() -> None:
    frames = reader()
    frames.detach()
    receive(frames, frame(b"a") + frame(b"b"))
    frames.detach()
    frames.detach()
    assert reserved_bytes(frames) == 10
    assert frames.next_frame() == b"a"
    assert frames.next_frame() == b"b"
    assert frames.next_frame() is None
    assert reserved_bytes(frames) == 0


def test_receiving_while_frames_wait_is_a_mistake_of_ours() -> None:
    frames = reader()
    receive(frames, frame(b"a") + frame(b"b"))
    frames.next_frame()
    with pytest.raises(AssertionError):
        frames.get_buffer()


def test_keep_copies_a_frame_of_the_scratch() -> None:
    frames = reader()
    receive(frames, frame(b"first"))
    found = frames.next_frame()
    assert found is not None
    kept = frames.keep(found)
    assert frames.next_frame() is None
    feed(frames, frame(b"#####"))
    assert kept == b"first" and not kept.readonly


def received_in_parts(frames: FrameReader, filling: bytes) -> memoryview:
    """A frame of 5,000 bytes that did not come whole."""
    receive(frames, frame(filling * 5000)[:256])
    assert frames.next_frame() is None
    while (found := frames.next_frame()) is None:
        room = frames.get_buffer()
        room[:] = filling * len(room)
        frames.buffer_updated(len(room))
    return found


def test_keep_takes_a_large_frame_without_copying() -> None:
    frames = reader()
    found = received_in_parts(frames, b"x")
    assert frames.keep(found) is found
    feed(frames, frame(b"y" * 5000))
    assert found == b"x" * 5000


def test_what_keep_gave_serves_again_once_nobody_looks_at_it() -> None:
    frames = reader()
    first = received_in_parts(frames, b"x")
    part = frames.keep(first)[4_000:]
    del first
    second = received_in_parts(frames, b"y")
    buffer = second.obj
    assert part == b"x" * 1_000
    frames.keep(second)
    del second, part
    third = received_in_parts(frames, b"z")
    assert third.obj is buffer
    assert third == b"z" * 5_000
    assert reserved_bytes(frames) == 5_004
    frames.release()
    assert reserved_bytes(frames) == 0


def test_keep_copies_a_small_frame_out_of_a_much_larger_buffer() -> None:
    frames = reader()
    feed(frames, frame(b"x" * 50_000))
    receive(frames, frame(b"small")[:6])
    assert frames.next_frame() is None
    receive(frames, b"all")
    found = frames.next_frame()
    assert found is not None
    kept = frames.keep(found)
    assert kept == b"small" and kept is not found


def test_keep_of_a_detached_frame_is_free() -> None:
    frames = reader()
    receive(frames, frame(b"a") + frame(b"b"))
    frames.detach()
    found = frames.next_frame()
    assert found is not None and frames.keep(found) is found


def test_a_smaller_limit_may_be_set_between_frames() -> None:
    frames = reader()
    assert feed(frames, frame(b"12345")) == [b"12345"]
    frames.limit(4)
    with pytest.raises(ProtocolError):
        feed(frames, frame(b"12345"))


def test_a_scratch_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="scratch"):
        FrameReader(LIMIT, bytearray())


def test_what_was_detached_is_dropped_once_it_is_taken() -> None:
    frames = reader(1000)
    receive(frames, frame(b"a") + frame(b"b"))
    assert frames.next_frame() == b"a"
    frames.detach()
    frames.attach()
    assert reserved_bytes(frames) > 0, "one frame is unread"
    taken = frames.next_frame()
    frames.attach()
    assert reserved_bytes(frames) == 0
    assert taken == b"b"


def test_only_frame_is_what_has_come_if_that_is_one_whole_frame() -> None:
    scratch = bytearray(64)
    frames = FrameReader(20, scratch)

    def come(data: bytes) -> bytes | None:
        frames.get_buffer()[: len(data)] = data
        found = frames.only_frame(len(data))
        assert found is None or found.obj is scratch
        return None if found is None else bytes(found)

    whole = frame(b"hello")
    assert come(whole) == b"hello"
    assert come(frame(b"")) == b""
    for other in (whole + whole, whole + b"x", whole[:-1], whole[:3], frame(b"x" * 21)):
        assert come(other) is None
    for size in range(1, 4):
        assert come((size - 4).to_bytes(4, "big", signed=True)[:size]) is None
    assert feed(frames, whole[:6]) == []  # begun: what comes now ends it
    assert come(whole[6:]) is None
    frames.buffer_updated(len(whole) - 6)
    assert frames.next_frame() == b"hello"


# --- after a frame that the scratch could not hold -----------------------------------------------


def test_the_next_large_frame_lies_where_it_is_received() -> None:
    frames = reader()
    first = received_in_parts(frames, b"x")
    buffer = first.obj
    room = frames.get_buffer()
    assert room.obj is buffer and len(room) == 5_004, "as far as the last one came"
    room[:100] = frame(b"y" * 5_000)[:100]
    frames.buffer_updated(100)
    assert frames.next_frame() is None and frames.in_progress
    room = frames.get_buffer()
    assert len(room) == 4_904
    room[:] = b"y" * 4_904
    frames.buffer_updated(4_904)
    second = frames.next_frame()
    assert second == b"y" * 5_000 and second is not None and second.obj is buffer


def test_a_large_frame_that_comes_at_once_is_the_only_one() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    frames.get_buffer()[:] = frame(b"y" * 5_000)
    found = frames.only_frame(5_004)
    assert found == b"y" * 5_000
    assert found is not None and frames.keep(found) is found
    receive(frames, frame(b"z" * 5_000)[:256])
    assert frames.next_frame() is None, "the buffer is given away, so it is the scratch again"
    assert found == b"y" * 5_000


def test_pipelined_large_frames_are_not_copied_by_detach() -> None:
    frames = reader()
    buffer = received_in_parts(frames, b"x").obj
    receive(frames, frame(b"y" * 5_000)[:3_000])
    frames.detach()
    assert reserved_bytes(frames) == 5_004
    assert frames.next_frame() is None
    frames.attach()
    room = frames.get_buffer()
    assert room.obj is buffer and len(room) == 2_004


def test_smaller_frames_and_the_rest_of_another_in_one_receive() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    data = frame(b"a" * 1_000) + frame(b"b" * 300) + frame(b"c" * 4_000)[:2_000]
    receive(frames, data)
    first = frames.next_frame()
    assert first is not None
    kept = frames.keep(first)
    assert frames.next_frame() == b"b" * 300, "keep has not dropped what follows"
    assert frames.next_frame() is None and frames.in_progress
    assert feed(frames, b"c" * 2_004) == [b"c" * 4_000]
    assert kept == b"a" * 1_000


def test_a_whole_frame_with_another_one_behind_it_is_kept_by_a_copy() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    receive(frames, frame(b"a" * 3_000) + frame(b"b" * 1_500))
    first = frames.next_frame()
    assert first is not None
    kept = frames.keep(first)
    assert kept is not first
    assert frames.next_frame() == b"b" * 1_500
    feed(frames, frame(b"#" * 5_000))
    assert kept == b"a" * 3_000


def test_a_larger_frame_than_the_last_goes_on_in_a_larger_buffer() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    assert feed(frames, frame(b"y" * 9_000)) == [b"y" * 9_000]
    assert len(frames.get_buffer()) == 9_004


def test_three_bytes_of_a_size_are_no_frame_there_either() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    data = frame(b"y" * 700)
    receive(frames, data[:3])
    assert frames.only_frame(3) is None
    assert frames.next_frame() is None
    assert feed(frames, data[3:]) == [b"y" * 700]


def test_a_released_buffer_is_not_received_into() -> None:
    scratch = bytearray(256)
    frames = FrameReader(LIMIT, scratch)
    received_in_parts(frames, b"x")
    frames.get_buffer()
    frames.release()
    assert reserved_bytes(frames) == 0
    assert frames.get_buffer().obj is scratch
    assert feed(frames, frame(b"small")) == [b"small"]


def test_a_wrong_size_in_the_own_buffer_holds_nothing() -> None:
    frames = reader()
    received_in_parts(frames, b"x")
    receive(frames, struct.pack(">i", -7) + b"rest")
    with pytest.raises(ProtocolError, match="-7 is negative"):
        frames.next_frame()
    assert reserved_bytes(frames) == 0


@pytest.mark.parametrize("seed", range(40))
def test_random_large_and_small_frames_some_kept_some_detached(seed: int) -> None:
    rng = random.Random(seed)
    frames = reader(scratch_bytes=100)
    contents = [rng.randbytes(rng.choice([0, 5, 96, 97, 800, 801, 3_000])) for _ in range(60)]
    stream = b"".join(map(frame, contents))
    taken: list[bytes | memoryview] = []
    while stream:
        room = frames.get_buffer()
        nbytes = min(len(room), len(stream), rng.choice([1, 3, 50, 2_000, 5_000]))
        room[:nbytes] = stream[:nbytes]
        stream = stream[nbytes:]
        del room
        if (only := frames.only_frame(nbytes)) is not None:
            taken.append(frames.keep(only) if rng.random() < 0.5 else bytes(only))
            continue
        frames.buffer_updated(nbytes)
        while True:
            if rng.random() < 0.2:
                frames.detach()
            found = frames.next_frame()
            if found is None:
                break
            taken.append(frames.keep(found) if rng.random() < 0.3 else bytes(found))
        frames.attach()
        if len(taken) > 5 and rng.random() < 0.3:
            taken[-5] = bytes(taken[-5])  # nobody looks at that buffer any more
    assert [bytes(one) for one in taken] == contents
