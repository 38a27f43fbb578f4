"""Every wait of a scenario ends."""

from __future__ import annotations

import signal

import pytest

from bench import watch
from bench.peers import BenchPeer
from bench.watch import PeerDiedError, TooSlowError, watched


class Mortal(BenchPeer):
    """Dead or alive."""

    def __init__(self, end: str | None) -> None:
        super().__init__("mortal")
        self.end = end

    def death(self) -> str | None:
        return self.end


def wait_for_ever() -> None:
    while True:
        signal.pause()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "TICK_S", 0.01)


def test_a_death_ends_a_wait_and_is_told() -> None:
    with (
        pytest.raises(PeerDiedError, match="mortal ended with code 1: no space left"),
        watched(Mortal("ended with code 1: no space left"), 60),
    ):
        wait_for_ever()


def test_a_wait_ends_after_its_time() -> None:
    with pytest.raises(TooSlowError, match="given up"), watched(Mortal(None), 0.03):
        wait_for_ever()


def test_afterwards_the_alarm_is_what_it_was() -> None:
    """pytest-timeout's here, if anybody's."""
    handler, (_, interval) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with watched(Mortal(None), 60):
        assert signal.getsignal(signal.SIGALRM) is not handler
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.01)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[1] == interval
