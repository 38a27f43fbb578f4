"""The assignors of a node, by the names that members ask for.

Owns which there are, in the order of `group.consumer.assignors`; the first one is for groups whose
members name none. How each is computed is its own: those built in run on the loop, in slices, so
that a group of 500 members and 5,000 partitions holds nobody up; somebody's own class runs in a
thread (`plugin_assignor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from broker.groups.consumer.assignors.assignor import (
    Assignor,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.assignors.range import RangeAssignor
from broker.groups.consumer.assignors.uniform import UniformAssignor
from ground.sliced_work import SlicedWork, Steps

Computed: TypeAlias = Callable[[GroupAssignment | None, Exception | None], None]
"""The assignment, or why there is none: then the group keeps the one that it has."""


class SlicedAssignor(Assignor, Protocol):
    """One whose work can be done in slices."""

    def steps(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> Steps[GroupAssignment]:
        """`assign`, in slices of about a millisecond."""


class AskedAssignor(Protocol):
    """One as a group asks it: it may take a while."""

    @property
    def name(self) -> str:
        """By what members and the config ask for it."""

    def begin(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        done: Computed,
    ) -> list[GroupAssignment]:
        """The assignment, where it is there at once; else nothing, and `done`, once: later, or
        before it returns where it failed at once. What it is asked must not change until then."""


BUILT_IN: dict[str, Callable[[], SlicedAssignor]] = {
    "uniform": UniformAssignor,
    "range": RangeAssignor,
}


class SlicedOnTheLoop:
    """An assignor built in (`AskedAssignor`)."""

    def __init__(self, assignor: SlicedAssignor, work: SlicedWork) -> None:
        self._assignor = assignor
        self._work = work

    @property
    def name(self) -> str:
        return self._assignor.name

    def begin(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        done: Computed,
    ) -> list[GroupAssignment]:
        try:
            return self._work.begin(self._assignor.steps(members, topics), done)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  as of a later slice: its group gets it
            done(None, error)
            return []


class Assignors:
    """See the module."""

    def __init__(self, assignors: Sequence[AskedAssignor]) -> None:
        """At least one; no two have the same name."""
        self._by_name = {one.name: one for one in assignors}
        assert len(self._by_name) == len(assignors) > 0

    @property
    def names(self) -> list[str]:
        """All, in their order."""
        return list(self._by_name)

    @property
    def default(self) -> str:
        """The one for groups whose members name none."""
        return next(iter(self._by_name))

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> AskedAssignor:
        """Raises KeyError where there is none of that name."""
        return self._by_name[name]
