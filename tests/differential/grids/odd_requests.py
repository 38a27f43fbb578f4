"""Every API in several versions with every odd value in every place, one at a time.

The requests are those of `generate`, drawn with a fixed seed; the sequence before them makes what
they ask about. A place's values are sent one after the other.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.bodies_of_share_groups import BODIES as OF_SHARE_GROUPS
from tests.differential.generate import BODIES, Versions
from tests.differential.grids.shares import ready_group
from tests.differential.grids.steps import create, init, join, produce, sync
from tests.differential.odd_values import can_be_sent, odd_values_for, places_of
from tests.differential.sequence import Sequence, Step


def grid(versions: Versions) -> Iterator[Sequence]:
    for api, (oldest, latest) in sorted(versions.items()):
        for version in sorted({oldest, (oldest + latest) // 2, latest}):
            yield from _of(api, version)


def _before(api: str) -> list[Step]:
    if api in OF_SHARE_GROUPS:
        return ready_group()
    return [
        create("~t0"),
        produce([{"n": 3}]),
        init("~x0"),
        join(member_id=""),
        join(),
        sync(),
    ]


def _of(api: str, version: int) -> Iterator[Sequence]:
    rng = random.Random(f"odd {api} {version}")
    for _ in range(20):
        body, connection = BODIES[api](rng, version)
        step = Step(api, version, body, connection or 0)
        if can_be_sent(step):
            break
    before = _before(api)
    for path in places_of(step.body):
        steps = [one for one in _with(step, path) if can_be_sent(one)]
        if steps:
            where = ".".join(str(part) for part in path)
            name = f"odd {api} v{version} {where}"
            yield Sequence(name, [*before, *steps], setup=len(before))


def _with(step: Step, path: tuple[Any, ...]) -> Iterator[Step]:
    holder: Any = step.body
    for key in path[:-1]:
        holder = holder[key]
    for value in odd_values_for(path[-1], holder[path[-1]]):
        changed = copy.deepcopy(step)
        holder_of_copy: Any = changed.body
        for key in path[:-1]:
            holder_of_copy = holder_of_copy[key]
        holder_of_copy[path[-1]] = value
        yield changed
