"""One value of a step made odd: a number beyond its range, a name that is none, null, a list twice.

Knows no API: goes by what stands in the body and by the names in `values`. What cannot be written
(null where null is not allowed) is tried again elsewhere. Owns no state.
"""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Iterator
from typing import Any

from tests.differential import values
from tests.differential.sequence import Resolver, Step, frame_of

TRIES = 12


def with_one_odd_value(rng: random.Random, step: Step) -> Step:
    """A copy of `step` with one value changed; the step itself where nothing can be."""
    paths = list(places_of(step.body))
    for _ in range(TRIES if paths else 0):
        changed = copy.deepcopy(step)
        path = rng.choice(paths)
        holder: Any = changed.body
        for key in path[:-1]:
            holder = holder[key]
        values_for_it = odd_values_for(path[-1], holder[path[-1]])
        if not values_for_it:
            continue
        holder[path[-1]] = rng.choice(values_for_it)
        if can_be_sent(changed):
            return changed
    return step


def can_be_sent(step: Step) -> bool:
    """Whether the messages' classes write it."""
    try:
        frame_of(step, Resolver("d-", {}).message(step), 1)
    except (struct.error, AssertionError, AttributeError, TypeError, ValueError, OverflowError):
        return False
    return True


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of whatever may change."""
    if isinstance(value, dict):
        for key in value:
            if not key.startswith("$") and key not in values.KEPT:
                yield (*path, key)
                yield from places_of(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                yield (*path, index)
            yield from places_of(item, (*path, index))


def odd_values_for(key: Any, value: Any) -> list[Any]:
    """What may stand there in place of `value`, itself left out.

    Null records are left to the grid of records: Kafka never answers them.
    """
    name = key if isinstance(key, str) else ""
    nothing = () if name == "records" else (None,)
    return [one for one in (*_odd(name, value), *nothing) if one != value]


def _odd(name: str, value: Any) -> tuple[Any, ...]:
    if name in values.ODD_VALUES:
        return values.ODD_VALUES[name]
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1, *values.ODD_LONGS)
    if isinstance(value, str):
        return _texts_for(name, value)
    if isinstance(value, list):
        return ([], [*value, value[0]]) if value else ()
    if isinstance(value, dict) and "$hex" in value:
        return values.ODD_BYTES
    if isinstance(value, dict) and "$" in value:
        if value["$"] in ("topic_id", "member"):
            return ({**value, "of": "nobody"},)
        return tuple({**value, "add": value.get("add", 0) + odd} for odd in (1, -1, 5, 1000))
    return ()


def _texts_for(name: str, value: str) -> tuple[Any, ...]:
    if value.startswith("~t") or name in ("topic", "topic_name"):
        return (*values.ODD_NAMES, *values.DOTS)
    return values.ODD_NAMES if value.startswith("~") else values.ODD_TEXTS
