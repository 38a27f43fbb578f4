"""A token file is made once, private, and then stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from broker.config.start_error import StartError
from console.login.token_file import token_in


def test_a_token_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = token_in(path)
    assert len(token) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token_in(path) == token


@pytest.mark.parametrize("text", ["", "short", "with spaces and more", "ünïcode" * 4, "a" * 5000])
def test_a_token_that_does_not_fit_a_link(text: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(StartError, match="must have a token of 16 to 1024 letters"):
        token_in(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        token_in(tmp_path / "no" / "token")
