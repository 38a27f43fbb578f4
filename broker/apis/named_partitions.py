"""The partitions of a topic in a request: those that exist, and answers for the others.

They are looked up in slices, because one request may name very many. Owns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Protocol, TypeVar

from ground.sliced_work import Pace, Steps


class NamedPartition(Protocol):
    """A partition in a request."""

    partition_index: int


P = TypeVar("P", bound=NamedPartition)
R = TypeVar("R")


def split_partitions(
    partitions: Iterable[P],
    existing_indexes: Container[int],
    refuse: Callable[[int], R],
    pace: Pace,
) -> Steps[tuple[list[P], list[R]]]:
    """Return the `partitions` whose index is in `existing_indexes`, and `refuse(index)` for each of
    the others.
    """
    good, refused = list[P](), list[R]()
    if pace.is_full():
        yield None
    for partition in partitions:
        if pace.is_full():
            yield None
        if partition.partition_index in existing_indexes:
            good.append(partition)
        else:
            refused.append(refuse(partition.partition_index))
    return good, refused
