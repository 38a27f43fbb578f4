"""The policies of one's own for new topics and for configs, as the controller asks them.

A command that a policy has a say in is looked at twice. First the decision is made as for a request
that only validates: what it refuses stays refused, and no policy is asked about it. Then the
policies are asked about the rest, one question after the other, elsewhere; and what they do not
refuse is submitted. The metadata may have moved on meanwhile, so the decision is made anew.

Owns: what a policy is asked, and which error its refusal is. Never: a decision, or a thread.

Follows what a running Kafka 4.3 does: a new topic's configs are shown to the policy for configs
first; a policy that fails otherwise is UNKNOWN_SERVER_ERROR for that resource alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from controller.metadata.image import ResourceType
from controller.metadata.records import MetadataRecord
from ground.ports import NoAnswer, T
from ottla.plugins.policies import (
    AlterConfigPolicy,
    AlteredConfigs,
    CreateTopicPolicy,
    NewTopic,
    PolicyViolation,
)
from protocol.errors import ApiError, ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreatableTopicResult
from protocol.messages.metadata_records import ConfigRecord

_log = logging.getLogger(f"ottla.{__name__}")

Refused: TypeAlias = dict[int, ApiError]
"""By what was asked about: its place among the others."""


_KINDS = {
    ResourceType.TOPIC: "TOPIC",
    ResourceType.BROKER: "BROKER",
    ResourceType.GROUP: "GROUP",
    ResourceType.CLIENT_METRICS: "CLIENT_METRICS",
}


class ChangedResource(Protocol):
    """A resource of AlterConfigs or IncrementalAlterConfigs."""

    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[NamedConfig]: ...


class NamedConfig(Protocol):
    """One of its configs."""

    name: str


class Ask(Protocol):
    """Runs a job in a thread and calls `done` on the loop, with NoAnswer after a deadline."""

    def __call__(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None: ...


class Policies:
    """Of one node."""

    def __init__(
        self,
        create_topic: CreateTopicPolicy | None,
        alter_config: AlterConfigPolicy | None,
        ask: Ask,
    ) -> None:
        self._create_topic = create_topic
        self._alter_config = alter_config
        self._ask = ask

    @property
    def of_configs(self) -> bool:
        """Whether there is one for configs."""
        return self._alter_config is not None

    def look_at_topics(
        self,
        topics: Mapping[int, tuple[CreatableTopic, CreatableTopicResult]],
        done: Callable[[Refused], None],
    ) -> None:
        """Ask about each topic, with what is decided of it; `done` has those that are refused."""
        self._next(self._about_topics(topics), {}, done)

    def look_at_configs(
        self,
        resources: Mapping[int, tuple[ChangedResource, Sequence[MetadataRecord]]],
        done: Callable[[Refused], None],
    ) -> None:
        """Ask about each resource, with what is decided of it; `done` has those that are
        refused."""
        policy = self._alter_config
        assert policy is not None
        questions = [
            (at, partial(policy.validate, _altered(*one))) for at, one in resources.items()
        ]
        self._next(iter(questions), {}, done)

    def _about_topics(
        self, topics: Mapping[int, tuple[CreatableTopic, CreatableTopicResult]]
    ) -> Iterator[tuple[int, Callable[[], None]]]:
        for at, decided in topics.items():
            topic = _new_topic(*decided)
            if self._alter_config is not None and topic.configs:
                altered = AlteredConfigs("TOPIC", topic.name, dict(topic.configs))
                yield at, partial(self._alter_config.validate, altered)
            if self._create_topic is not None:
                yield at, partial(self._create_topic.validate, topic)

    def _next(
        self,
        left: Iterator[tuple[int, Callable[[], None]]],
        refused: Refused,
        done: Callable[[Refused], None],
    ) -> None:
        for at, job in left:
            if at not in refused:
                self._ask(job, partial(self._answered, at, left, refused, done))
                return
        done(refused)

    def _answered(
        self,
        at: int,
        left: Iterator[tuple[int, Callable[[], None]]],
        refused: Refused,
        done: Callable[[Refused], None],
        _result: None,
        error: Exception | None,
    ) -> None:
        if error is not None:
            refused[at] = _refusal(error)
        if isinstance(error, NoAnswer):  # the others would wait as long
            for other, _ in left:
                refused.setdefault(other, refused[at])
        self._next(left, refused, done)


def _new_topic(topic: CreatableTopic, result: CreatableTopicResult) -> NewTopic:
    """With the defaults that hold, or with its assignments alone."""
    configs = {one.name: one.value for one in topic.configs if one.value is not None}
    if topic.assignments:
        assignments = {one.partition_index: tuple(one.broker_ids) for one in topic.assignments}
        return NewTopic(topic.name, None, None, assignments, configs)
    return NewTopic(topic.name, result.num_partitions, result.replication_factor, None, configs)


def _altered(resource: ChangedResource, records: Sequence[MetadataRecord]) -> AlteredConfigs:
    """What is named and changes. What AlterConfigs takes away because it is not named is left out,
    as in Kafka (KAFKA-14195)."""
    named = {config.name for config in resource.configs}
    configs = {
        one.name: one.value
        for one in records
        if isinstance(one, ConfigRecord) and one.name in named
    }
    return AlteredConfigs(_KINDS[resource.resource_type], resource.resource_name, configs)


def _refusal(error: Exception) -> ApiError:
    if isinstance(error, PolicyViolation):
        return ApiError(ErrorCode.POLICY_VIOLATION, str(error) or None)
    if isinstance(error, NoAnswer):
        return ApiError(ErrorCode.POLICY_VIOLATION, f"The policy could not be asked: {error}.")
    _log.error("a policy failed", exc_info=error)
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
