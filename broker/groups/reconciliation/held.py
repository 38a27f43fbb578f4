"""What a member has of what its group gives out: numbers of containers, and since which epoch.

A container is a topic, by its id, and its numbers are partitions. Nothing here knows that: a task
of a streams group, by its subtopology, is held in the same way. Owns the arithmetic; every function
makes something new and leaves what it was given. Containers without numbers do not occur, and
numbers ascend.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)

Held: TypeAlias = Mapping[K, Mapping[int, int]]
"""By container: number → the epoch in which the member was given it."""

Named: TypeAlias = Mapping[K, tuple[int, ...]]
"""By container: its numbers."""


def split(held: Held[K], target: Named[K]) -> tuple[Held[K], Held[K]]:
    """What of `held` the target has too, and what it has not."""
    kept: dict[K, Mapping[int, int]] = {}
    lost: dict[K, Mapping[int, int]] = {}
    for container, numbers in held.items():
        wanted = frozenset(target.get(container, ()))
        both = {number: epoch for number, epoch in numbers.items() if number in wanted}
        if both:
            kept[container] = both
        if len(both) < len(numbers):
            rest = {number: epoch for number, epoch in numbers.items() if number not in wanted}
            lost[container] = rest
    return kept, lost


def without(target: Named[K], held: Held[K]) -> Named[K]:
    """What of `target` is not held."""
    missing: dict[K, tuple[int, ...]] = {}
    for container, numbers in target.items():
        here = held.get(container, {})
        rest = tuple(number for number in numbers if number not in here)
        if rest:
            missing[container] = rest
    return missing


def with_given(held: Held[K], given: Named[K], epoch: int) -> Held[K]:
    """`held` and `given`, the latter since `epoch`."""
    both: dict[K, Mapping[int, int]] = dict(held)
    for container, numbers in given.items():
        added = {**both.get(container, {}), **dict.fromkeys(numbers, epoch)}
        both[container] = dict(sorted(added.items()))
    return both


def overlap(named: Named[K], held: Held[K]) -> bool:
    """Whether anything is in both."""
    for container, numbers in named.items():
        here = held.get(container)
        if here is not None and any(number in here for number in numbers):
            return True
    return False


def is_within(named: Named[K], held: Held[K]) -> bool:
    """Whether all of `named` is held."""
    for container, numbers in named.items():
        here = held.get(container, {})
        if any(number not in here for number in numbers):
            return False
    return True


def only(target: Named[K], wanted: Callable[[K], bool]) -> Named[K]:
    """`target` without the containers that are not wanted; itself where all are."""
    kept = {container: numbers for container, numbers in target.items() if wanted(container)}
    return target if len(kept) == len(target) else kept


def names(held: Held[K]) -> Named[K]:
    """`held` without epochs."""
    return {container: tuple(numbers) for container, numbers in held.items()}


def same_names(one: Held[K], other: Held[K]) -> bool:
    """Whether both are the same, whatever the epochs."""
    if one is other:
        return True
    return one.keys() == other.keys() and all(
        numbers.keys() == other[container].keys() for container, numbers in one.items()
    )
