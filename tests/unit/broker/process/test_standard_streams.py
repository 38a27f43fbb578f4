"""Lines that nobody can have are left out. (Descriptors: `tests/compat/test_daemon.py`.)"""

from __future__ import annotations

import errno
import io
import signal
import sys

import pytest

from broker.process.standard_streams import flush_standard_streams, is_heard, say


class Full(io.StringIO):
    """A file on a disk without room."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_full_disk_costs_the_lines_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Full()
    monkeypatch.setattr(sys, name, full)
    say("one", error=name == "stderr")
    say("two", error=name == "stderr")
    assert full.getvalue() == "one\n"
    getattr(sys, name).close()
    monkeypatch.setattr(sys, name, full)
    flush_standard_streams()
    assert getattr(sys, name) is not full
    getattr(sys, name).close()


def test_nohup_is_heeded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert not is_heard(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert is_heard(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert is_heard(signal.SIGINT)
