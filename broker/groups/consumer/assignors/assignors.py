"""The assignors of a node, by the names that members use.

Owns them in the order of `group.consumer.assignors`; the first is for groups whose members name no
assignor. Built-in assignors run on the loop, in slices, so that a group of 500 members and
5,000 partitions does not block it. A user's own class runs in a thread (`plugin_assignor`). Never
computes an assignment itself.
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

AssignmentCallback: TypeAlias = Callable[[GroupAssignment | None, Exception | None], None]
"""A callback that gets the assignment, or an error, after which the group keeps its present one."""


class SlicedAssignor(Assignor, Protocol):
    """An assignor that can work in slices."""

    def steps(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> Steps[GroupAssignment]:
        """Return the same as `assign`, in slices of about a millisecond."""


class AsyncAssignor(Protocol):
    """An assignor that may answer later, as groups use it."""

    @property
    def name(self) -> str:
        """The assignor's name in members' heartbeats and in `group.consumer.assignors`."""

    def begin(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        done: AssignmentCallback,
    ) -> list[GroupAssignment]:
        """Compute an assignment. Return it in a list if it is complete within this call.

        Else return an empty list, and call `done` once: later, or within this call for an error.
        `members` and `topics` must not change until then.
        """


BUILT_IN: dict[str, Callable[[], SlicedAssignor]] = {
    "uniform": UniformAssignor,
    "range": RangeAssignor,
}


class SlicedOnTheLoop:
    """A built-in assignor that runs on the loop (`AsyncAssignor`)."""

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
        done: AssignmentCallback,
    ) -> list[GroupAssignment]:
        """Return the target in a list if it is complete at once.

        Otherwise return an empty list, and `done` gets the target later, or the assignor's error.
        """
        try:
            return self._work.begin(self._assignor.steps(members, topics), done)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  the group gets it, as from a later slice
            done(None, error)
            return []


class Assignors:
    """The assignors of a node, by name."""

    def __init__(self, assignors: Sequence[AsyncAssignor]) -> None:
        """Keep `assignors`, of which there is at least one, each with its own name."""
        self._by_name = {assignor.name: assignor for assignor in assignors}
        assert len(self._by_name) == len(assignors) > 0

    @property
    def names(self) -> list[str]:
        """The names of all assignors, in the configured order."""
        return list(self._by_name)

    @property
    def default(self) -> str:
        """The name of the assignor for groups whose members name none."""
        return next(iter(self._by_name))

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> AsyncAssignor:
        """Return the assignor with this name. Raises KeyError if there is none."""
        return self._by_name[name]
