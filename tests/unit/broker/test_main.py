"""`python -m broker` is the command `ottla`."""

from __future__ import annotations

import sys

import pytest

from broker.__main__ import main


def test_main_ends_with_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ottla", "no-such-command"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("ottla: No such command")
