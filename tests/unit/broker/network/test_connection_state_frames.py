"""The core of a connection: frames that do not come whole, their memory and their deadline."""

from __future__ import annotations

import pytest

from broker.network.connection_state import INCOMPLETE_PROGRESS_BYTES
from broker.network.request_memory import RequestMemory
from protocol.frames.framing import KEPT_BYTES
from tests.received_frames import reserved_bytes
from tests.unit.broker.network.conversation import SCRATCH_BYTES, Conversation


def test_a_frame_in_single_bytes() -> None:
    Conversation()("""
        >> bytes now1[:1]
        << await rest
        >> bytes now1[1:2]
        >> bytes now1[2:5]
        >> bytes now1[5:] now2[:6]
        << handle now1
        << send now1
        << await rest
        >> bytes now2[6:]
        << handle now2
        << send now2
    """)


@pytest.mark.parametrize(
    ("wrong", "size"),
    [
        (b"GET / HTTP/1.1\r\n\r\n".hex(), 0x47455420),
        ("160301020001000001fc0303" + "00" * 300, 0x16030102),
        ("ffffffff", -1),
        ("80000000", -(2**31)),
        ("000003e9", 1001),
    ],
    ids=["http", "tls", "-1", "min", "over the limit"],
)
def test_a_size_that_cannot_be_ends_it_after_the_answers_before(wrong: str, size: int) -> None:
    said = "negative" if size < 0 else "over the limit of 1000 bytes"
    play = Conversation(max_bytes=1000)
    play(f"""
        >> bytes now1 2 wrong={wrong}
        << handle now1
        << handle 2
        << send now1
        << pause
        >> answered two
        << send two
        << yield
        >> turn
        << error frame size {size} is {said}
        << abort
        >> bytes now3
    """)
    assert (play.state, reserved_bytes(play.reader)) == ("CLOSING", 0)


def test_answers_given_before_a_failure_leave_first() -> None:
    Conversation(max_bytes=1000)("""
        >> bytes now1 wrong=ffffffff
        << handle now1
        << error frame size -1 is negative
        << send now1
        << abort
    """)


def test_a_large_frame_waits_for_memory_and_is_not_read_meanwhile() -> None:
    size = 3_000_000
    memory = RequestMemory(size, size, lambda _callback: None)
    memory.hold(size)
    play = Conversation(memory, size)
    play(f"""
        >> bytes now1 big*{size}
        << handle now1
        << send now1
        << pause
        << await memory
        << await rest
    """)
    assert play.received_bytes <= SCRATCH_BYTES
    assert play.core.incomplete_until(0.0, 1.0) is None, "it is not the peer who is late"
    memory.free(size)
    memory.hold(play.reader.wanted_bytes)  # as whoever grants it has done
    play("""
        >> memory granted
        << resume
        << await rest
        << handle big
    """)
    assert memory.held_bytes == size + 4
    play(f"""
        >> answered done
        << send done
        >> bytes big*{size}[:1000]
        << await rest
        >> lost
    """)
    assert memory.held_bytes == 0


def test_one_frame_after_the_other_may_wait_for_memory() -> None:
    size = 1_000
    memory = RequestMemory(size, size, lambda _callback: None)
    play = Conversation(memory)
    for number in range(2):
        memory.hold(size)
        play(f"""
            >> bytes now{number}*{size}[:9]
            << pause
            << await memory
            << await rest
            >> bytes now{number}*{size}[9:]
        """)
        memory.free(size)
        memory.hold(play.reader.wanted_bytes)
        play(f"""
            >> memory granted
            << resume
            << await rest
            << handle now{number}
            << send now{number}
        """)
        play.reader.release()
        assert memory.held_bytes == 0


def test_what_was_kept_while_it_did_not_read_is_given_back() -> None:
    memory = RequestMemory(1_000, 1_000, lambda _callback: None)
    play = Conversation(memory)
    play("""
        >> bytes 1 now2
        << handle 1
        << pause
    """)
    assert memory.held_bytes == 8
    play("""
        >> answered one
        << send one
        << yield
        >> turn
        << handle now2
        << send now2
        << resume
    """)
    assert memory.held_bytes == 0


def test_a_buffer_too_large_to_be_kept_is_its_requests_until_the_answer() -> None:
    memory = RequestMemory(10 * KEPT_BYTES, 1000, lambda _callback: None)
    play = Conversation(memory)
    play(f"""
        >> bytes big*{KEPT_BYTES}
        << await rest
        << handle big
    """)
    assert (memory.held_bytes, reserved_bytes(play.reader)) == (KEPT_BYTES + 4, 0)
    play(f"""
        >> answered done
        << send done
        >> bytes now*{KEPT_BYTES}
        << await rest
        << handle now
        << send now
    """)
    assert (memory.held_bytes, reserved_bytes(play.reader)) == (0, 0)


def test_drops_do_not_put_the_deadline_off_and_whole_frames_leave_none() -> None:
    play = Conversation()
    assert play.core.incomplete_until(0.0, 10.0) is None
    play("""
        >> bytes now1[:5]
        << await rest
        >> seconds 3
        >> bytes now1[5:6]
    """)
    assert play.core.incomplete_until(3.0, 10.0) == 10.0
    play("""
        >> bytes now1[6:] now2[:5]
        << handle now1
        << send now1
        << await rest
    """)
    assert play.core.incomplete_until(3.0, 10.0) == 13.0
    play("""
        >> bytes now2[5:]
        << handle now2
        << send now2
    """)
    assert play.core.incomplete_until(3.0, 10.0) is None


def test_a_large_frame_that_makes_progress_may_take_longer() -> None:
    play = Conversation()
    whole, mark = 8 * INCOMPLETE_PROGRESS_BYTES, INCOMPLETE_PROGRESS_BYTES
    play(f"""
        >> bytes now*{whole}[:100]
        << await rest
        >> bytes now*{whole}[100:{mark}]
    """)
    assert play.core.incomplete_until(9.0, 10.0) == 10.0
    play(f"""
        >> bytes now*{whole}[{mark}:{mark + 100}]
    """)
    assert play.core.incomplete_until(9.0, 10.0) == 19.0


def test_a_frame_that_stands_behind_a_request_is_not_the_peers_fault() -> None:
    play = Conversation()
    play("""
        >> bytes parked
        << handle parked
        >> bytes big*2000000
        << pause
    """)
    assert play.core.incomplete_until(100.0, 10.0) is None
