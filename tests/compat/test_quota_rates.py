"""Rates under a quota by four clients, in short; `python -m tests.compat.quota_rates` takes longer.

With a short window and for seconds, a rate is nearer to the quota than to anything else, no more.
"""

from __future__ import annotations

import pytest

from tests.compat.quota_rates.cells import CLIENTS, COUNTS, OPERATIONS, pairwise
from tests.compat.quota_rates.measure import MeasureOptions, measured
from tests.compat.quota_rates.peers import OTTLA

SHORT = MeasureOptions(seconds=4.0, quota_bytes_per_s=1_000_000.0, windows=3, window_s=1)
LEAST, MOST = 0.02, 2.0
"""Of the quota. What two seconds left over may go at once; a machine that others use gives much
less, and a client that is not let through has nothing."""


@pytest.mark.long
@pytest.mark.java
def test_rates_are_about_the_quota() -> None:
    cells = pairwise()
    assert {(one.client, one.operation) for one in cells} == {
        (client, operation) for client in CLIENTS for operation in OPERATIONS
    }
    assert {(one.operation, one.count) for one in cells} == {
        (operation, count) for operation in OPERATIONS for count in COUNTS
    }
    found = measured(OTTLA, cells, SHORT, len(cells))
    off = {cell.user: one for cell, one in found.items() if not LEAST < one.after < MOST}
    assert off == {}
