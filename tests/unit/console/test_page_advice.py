"""The page gives no advice that only fits a command line."""

from __future__ import annotations

from client.connection import PLAINTEXT_GUARD, Unanswered
from client.refusals import why
from console.page_advice import for_page
from protocol.errors import ErrorCode


def test_a_missing_right_names_no_option_of_a_command() -> None:
    text = why(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, "Read on topic t")
    assert for_page(f"t-0: {text}") == (
        "t-0: this takes Read on topic t, which this login does not have: an administrator can add "
        "an ACL for the console's login"
    )


def test_brokers_that_are_down_are_not_started_by_a_page() -> None:
    for port in (9092, 42592):
        unanswered = Unanswered(1.0, PLAINTEXT_GUARD)
        unanswered.add(("localhost", port), ConnectionRefusedError("refused"))
        error = str(unanswered.error())
        assert "ottla serve" in error
        assert for_page(error).startswith("no broker answers (localhost:")
        assert for_page(error).endswith("): check that the cluster is running")


def test_other_texts_stay() -> None:
    assert for_page("topic t: INVALID_CONFIG: no") == "topic t: INVALID_CONFIG: no"
