"""The holdings of a member: numbers in containers, each with the epoch of its assignment.

For a consumer group, a container is a topic id, and its numbers are partitions. This module does
not depend on that: a streams group could hold the tasks of a subtopology in the same way. Owns the
set arithmetic; functions return new values and never change their arguments. No container is
without numbers, and numbers ascend.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)

Held: TypeAlias = Mapping[K, Mapping[int, int]]
"""The numbers in each container, with the epoch in which the member got each."""

Named: TypeAlias = Mapping[K, tuple[int, ...]]
"""The numbers in each container, without epochs."""


def split(held: Held[K], target: Named[K]) -> tuple[Held[K], Held[K]]:
    """Return the part of `held` that is in the target, and the part that is not."""
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
    """Return the part of `target` that is not in `held`."""
    missing: dict[K, tuple[int, ...]] = {}
    for container, numbers in target.items():
        held_numbers = held.get(container, {})
        rest = tuple(number for number in numbers if number not in held_numbers)
        if rest:
            missing[container] = rest
    return missing


def with_additions(held: Held[K], additions: Named[K], epoch: int) -> Held[K]:
    """Return `held` with `additions`, which get `epoch`."""
    both: dict[K, Mapping[int, int]] = dict(held)
    for container, numbers in additions.items():
        added = {**both.get(container, {}), **dict.fromkeys(numbers, epoch)}
        both[container] = dict(sorted(added.items()))
    return both


def overlap(named: Named[K], held: Held[K]) -> bool:
    """Return whether some number is in both."""
    for container, numbers in named.items():
        held_numbers = held.get(container)
        if held_numbers is not None and any(number in held_numbers for number in numbers):
            return True
    return False


def is_within(named: Named[K], held: Held[K]) -> bool:
    """Return whether all of `named` is in `held`."""
    for container, numbers in named.items():
        held_numbers = held.get(container, {})
        if any(number not in held_numbers for number in numbers):
            return False
    return True


def only(target: Named[K], wanted: Callable[[K], bool]) -> Named[K]:
    """Return `target` without unwanted containers; `target` itself if all are wanted."""
    kept = {container: numbers for container, numbers in target.items() if wanted(container)}
    return target if len(kept) == len(target) else kept


def names(held: Held[K]) -> Named[K]:
    """Return `held` without epochs."""
    return {container: tuple(numbers) for container, numbers in held.items()}


def same_names(first: Held[K], second: Held[K]) -> bool:
    """Return whether both are equal apart from the epochs."""
    if first is second:
        return True
    return first.keys() == second.keys() and all(
        numbers.keys() == second[container].keys() for container, numbers in first.items()
    )
