from __future__ import annotations

from pathlib import Path

import pytest

from log_format.damage import LogError
from log_format.files import Files


def test_what_is_there(tmp_path: Path) -> None:
    files, path = Files(), str(tmp_path / "a")
    Path(path).write_bytes(b"0123456789")
    assert files.names(str(tmp_path)) == ["a"]
    assert files.is_folder(str(tmp_path)) and not files.is_folder(path)
    assert files.content(path) == b"0123456789" and files.size(path) == 10
    with files.opened(path) as file:
        assert file.read(4, 3) == b"3456" and file.read(4, 8) == b"89"


def test_what_is_not(tmp_path: Path) -> None:
    files, path = Files(), str(tmp_path / "a")
    assert files.content(path) is None
    for asked in (files.names, files.size, files.opened):
        with pytest.raises(LogError, match=r"a: No such file"):
            asked(path)
    with pytest.raises(LogError, match="Is a directory"):
        files.content(str(tmp_path))
    with files.opened(str(tmp_path)) as folder, pytest.raises(LogError, match="Is a directory"):
        folder.read(1, 0)


def test_a_stamp_tells_that_a_file_was_written_or_replaced(tmp_path: Path) -> None:
    files, path = Files(), tmp_path / "a"
    assert files.stamp(str(path)) is None
    path.write_bytes(b"01")
    first = files.stamp(str(path))
    assert first is not None and first.size == 2
    assert first.modified_ms == path.stat().st_mtime_ns // 1_000_000
    other = tmp_path / "b"
    other.write_bytes(b"01")
    other.replace(path)
    assert files.stamp(str(path)) != first
