"""The alternate screen of a terminal: entered, cleared, and left whatever ends the command."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from command.terminal.live_screen import can_redraw, live_screen

ENTER, CLEAR, LEAVE = "\x1b[?1049h", "\x1b[H\x1b[2J", "\x1b[?1049l"


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the captured standard output a terminal that can clear its screen. Call it in the test:
    capsys replaces standard output after the fixtures."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_screen(
    number: signal.Signals,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_terminal(monkeypatch)
    before = signal.getsignal(number)
    with live_screen() as screen:
        screen.clear()
        print("text")
        os.kill(os.getpid(), number)
    assert capsys.readouterr().out == f"{ENTER}{CLEAR}text\n{LEAVE}"
    assert screen.exit_code == code
    assert signal.getsignal(number) == before


def test_an_error_ends_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch)
    with pytest.raises(ValueError), live_screen():
        raise ValueError
    assert capsys.readouterr().out == f"{ENTER}{LEAVE}"


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_terminal_without_a_cursor_has_no_screen(
    term: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch)
    assert can_redraw(sys.stdout)
    if term is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", term)
    with live_screen() as screen:
        assert not screen.is_drawn
    assert capsys.readouterr().out == ""
    assert not can_redraw(sys.stdout)
