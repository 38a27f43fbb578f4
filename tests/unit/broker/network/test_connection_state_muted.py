"""The core of a connection whose client has taken more than its quota."""

from __future__ import annotations

from tests.unit.broker.network.conversation import Conversation


def test_what_it_sends_stays_at_the_socket_until_its_time_is_over() -> None:
    play = Conversation()
    play("""
        >> bytes 1
        << handle 1
        >> throttled one
        << send one
        << pause
    """)
    assert play.state == "MUTED"
    read = play.received_bytes
    play("""
        >> bytes now2 now3
    """)
    assert play.received_bytes == read
    assert play.kernel
    play("""
        >> unmuted
        << resume
        << handle now2
        << handle now3
        << send now2 now3
    """)
    assert play.state == "READY"


def test_what_was_read_before_waits_as_long() -> None:
    Conversation()("""
        >> bytes 1 now2
        << handle 1
        << pause
        >> throttled one
        << send one
        >> bytes now3
        >> unmuted
        << handle now2
        << send now2
        << resume
        << handle now3
        << send now3
    """)


def test_a_request_without_an_answer_is_throttled_too() -> None:
    play = Conversation()
    play("""
        >> bytes 1
        << handle 1
        >> throttled nothing
        << pause
        >> bytes now2
        >> unmuted
        << resume
        << handle now2
        << send now2
    """)


def test_an_answer_that_has_not_left_goes_on_holding_it_back() -> None:
    play = Conversation()
    play("""
        >> slow
        >> bytes 1
        << handle 1
        >> throttled one
        << send one
        << pause
        >> bytes now2
        >> unmuted
    """)
    assert play.state == "SENDING"
    play("""
        >> quick
        >> drained
        << resume
        << handle now2
        << send now2
    """)


def test_an_answer_that_leaves_meanwhile_ends_no_wait() -> None:
    play = Conversation()
    play("""
        >> slow
        >> bytes 1
        << handle 1
        >> throttled one
        << send one
        << pause
        >> drained
    """)
    assert play.state == "MUTED"
    play("""
        >> unmuted
        << resume
    """)
    assert play.state == "READY"


def test_it_can_end_meanwhile() -> None:
    play = Conversation()
    play("""
        >> bytes 1
        << handle 1
        >> throttled one
        << send one
        << pause
        >> leave
        << close
        >> unmuted
    """)
    assert play.state == "CLOSING"
