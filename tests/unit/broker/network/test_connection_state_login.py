"""The core of a connection before it is known who is there."""

from __future__ import annotations

from broker.network.connection_state import AUTHENTICATING
from tests.unit.broker.network.conversation import Conversation


def login(**options: int) -> Conversation:
    return Conversation(state=AUTHENTICATING, **options)


def test_frames_are_checked_until_one_is_enough_and_handled_from_then_on() -> None:
    play = login()
    play("""
        >> bytes mechanism
        << check mechanism
        << send mechanism
        >> bytes good
        << check good
        << send good
        >> bytes now1
        << handle now1
        << send now1
    """)
    assert play.state == "READY"


def test_what_comes_together_is_taken_in_its_order() -> None:
    login()("""
        >> bytes mechanism good now1 2
        << check mechanism
        << check good
        << handle now1
        << handle 2
        << send mechanism good now1
        >> answered two
        << send two
    """)


def test_what_comes_behind_a_refusal_is_never_handled() -> None:
    play = login()
    play("""
        >> bytes bad now1
        << check bad
        << pause
    """)
    assert play.state == "REFUSED"
    play("""
        >> said wrong
        << send wrong
        >> leave
        << close
    """)
    assert play.state == "CLOSING"


def test_a_refusal_waits_until_it_is_said_and_reads_no_more() -> None:
    play = login()
    play("""
        >> bytes bad
        << check bad
        >> bytes good
        << pause
        >> leave
        << close
    """)


def test_who_goes_or_is_cut_off_while_a_refusal_waits_hears_nothing() -> None:
    for end, done in (("abort", "abort"), ("lost", None), ("end of input", "close")):
        play = login()
        play(f"""
            >> bytes bad
            << check bad
            >> {end}
            {f"<< {done}" if done else ""}
        """)
        assert play.state == "CLOSING"


def test_a_stop_closes_who_has_not_logged_in() -> None:
    login()("""
        >> leave
        << close
    """)


def test_a_frame_in_pieces_is_waited_for_as_ever() -> None:
    play = login()
    play("""
        >> bytes good[:3]
        << await rest
        >> bytes good[3:]
        << check good
        << send good
    """)
    assert play.state == "READY"


def test_a_login_waits_while_all_else_has_its_turn() -> None:
    play = login()
    play("""
        >> others
        >> bytes mechanism good
        << pause
        << stall
    """)
    assert play.state == "HELD_UP"
    play("""
        >> ours
        >> room
        << check mechanism
        << check good
        << send mechanism good
        << resume
    """)
    assert play.state == "READY"


def test_a_connection_that_is_held_up_may_end() -> None:
    play = login()
    play("""
        >> others
        >> bytes mechanism
        << pause
        << stall
        >> lost
        >> room
    """)
    assert play.state == "CLOSING"


def test_who_fails_to_log_in_again_is_not_handled_any_more() -> None:
    play = login()
    play("""
        >> bytes good now1 bad now2
        << check good
        << handle now1
        << handle bad
        << send good now1
        << pause
    """)
    assert play.state == "REFUSED"
    play("""
        >> said wrong
        << send wrong
        >> leave
        << close
    """)
