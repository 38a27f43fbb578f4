"""Grids: small sets of values, every combination, each as a sequence of its own or many as one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.differential.frames import frames
from tests.differential.generate import Versions
from tests.differential.grids import (
    acls,
    configs,
    fetches,
    groups,
    known,
    odd_requests,
    records,
    shares,
    times,
    transactions,
    users,
)
from tests.differential.sequence import Sequence

GRIDS = {
    "records": records.grid,
    "fetches": fetches.grid,
    "groups": groups.grid,
    "shares": shares.grid,
    "transactions": transactions.grid,
    "configs": configs.grid,
    "users": users.grid,
    "acls": acls.grid,
    "odd": odd_requests.grid,
    "times": times.grid,
    "frames": frames,
    "known": known.grid,
}


def all_grids(
    versions: Versions, names: list[str] | None = None, every: int = 1
) -> Iterator[Sequence]:
    """The sequences of the grids of these names, or one in `every`."""
    for name in GRIDS if names is None else names:
        yield from itertools.islice(GRIDS[name](versions), 0, None, every)
