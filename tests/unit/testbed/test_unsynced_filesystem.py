"""A disk that waits for no device, and is like any other apart from that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ground import platform_calls
from testbed.unsynced_filesystem import UnsyncedFilesystem


def test_nothing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int) -> None:
        raise AssertionError("it waits for a device")

    monkeypatch.setattr(platform_calls, "sync", refuse)
    monkeypatch.setattr(platform_calls, "sync_data", refuse)
    filesystem = UnsyncedFilesystem(2, (str(tmp_path),))
    file = filesystem.open(f"{tmp_path}/log", create=True)
    file.append(b"a record")
    file.sync()
    filesystem.replace_atomically(f"{tmp_path}/checkpoint", b"1")
    filesystem.sync_dir(str(tmp_path))
    assert file.pread(8, 0) == b"a record"
    assert filesystem.read(f"{tmp_path}/checkpoint") == b"1"
    assert os.stat(f"{tmp_path}/log").st_mode & 0o77 == 0
    file.close()
