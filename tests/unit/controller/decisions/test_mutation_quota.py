"""Whether a topic may change so many partitions; of whole requests: `test_replication_control`."""

from __future__ import annotations

from controller.decisions.mutation_quota import QUOTA_EXCEEDED, quota_fault
from protocol.errors import ErrorCode


class Quota:
    def take_partitions(self, count: int) -> bool:
        return count < 5


def test_who_has_no_quota_may_change_any_number() -> None:
    assert quota_fault(None, 10**6) is None


def test_what_the_quota_does_not_allow_is_refused() -> None:
    assert quota_fault(Quota(), 4) is None
    assert quota_fault(Quota(), 5) is QUOTA_EXCEEDED
    assert QUOTA_EXCEEDED.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
