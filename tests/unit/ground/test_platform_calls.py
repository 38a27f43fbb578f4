"""What Linux does and what takes its place elsewhere give the same."""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ground import platform_calls

LINUX_ONLY = ("fdatasync", "memfd_create", "posix_fadvise", "preadv", "pwritev", "RWF_NOWAIT")
FULL_FSYNC = 51


def loaded_anew() -> ModuleType:
    """The module as a system that is seen now has it."""
    spec = importlib.util.spec_from_file_location("platform_calls_anew", platform_calls.__file__)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """On a system with none of the calls."""
    for name in LINUX_ONLY:
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(fcntl, "F_FULLFSYNC", raising=False)
    return loaded_anew()


@pytest.fixture(params=["here", "elsewhere"])
def calls(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("bare") if request.param == "elsewhere" else platform_calls


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_bytes(b"0123456789")
    fd = os.open(tmp_path / "file", os.O_RDWR)
    yield fd
    os.close(fd)


def test_parts_are_written_one_behind_the_other(calls: Any, fd: int) -> None:
    assert calls.write_parts(fd, [b"ab", memoryview(b"cd"), bytearray(b"e")], 8) == 5
    assert os.pread(fd, 100, 0) == b"01234567abcde"


def test_a_buffer_is_filled_up_to_the_end_of_the_file(calls: Any, fd: int) -> None:
    buffer = bytearray(b"......")
    assert calls.read_into(fd, [buffer], 2, 0) == 6
    assert buffer == b"234567"
    assert calls.read_into(fd, [memoryview(buffer)[:4]], 8, 0) == 2
    assert buffer == b"894567"
    assert calls.read_into(fd, [buffer], 10, 0) == 0


def test_a_file_and_a_folder_can_be_synced(calls: Any, fd: int, tmp_path: Path) -> None:
    calls.sync(fd)
    calls.sync_data(fd)
    folder = os.open(tmp_path, os.O_RDONLY)
    calls.sync(folder)
    os.close(folder)
    with pytest.raises(OSError, match="Bad file"):
        calls.sync_data(folder)


def test_a_file_is_asked_for(calls: Any, fd: int) -> None:
    calls.ask_for_file(fd)


def test_bytes_can_be_read_under_a_path_more_than_once(calls: Any) -> None:
    data = os.urandom(300_000)
    with calls.readable_path(data) as path:
        assert Path(path).read_bytes() == Path(path).read_bytes() == data
    assert not os.path.exists(path)


def test_a_file_in_the_place_of_memory_is_its_owners_alone(bare: Any) -> None:
    with bare.readable_path(b"key") as path:
        assert os.stat(path).st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match="wrong"), bare.readable_path(b"key") as path:
        raise ValueError("wrong")
    assert not os.path.exists(path)


def test_a_system_without_it_tells_nothing_of_its_page_cache(bare: Any) -> None:
    assert bare.NO_WAIT == 0


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="of Linux")
def test_on_linux_the_calls_are_its_own() -> None:
    assert platform_calls.NO_WAIT == os.RWF_NOWAIT
    assert platform_calls.read_into is os.preadv and platform_calls.write_parts is os.pwritev
    assert platform_calls.sync is os.fsync and platform_calls.sync_data is os.fdatasync


# --- F_FULLFSYNC ----------------------------------------------------------------------------------


class Drive:
    """What a macOS drive is asked, and what it says to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, int]] = []
        self.says = 0
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULL_FSYNC, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", self.fcntl)
        monkeypatch.setattr(os, "fsync", lambda fd: self.asked.append(("fsync", fd)))
        self.calls: Any = loaded_anew()

    def fcntl(self, fd: int, command: int) -> int:
        assert command == FULL_FSYNC
        self.asked.append(("full", fd))
        if self.says:
            raise OSError(self.says, os.strerror(self.says))
        return 0


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(monkeypatch)


def test_on_macos_the_drive_itself_is_asked(drive: Drive) -> None:
    drive.calls.sync(3)
    drive.calls.sync_data(4)
    assert drive.asked == [("full", 3), ("full", 4)]


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_a_file_system_that_cannot_ask_its_drive_is_synced(drive: Drive, code: int) -> None:
    drive.says = code
    drive.calls.sync_data(3)
    assert drive.asked == [("full", 3), ("fsync", 3)]


def test_a_drive_that_fails_is_told(drive: Drive) -> None:
    drive.says = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        drive.calls.sync_data(3)
    assert drive.asked == [("full", 3)]


# --- by way of the C library ----------------------------------------------------------------------


def test_a_range_is_handed_over_to_linux(tmp_path: Path) -> None:
    call = platform_calls.sync_file_range()
    assert call is not None
    with open(tmp_path / "file", "wb", buffering=0) as file:
        file.write(b"x" * 10_000)
        assert call(file.fileno(), 0, 8_192) == 0
        assert call(file.fileno(), -1, 1) == errno.EINVAL
    assert call(-1, 0, 1) == errno.EBADF


def test_blocks_are_allocated_by_linux(tmp_path: Path) -> None:
    call = platform_calls.fallocate()
    assert call is not None
    with open(tmp_path / "file", "wb") as file:
        assert call(file.fileno(), 100_000) in (0, errno.EOPNOTSUPP)
        assert call(file.fileno(), 0) in (errno.EINVAL, errno.EOPNOTSUPP)
    assert (tmp_path / "file").stat().st_size == 0
    assert call(-1, 1) == errno.EBADF


def test_a_c_library_without_it() -> None:
    assert platform_calls._function("no_such_function") is None


def test_a_start_does_not_pay_for_it() -> None:
    code = "import sys, storage.directories.log_manager; print('ctypes' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


@pytest.mark.parametrize(
    ("system", "release", "tells"),
    [
        ("Linux", "6.1.0-13-amd64", True),
        ("Linux", "5.17.0", True),
        ("Linux", "5.15.0-91-generic", False),
        ("Linux", "unheard of", False),
        ("Darwin", "23.1.0", False),
    ],
)
def test_a_volume_is_synced_where_a_failed_journal_is_told(
    system: str, release: str, tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = os.uname_result((system, "host", release, "", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: names)
    monkeypatch.setattr(platform_calls, "_function", lambda _name: len)
    platform_calls.sync_volume.cache_clear()
    try:
        assert (platform_calls.sync_volume() is not None) is tells
    finally:
        platform_calls.sync_volume.cache_clear()
