"""Failed logins are limited for each address, and for all together."""

from __future__ import annotations

from console.login.attempts import ADDRESSES_MAX, ALL_FAILURES_MAX, FAILURES_MAX, FailedLogins


def test_an_address_waits_after_some_failures() -> None:
    failed = FailedLogins()
    for second in range(FAILURES_MAX):
        assert failed.wait_s("a", second) == 0
        failed.add("a", second)
    assert failed.wait_s("a", 10) == 50
    assert failed.wait_s("b", 10) == 0
    assert failed.wait_s("a", 61) == 0


def test_many_addresses_wait_together() -> None:
    failed = FailedLogins()
    for number in range(ALL_FAILURES_MAX):
        failed.add(f"a{number}", 5)
    assert failed.wait_s("new", 6) == 59
    assert failed.wait_s("new", 65) == 0


def test_so_many_addresses_are_remembered() -> None:
    failed = FailedLogins()
    for number in range(ADDRESSES_MAX + 1):
        failed.add(str(number), 1_000.0 * number)
    assert len(failed._by_address) == ADDRESSES_MAX
