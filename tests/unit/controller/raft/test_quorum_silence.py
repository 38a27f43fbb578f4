"""`quorum_silence`: not too soon, not too often, and when it is over."""

from __future__ import annotations

import pytest

from controller.raft.quorum_silence import FIRST_LOG_MS, LOG_INTERVAL_MS, QuorumSilence

BACK = "a leader of the quorum is reached again"


class Silence:
    """Time that is moved by hand, and what is said."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now_ms = 1_000_000.0
        self.log = caplog
        self.silence = QuorumSilence("the.key", lambda: self.now_ms)

    def try_for(self, duration_ms: int, address: str = "1@a:9") -> list[str]:
        """Fail ten times a second; the lines that came of it."""
        self.log.clear()
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.silence.failed(address, "connection refused")
            self.now_ms += 100
        return self.log.messages

    def end(self) -> list[str]:
        self.log.clear()
        self.silence.leader_reached()
        return self.log.messages


@pytest.fixture
def node(caplog: pytest.LogCaptureFixture) -> Silence:
    return Silence(caplog)


def test_an_election_is_no_silence(node: Silence) -> None:
    for _ in range(5):
        assert node.try_for(FIRST_LOG_MS) == []
        assert node.end() == []


def test_it_is_said_once_a_minute_for_how_long_and_when_it_is_over(node: Silence) -> None:
    (line,) = node.try_for(LOG_INTERVAL_MS)
    assert "for 3 s: 1@a:9: connection refused." in line and "that the.key has" in line
    (line,) = node.try_for(LOG_INTERVAL_MS)
    assert "for 63 s: 1@a:9: connection refused." in line
    assert node.end() == [BACK]
    assert node.end() == []


def test_addresses_of_an_earlier_silence_are_forgotten(node: Silence) -> None:
    assert len(node.try_for(2 * FIRST_LOG_MS, "1@a:9")) == 1
    node.end()
    (line,) = node.try_for(2 * FIRST_LOG_MS, "2@b:9")
    assert "for 3 s: 2@b:9: connection refused." in line and "1@a:9" not in line
