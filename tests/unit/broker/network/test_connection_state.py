"""The core of a connection, as conversations without sockets."""

from __future__ import annotations

import pytest

from broker.network.connection_state import (
    CLOSING,
    CORK_BYTES,
    FRAMES_PER_TURN,
    TRANSITIONS,
    TURN_REQUEST_BYTES,
    Event,
    State,
)
from tests.received_frames import reserved_bytes
from tests.unit.broker.network.conversation import Conversation


def test_every_state_is_reached_and_each_but_the_last_can_end() -> None:
    assert list(TRANSITIONS) == list(State)
    reached = {state for events in TRANSITIONS.values() for state in events.values()}
    assert reached == {*State}
    assert [s for s, events in TRANSITIONS.items() if Event.ENDED not in events] == [CLOSING]
    assert {event for events in TRANSITIONS.values() for event in events} == {*Event}


def test_a_request_is_handled_and_its_answer_sent() -> None:
    play = Conversation()
    play("""
        >> bytes now1
        << handle now1
        << send now1
        >> bytes 2
        << handle 2
    """)
    assert play.state == "PENDING"
    play("""
        >> answered two
        << send two
    """)
    assert play.state == "READY"


def test_answers_of_requests_at_hand_leave_together_and_reading_never_pauses() -> None:
    Conversation()("""
        >> bytes now1 now2 now3
        << handle now1
        << handle now2
        << handle now3
        << send now1 now2 now3
    """)


def test_one_request_at_a_time() -> None:
    Conversation()("""
        >> bytes 1 now2 3
        << handle 1
        << pause
        >> answered one
        << send one
        << yield
        >> turn
        << handle now2
        << handle 3
        << send now2
        >> answered three
        << send three
        << resume
    """)


def test_reading_pauses_only_when_bytes_come_that_cannot_be_taken() -> None:
    play = Conversation()
    play("""
        >> bytes parked
        << handle parked
        >> bytes now
        << pause
        >> bytes big*50000000
    """)
    assert play.received_bytes < 100
    play("""
        >> answered done
        << send done
        << yield
        >> turn
        << handle now
        << send now
        << resume
        << await rest
        << handle big
    """)
    assert play.kernel == b""


def test_a_request_without_an_answer_lets_the_next_one_go_on() -> None:
    Conversation()("""
        >> bytes 1
        << handle 1
        >> answered nothing
        >> bytes 2
        << handle 2
    """)


def test_what_comes_too_late_or_again_changes_nothing() -> None:
    play = Conversation()
    play("""
        >> answered never asked
        >> turn
        >> room
        >> drained
        >> bytes 1
        << handle 1
        >> turn
        >> room
        >> drained
        >> answered one
        << send one
        >> answered one again
    """)
    assert play.state == "READY"


def test_a_request_that_was_tried_at_once_is_answered_later() -> None:
    Conversation()(
        """
        >> under way
        >> bytes behind
        << pause
        >> answered now
        << send now
        << yield
        >> turn
        << handle behind
    """
    )


def test_a_slow_reader_is_not_read_from() -> None:
    play = Conversation()
    play("""
        >> slow
        >> bytes now1
        << handle now1
        << send now1
    """)
    assert play.state == "SENDING"
    play("""
        >> bytes 2 3
        << pause
        >> quick
        >> drained
        << handle 2
        >> answered two
        << send two
        << yield
        >> turn
        << handle 3
        >> answered three
        << send three
        << resume
    """)


def test_nor_does_it_go_on_behind_a_request_without_an_answer() -> None:
    """An answer that leaves while the next request is under way may still be there when that one
    has ended; or it may not."""
    play = Conversation()
    play("""
        >> slow
        >> bytes now1 2 now3 4 now5
        << handle now1
        << handle 2
        << send now1
        << pause
        >> answered nothing
    """)
    assert play.state == "SENDING"
    play("""
        >> quick
        >> drained
        << handle now3
        << handle 4
        << send now3
        >> slow
        >> answered nothing
        << yield
        >> turn
        << handle now5
        << send now5
    """)
    assert play.state == "SENDING"
    play("""
        >> bytes 6 now7
        >> quick
        >> drained
        << resume
        << handle 6
        << pause
        >> slow
        >> answered six
        << send six
        >> drained
        << handle now7
        << send now7
    """)


def test_nor_is_the_rest_of_a_frame() -> None:
    Conversation()("""
        >> slow
        >> bytes now1 now2[:6]
        << handle now1
        << send now1
        >> bytes now2[6:7]
        << pause
        >> bytes now2[7:]
        >> quick
        >> drained
        << resume
        << await rest
        << handle now2
        << send now2
    """)


def test_an_answer_that_has_a_file_in_it_does_not_wait_for_others() -> None:
    Conversation()("""
        >> bytes nowfile now2
        << handle nowfile
        << send nowfile
        << handle now2
        << send now2
    """)


def test_an_answer_that_does_not_leave_stops_further_requests() -> None:
    play = Conversation()
    play(f"""
        >> slow
        >> bytes now1*{CORK_BYTES} now2
        << handle now1
        << send now1
        << pause
        >> quick
        >> drained
        << handle now2
        << send now2
        << resume
    """)


def test_a_request_under_way_while_the_answer_before_it_does_not_leave() -> None:
    play = Conversation()
    play("""
        >> slow
        >> bytes now1 2
        << handle now1
        << handle 2
        << send now1
        >> drained
    """)
    assert play.state == "PENDING"
    play("""
        >> answered two
        << send two
    """)
    assert play.state == "SENDING"
    play("""
        >> quick
        >> drained
        >> bytes now3
        << handle now3
        << send now3
    """)


def test_others_have_their_turn_after_so_many_requests() -> None:
    names = [f"now{number}" for number in range(FRAMES_PER_TURN + 1)]
    handled = "".join(f"<< handle {name}\n" for name in names[:-1])
    Conversation()(
        f">> bytes {' '.join(names)}\n{handled}<< send {' '.join(names[:-1])}\n"
        f"<< pause\n<< yield\n>> turn\n<< handle {names[-1]}\n<< send {names[-1]}\n<< resume"
    )


def test_others_have_their_turn_after_so_many_bytes() -> None:
    Conversation()(f"""
        >> bytes a*{TURN_REQUEST_BYTES} now
        << handle a
        << pause
        >> answered a
        << send a
        << yield
        >> turn
        << handle now
        << send now
        << resume
        >> bytes now1*{TURN_REQUEST_BYTES} now2
        << handle now1
        << send now1
        << pause
        << yield
        >> turn
        << handle now2
        << send now2
        << resume
    """)


def test_where_an_answer_does_not_leave_it_takes_no_turn() -> None:
    play = Conversation()
    play("""
        >> bytes 1 2
        << handle 1
        << pause
        >> slow
        >> answered one
        << send one
    """)
    assert play.state == "SENDING"
    play("""
        >> drained
        << handle 2
        >> answered two
        << send two
        >> full
        >> drained
        << resume
    """)


def test_a_full_channel_stops_reading_until_it_has_room() -> None:
    play = Conversation()
    play("""
        >> full
        >> bytes 1 2
        << pause
        << stall
    """)
    assert play.state == "STALLED"
    play("""
        >> bytes 3
        >> free
        >> room
        << handle 1
        >> answered one
        << send one
        << yield
        >> full
        >> turn
        << stall
        >> free
        >> room
        << handle 2
        >> answered two
        << send two
        << resume
        << handle 3
    """)


def test_answers_leave_before_it_stalls() -> None:
    play = Conversation()
    play("""
        >> bytes 1 2
        << handle 1
        << pause
        >> full
        >> answered one
        << send one
        << yield
        >> slow
        >> turn
        << stall
        >> room
        << stall
    """)


@pytest.mark.parametrize("end", ["abort", "lost", "end_of_input"])
def test_nothing_is_told_to_who_is_gone(end: str) -> None:
    play = Conversation()
    last = {"abort": "<< abort", "lost": ">> lost", "end_of_input": "<< close"}[end]
    play(
        f"""
        >> bytes 1 2
        << handle 1
        << pause
        >> {end}
        {last}
        >> answered one
        >> turn
        >> abort
        >> lost
    """
    )
    assert play.state == "CLOSING"
    assert reserved_bytes(play.reader) == 0
    assert not play.core.abort()
    play.core.received(10)
    assert not play.reader.has_unread, "what still comes is dropped"


def test_who_leaves_is_closed_when_what_is_under_way_is_answered() -> None:
    Conversation()("""
        >> leave
        << close
    """)
    Conversation()("""
        >> bytes 1 2
        << handle 1
        << pause
        >> leave
        >> answered one
        << send one
        << close
    """)
    Conversation()("""
        >> slow
        >> bytes now1
        << handle now1
        << send now1
        >> leave
        >> drained
        << close
    """)


def test_a_request_that_is_answered_by_closing_is_the_last_one() -> None:
    Conversation()("""
        >> bytes now1 bye 3
        << handle now1
        << handle bye
        << send now1
        << close
    """)


def test_no_answer_is_sent_once_it_is_gone() -> None:
    Conversation()("""
        >> bytes now1 lost 3
        << handle now1
        << handle lost
    """)


@pytest.mark.parametrize("waits", ["YIELDED", "STALLED"])
def test_who_leaves_with_requests_that_are_not_under_way_is_closed_at_once(waits: str) -> None:
    play = Conversation()
    play("""
        >> bytes 1 2
        << handle 1
        << pause
        >> answered one
        << send one
        << yield
    """)
    if waits == "STALLED":
        play("""
            >> full
            >> turn
            << stall
        """)
    assert play.state == waits
    play("""
        >> leave
        << close
    """)
