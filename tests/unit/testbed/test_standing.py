"""A broker takes over where the tests stand, and what is ours stays ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from testbed.standing import adopt_place


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys, "path", ["/ours", "/both"])
    monkeypatch.chdir(".")


def test_all_of_it(tmp_path: Path) -> None:
    path = ["", "/theirs", "/both"]
    adopt_place({"folder": str(tmp_path), "environment": {"A": "1"}, "path": path})
    assert Path.cwd() == tmp_path
    assert os.environ == {"A": "1"}
    assert sys.path == ["/ours", "/both", "/theirs"]


@pytest.mark.parametrize("folder", [None, "/it/is/not/there"])
def test_a_folder_that_is_gone_is_no_matter(folder: str | None) -> None:
    before = Path.cwd()
    adopt_place({"folder": folder, "environment": {}, "path": []})
    assert Path.cwd() == before
