"""Calls by way of the C library: 0 or an errno, and None where there is no such call."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

from storage import linux_calls


def test_a_range_is_handed_over(tmp_path: Path) -> None:
    call = linux_calls.sync_file_range()
    assert call is not None
    with open(tmp_path / "file", "wb", buffering=0) as file:
        file.write(b"x" * 10_000)
        assert call(file.fileno(), 0, 8_192) == 0
        assert call(file.fileno(), -1, 1) == errno.EINVAL
    assert call(-1, 0, 1) == errno.EBADF


def test_blocks_are_allocated(tmp_path: Path) -> None:
    call = linux_calls.fallocate()
    assert call is not None
    with open(tmp_path / "file", "wb") as file:
        assert call(file.fileno(), 100_000) in (0, errno.EOPNOTSUPP)
        assert call(file.fileno(), 0) in (errno.EINVAL, errno.EOPNOTSUPP)
    assert (tmp_path / "file").stat().st_size == 0
    assert call(-1, 1) == errno.EBADF


def test_a_system_without_it() -> None:
    assert linux_calls._function("no_such_function") is None


def test_a_start_does_not_pay_for_it() -> None:
    code = "import sys, storage.directories.log_manager; print('ctypes' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
