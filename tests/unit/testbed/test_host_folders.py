"""Folders of brokers under test: removed with their host, and after it where it was killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from testbed.host_folders import HostFolders, sweep


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_no_other_folder_is_removed(tmp_path: Path) -> None:
    folders = HostFolders()
    folders.make("broker")
    with pytest.raises(AssertionError):
        folders.remove(str(tmp_path))
    folders.leave()


def test_what_is_to_be_kept_stays(temporary: Path) -> None:
    folders = HostFolders()
    kept, other = Path(folders.make("one", keep=True)), Path(folders.make("two"))
    folders.remove(str(kept))
    folders.remove_all()
    folders.leave()
    assert kept.exists() and not other.exists()
    os.utime(kept.parent, (1, 1))
    sweep(temporary)
    assert kept.exists()


def test_what_a_killed_host_left_is_removed_by_the_next(temporary: Path) -> None:
    killed, living = HostFolders(), HostFolders()
    left, used = Path(killed.make("one")), Path(living.make("one"))
    killed.leave()  # the lock is given back by the death of a process
    sweep(temporary)
    assert left.exists(), "it may have been made at this moment"
    for one in (left, used):
        os.utime(one.parent, (1, 1))
    (temporary / "ottla-test-other").mkdir()
    os.utime(temporary / "ottla-test-other", (1, 1))
    HostFolders().make("two")
    assert not left.exists() and used.exists()
    assert (temporary / "ottla-test-other").exists(), "whose is it?"
    living.remove_all()
    living.remove_all()
