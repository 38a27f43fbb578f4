"""Whether the host forks brokers. What it does: `tests/compat/testing`."""

from __future__ import annotations

import pytest

from ottla.testing import host
from ottla.testing.host import HostProcess


@pytest.mark.parametrize(
    ("platform", "variable", "role"),
    [("linux", "1", "host"), ("linux", "0", "spawning-host"), ("darwin", "1", "spawning-host")],
)
def test_it_forks_where_the_system_stands_that_and_nobody_forbids_it(
    monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, role: str
) -> None:
    roles: list[str] = []
    monkeypatch.setattr(host, "LedProcess", lambda role, _name: roles.append(role))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("OTTLA_TESTING_FORK", variable)
    HostProcess()
    assert roles == [role]
