"""A load in a process: it is told to end, and says what it did."""

from __future__ import annotations

import json
import os
import signal

import pytest

from bench.innocent import load
from bench.innocent.told import Told


def test_it_ends_by_a_signal_wherever_it_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def waits(port: int, told: Told) -> None:
        told.ready()
        told.did(port)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(load, "LOADS", {"waits": waits})
    try:
        assert load.main(["waits", "7"]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    ready, last = capsys.readouterr().out.splitlines()
    assert ready == "ready"
    assert json.loads(last)["units"] == 7
