"""The adapter of a user's own assignor class to `AsyncAssignor`.

The class runs in a thread, with a deadline (`broker.plugins.bounded_calls`), and gets names instead
of ids. Owns its input, and the check of its answer: a partition assigned twice, or to a member that
does not subscribe to it, is an error. After an error or a time-out the group keeps its present
assignment; that is logged, and the next computation calls the class again. Never computes an
assignment itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

from broker.groups.consumer.assignors.assignor import (
    Assignment,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.assignors.assignors import AssignmentCallback
from broker.plugins.loop_calls import LoopCalls
from controller.metadata.image import MetadataImage, TopicImage
from ottla.plugins.assignor import ConsumerGroupAssignor, Member, Topic


class Submit(Protocol):
    """The type of `BoundedCalls.submit`, which runs a job in a thread with a deadline."""

    def __call__(
        self,
        job: Callable[[], GroupAssignment],
        done: Callable[[GroupAssignment | None, Exception | None], None],
    ) -> None:
        """Run `job` in a thread, and pass its result, or the error or time-out, to `done`."""


class PluginAssignor:
    """The adapter of one class (`assignors.AsyncAssignor`)."""

    def __init__(
        self,
        assignor: ConsumerGroupAssignor,
        calls: LoopCalls,
        submit: Submit,
        image: Callable[[], MetadataImage],
    ) -> None:
        """Adapt `assignor`; `calls` logs its errors, `image` has the names and racks of topics."""
        self._assignor = assignor
        self._calls = calls
        self._submit = submit
        self._image = image

    @property
    def name(self) -> str:
        return self._assignor.name

    def begin(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        done: AssignmentCallback,
    ) -> list[GroupAssignment]:
        """Call the class on another thread, and return an empty list.

        `done` gets the checked answer, or the error of the class, which is logged as a failed call.
        """
        question = _Question(self._image(), members, topics)

        def answered(result: GroupAssignment | None, error: Exception | None) -> None:
            """Pass the result to `done`; an error also counts as a failed call of the class."""
            if error is not None:
                self._calls.failed(error)
            done(result, error)

        self._submit(partial(question.put_to, self._assignor), answered)
        return []


class _Question:
    """The input of a call for a group, with topic names from one image. A thread reads it."""

    def __init__(
        self,
        image: MetadataImage,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
    ) -> None:
        """Keep the input. Topics that `image` does not have are left out."""
        self._image = image
        self._members = members
        self._counts = topics
        self._topics: dict[bytes, TopicImage] = {}
        for topic_id in topics:
            topic = image.topics.get_by_id(topic_id)
            if topic is not None:
                self._topics[topic_id] = topic

    def put_to(self, assignor: ConsumerGroupAssignor) -> GroupAssignment:
        """Call the assignor and return its checked answer. Raises ValueError if it is invalid."""
        names = {topic_id: topic.name for topic_id, topic in self._topics.items()}
        members = {
            member_id: _member(member_id, member, names)
            for member_id, member in self._members.items()
        }
        topics = {
            topic.name: self._topic(topic_id, topic) for topic_id, topic in self._topics.items()
        }
        answer: object = assignor.assign(members, topics)
        if not isinstance(answer, Mapping):
            raise ValueError(f"gave {type(answer).__name__} for an assignment")
        return self._checked(answer)

    def _topic(self, topic_id: bytes, topic: TopicImage) -> Topic:
        """Return a topic as the class sees it: its name and each partition's known racks."""
        brokers = self._image.brokers
        racks = tuple(
            tuple(
                rack
                for replica in topic.partitions[partition].replicas
                if replica in brokers and (rack := brokers[replica].rack) is not None
            )
            if partition in topic.partitions
            else ()
            for partition in range(self._counts[topic_id])
        )
        return Topic(topic.name, self._counts[topic_id], racks)

    def _checked(self, answer: Mapping[object, object]) -> GroupAssignment:
        """Return the answer by topic id, with an entry for each member.

        Raises ValueError if a member or partition is unknown, not subscribed or assigned twice.
        """
        ids = {topic.name: topic_id for topic_id, topic in self._topics.items()}
        assigned: dict[bytes, set[int]] = {}
        checked: dict[str, Assignment] = {}
        for member_id in answer:
            if member_id not in self._members:
                raise ValueError(f"gave partitions to {member_id!r}, who is no member")
        for member_id, subscription in self._members.items():
            assignment: dict[bytes, tuple[int, ...]] = {}
            of_member = answer.get(member_id, {})
            if not isinstance(of_member, Mapping):
                raise ValueError(f"gave {type(of_member).__name__} to member {member_id}")
            for name, partitions in of_member.items():
                topic_id = ids.get(name, b"")
                if topic_id not in subscription.topic_ids:
                    raise ValueError(f"gave {name!r} to {member_id}, who is not subscribed to it")
                numbers = self._checked_numbers(topic_id, name, partitions, assigned)
                if numbers:
                    assignment[topic_id] = numbers
            checked[member_id] = assignment
        return checked

    def _checked_numbers(
        self, topic_id: bytes, name: str, partitions: object, assigned: dict[bytes, set[int]]
    ) -> tuple[int, ...]:
        """Return the partitions in order and add them to `assigned`.

        Raises ValueError for an unknown partition or a second assignment.
        """
        if not isinstance(partitions, Iterable):
            raise ValueError(f"gave {type(partitions).__name__} for partitions of {name}")
        numbers = list(partitions)
        assigned_numbers = assigned.setdefault(topic_id, set())
        for number in numbers:
            if type(number) is not int or not 0 <= number < self._counts[topic_id]:
                raise ValueError(f"gave {number!r}, which is no partition of {name}")
            if number in assigned_numbers:
                raise ValueError(f"gave partition {number} of {name} twice")
            assigned_numbers.add(number)
        return tuple(sorted(numbers))


def _member(member_id: str, subscription: MemberSubscription, names: Mapping[bytes, str]) -> Member:
    """Return a member as the class sees it, with topic names instead of ids."""
    return Member(
        member_id,
        subscription.instance_id,
        subscription.rack_id,
        tuple(name for topic_id, name in names.items() if topic_id in subscription.topic_ids),
        {
            names[topic_id]: partitions
            for topic_id, partitions in subscription.target.items()
            if topic_id in names
        },
    )
