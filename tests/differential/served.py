"""Which APIs and versions both brokers advertise: what sequences and grids are made of."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from tests.differential.pair import Pair
from tests.differential.sequence import Step


def versions_of(pair: Pair) -> dict[str, tuple[int, int]]:
    """API → oldest and latest version that both name."""
    step = Step("API_VERSIONS", 0)
    kafka, ottla = (side.receive(side.send(step)).api_keys for side in pair.sides())
    ours = {one.api_key: one for one in ottla}
    common = {}
    for theirs in kafka:
        own = ours.get(theirs.api_key)
        if own is None:
            continue
        oldest = max(theirs.min_version, own.min_version)
        latest = min(theirs.max_version, own.max_version)
        common[ApiKey(theirs.api_key).name] = (oldest, latest)
    return common
