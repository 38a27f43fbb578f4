"""A directory that fails is offline once, for good."""

from __future__ import annotations

import errno

import pytest

from storage.log.log_dir_failure import (
    DescriptorsLack,
    LogDirFailure,
    LogDirFailureChannel,
    advice,
    is_lack_of_descriptors,
)


def test_listeners_hear_of_a_directory_once() -> None:
    channel = LogDirFailureChannel()
    told: list[tuple[str, str]] = []
    channel.listen(lambda log_dir, reason: told.append((log_dir, reason)))
    assert not channel.is_offline("/a")
    failure = channel.fail("/a", "append of t-0", OSError(5, "Input/output error"))
    channel.fail("/a", "read of t-0", OSError(5, "Input/output error"))
    assert told == [("/a", "append of t-0: [Errno 5] Input/output error")]
    assert channel.is_offline("/a") and not channel.is_offline("/b")
    assert channel.offline_dirs() == {"/a": "append of t-0: [Errno 5] Input/output error"}
    assert isinstance(failure, LogDirFailure)
    assert failure.log_dir == "/a"
    assert str(failure).endswith("(log directory /a)")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_what_to_do(number: int) -> None:
    channel = LogDirFailureChannel()
    told: list[str] = []
    channel.listen(lambda _, reason: told.append(reason))
    channel.fail("/a", "append of t-0", OSError(number, "full"))
    (reason,) = told
    assert reason.startswith(f"append of t-0: [Errno {number}] full. Free space")
    assert channel.offline_dirs() == {"/a": f"append of t-0: [Errno {number}] full"}
    assert not advice(OSError(errno.EIO, "broken")) and not advice(None)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_descriptors_is_told_and_takes_no_directory_offline(number: int) -> None:
    channel = LogDirFailureChannel()
    offline: list[object] = []
    lacking: list[str] = []
    channel.listen(lambda log_dir, reason: offline.append(log_dir))
    channel.on_lack(lacking.append)
    for _ in range(2):
        lack = channel.fail("/a", "roll of t-0", OSError(number, "Too many open files"))
        assert isinstance(lack, DescriptorsLack) and lack.log_dir == "/a"
    assert lacking == [f"roll of t-0: [Errno {number}] Too many open files"] * 2
    assert not offline and not channel.is_offline("/a") and not channel.offline_dirs()


def test_what_is_a_lack_and_what_is_not() -> None:
    assert not is_lack_of_descriptors(None)
    assert not is_lack_of_descriptors(ValueError())
    assert not is_lack_of_descriptors(OSError(errno.EIO, "broken"))
    assert is_lack_of_descriptors(OSError(errno.EMFILE, "too many"))
