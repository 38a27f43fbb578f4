"""A failed login is one line, at most so many a second, and the others are counted."""

from __future__ import annotations

import pytest

from broker.security.logins import Logins


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_line_names_peer_listener_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    logins = Logins("EXTERNAL", 10, Clock())
    logins.failure("h:9092-10.0.0.7:5-0-1", "10.0.0.7", "PLAIN", "Authentication failed: wrong")
    (line,) = caplog.messages
    assert line == (
        "Failed authentication with /10.0.0.7 on listener EXTERNAL by PLAIN "
        "(channelId=h:9092-10.0.0.7:5-0-1) (Authentication failed: wrong)"
    )
    logins.failure("name", "10.0.0.7", "PLAIN", "ended", again=True)
    assert caplog.messages[1].startswith("Failed re-authentication with /10.0.0.7")
    assert (logins.failed, logins.failed_renewals) == (1, 1)


def test_so_many_a_second_are_logged_and_the_next_line_tells_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    logins = Logins("L", 2, clock)
    for _ in range(7):
        logins.failure("c", "h", "PLAIN", "no")
    assert len(caplog.messages) == 2
    clock.now_s = 1.5
    logins.failure("c", "h", "PLAIN", "no")
    assert caplog.messages[-1].endswith("; 5 failures before this one were not logged")
    clock.now_s = 2.5
    logins.failure("c", "h", "PLAIN", "no")
    assert caplog.messages[-1].endswith("(no)")
    assert logins.failed == 9


def test_successes_are_counted() -> None:
    logins = Logins("L", 2, Clock())
    logins.success()
    logins.success(again=True)
    assert (logins.succeeded, logins.renewed) == (1, 1)
