"""How many files a process may open: as many as the system gives."""

from __future__ import annotations

import resource

import pytest

from broker.process.descriptor_limit import open_files_max, raise_descriptor_limit


def test_the_process_may_open_as_many_files_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
        assert open_files_max() == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_hard_limit_that_no_process_can_have_is_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on macOS: 256, and no end; more than OPEN_MAX is refused."""
    limits = (256, 2**63 - 1)

    def setrlimit(_which: int, wanted: tuple[int, int]) -> None:
        nonlocal limits
        if wanted[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")
        limits = wanted

    monkeypatch.setattr(resource, "getrlimit", lambda _which: limits)
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    raise_descriptor_limit()
    assert limits == (10_240, 2**63 - 1)
    limits = (20_000, 2**63 - 1)
    raise_descriptor_limit()
    assert limits == (20_000, 2**63 - 1)
