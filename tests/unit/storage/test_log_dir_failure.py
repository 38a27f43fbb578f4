"""A directory that fails is offline once, for good."""

from __future__ import annotations

from storage.log_dir_failure import LogDirFailure, LogDirFailureChannel


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
