"""Memory that nobody counts."""

from __future__ import annotations

from protocol.frames.frame_memory import UNCOUNTED


def test_whoever_is_trusted_has_what_is_asked_for() -> None:
    assert UNCOUNTED.claim(2**40)
    UNCOUNTED.hold(2**40)
    UNCOUNTED.free(2**40)
    assert UNCOUNTED.claim(2**40)
