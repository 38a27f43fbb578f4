"""A process ends with its parent; one with a host that is killed: `tests/compat/testing`."""

from __future__ import annotations

import os
import sys

import pytest

from testbed.parent_death import die_with_parent


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    die_with_parent(1)()


def test_one_whose_parent_died_before_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: _Library())
    monkeypatch.setattr(sys, "platform", "linux")
    die_with_parent(os.getppid())()
    with pytest.raises(Ended):
        die_with_parent(os.getpid())()


class _Library:
    def prctl(self, *arguments: int) -> int:
        return 0
