"""What a broker is told about the tests' process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ottla.testing.standing import place


def test_it_is_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OF_THIS_TEST", "1")
    monkeypatch.syspath_prepend("/of/this/test")
    found = place()
    assert found["folder"] == str(tmp_path)
    assert found["environment"]["OF_THIS_TEST"] == "1"
    assert found["path"] == sys.path


def test_a_folder_that_was_removed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    assert place()["folder"] is None
