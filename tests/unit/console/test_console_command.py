"""`ottla console`: its words."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from command.admin.decode_options import DecodeOptions
from console import server
from console.console_command import console
from console.options import ConsoleOptions


def test_what_explains_values(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ConsoleOptions] = []
    monkeypatch.setattr(server, "run", lambda options, *, while_stdin: started.append(options))
    decode = DecodeOptions(("a.avsc",), "d", ("t=a.B",), "http://r:8081")
    assert CliRunner().invoke(console, decode.words()).exit_code == 0
    assert [one.decode for one in started] == [decode]


def test_a_folder_that_is_not_there() -> None:
    found = CliRunner().invoke(console, ["--data", "/no/such"])
    assert found.exit_code == 2
    assert "Directory '/no/such' does not exist" in found.output
