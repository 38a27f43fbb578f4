"""The user's own policies: `create.topic.policy.class.name`, `alter.config.policy.class.name`.

A command that policies judge is decided twice. First the decision is made as if the request only
validated. A resource that it rejects stays rejected, and the policies do not see it. Then a thread
runs the policies on the rest, one resource after the other. The resources that they accept are
submitted, and the decision is made a second time, because the metadata may have changed meanwhile.

Owns: the values that a policy gets, and the error of its rejection. Never: makes a decision, or
starts a thread.

As in a running Kafka 4.3, the policy for configs sees a new topic's configs first. A policy that
raises another exception gives UNKNOWN_SERVER_ERROR for that resource only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from controller.metadata.image import ResourceType
from controller.metadata.records import MetadataRecord
from ground.ports import AnswerTimeout, T
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

Rejections: TypeAlias = dict[int, ApiError]
"""The rejected resources: the index of each in the request, and its error."""


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
    """A config of a changed resource."""

    name: str


class RunInThread(Protocol):
    """A callable that runs a job in a thread, then calls `done(result, error)` on the loop.

    `error` is NoAnswer if a deadline passes first.
    """

    def __call__(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None: ...


class Policies:
    """The policies of one node."""

    def __init__(
        self,
        create_topic: CreateTopicPolicy | None,
        alter_config: AlterConfigPolicy | None,
        run_in_thread: RunInThread,
    ) -> None:
        self._create_topic = create_topic
        self._alter_config = alter_config
        self._run_in_thread = run_in_thread

    @property
    def has_config_policy(self) -> bool:
        """Whether a policy for configs is configured."""
        return self._alter_config is not None

    def check_topics(
        self,
        topics: Mapping[int, tuple[CreatableTopic, CreatableTopicResult]],
        done: Callable[[Rejections], None],
    ) -> None:
        """Run the policies on each topic and its validated result; `done` gets the rejections."""
        self._run_next(self._topic_checks(topics), {}, done)

    def check_configs(
        self,
        resources: Mapping[int, tuple[ChangedResource, Sequence[MetadataRecord]]],
        done: Callable[[Rejections], None],
    ) -> None:
        """Run the policy on each resource and the records that would change it; `done` gets the
        rejections."""
        policy = self._alter_config
        assert policy is not None
        checks = [
            (index, partial(policy.validate, _altered(*resource)))
            for index, resource in resources.items()
        ]
        self._run_next(iter(checks), {}, done)

    def _topic_checks(
        self, topics: Mapping[int, tuple[CreatableTopic, CreatableTopicResult]]
    ) -> Iterator[tuple[int, Callable[[], None]]]:
        """Yield the index of a topic with each check of a policy to run in a thread, that of its
        configs first."""
        for index, decided in topics.items():
            topic = _new_topic(*decided)
            if self._alter_config is not None and topic.configs:
                altered = AlteredConfigs("TOPIC", topic.name, dict(topic.configs))
                yield index, partial(self._alter_config.validate, altered)
            if self._create_topic is not None:
                yield index, partial(self._create_topic.validate, topic)

    def _run_next(
        self,
        checks: Iterator[tuple[int, Callable[[], None]]],
        refused: Rejections,
        done: Callable[[Rejections], None],
    ) -> None:
        """Run the next check in a thread, except for topics or resources already refused; after the
        last one call `done`."""
        for index, job in checks:
            if index not in refused:
                self._run_in_thread(job, partial(self._on_result, index, checks, refused, done))
                return
        done(refused)

    def _on_result(
        self,
        index: int,
        checks: Iterator[tuple[int, Callable[[], None]]],
        refused: Rejections,
        done: Callable[[Rejections], None],
        _result: None,
        error: Exception | None,
    ) -> None:
        """Add the refusal, if there is one, and run the next check. If a policy did not answer,
        refuse all that are left."""
        if error is not None:
            refused[index] = _refusal(error)
        if isinstance(error, AnswerTimeout):  # each of the others would wait until the deadline too
            for other, _ in checks:
                refused.setdefault(other, refused[index])
        self._run_next(checks, refused, done)


def _new_topic(topic: CreatableTopic, result: CreatableTopicResult) -> NewTopic:
    """Return the topic with its resolved defaults, or with its manual assignments alone."""
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    if topic.assignments:
        assignments = {
            config.partition_index: tuple(config.broker_ids) for config in topic.assignments
        }
        return NewTopic(topic.name, None, None, assignments, configs)
    return NewTopic(topic.name, result.num_partitions, result.replication_factor, None, configs)


def _altered(resource: ChangedResource, records: Sequence[MetadataRecord]) -> AlteredConfigs:
    """Return the configs that the request names and that change. Leave out those that AlterConfigs
    removes because the request does not name them, as in Kafka (KAFKA-14195)."""
    requested_names = {config.name for config in resource.configs}
    configs = {
        record.name: record.value
        for record in records
        if isinstance(record, ConfigRecord) and record.name in requested_names
    }
    return AlteredConfigs(_KINDS[resource.resource_type], resource.resource_name, configs)


def _refusal(error: Exception) -> ApiError:
    """Return the client's error for an error of a policy. Log an unexpected one."""
    if isinstance(error, PolicyViolation):
        return ApiError(ErrorCode.POLICY_VIOLATION, str(error) or None)
    if isinstance(error, AnswerTimeout):
        return ApiError(ErrorCode.POLICY_VIOLATION, f"The policy could not be asked: {error}.")
    _log.error("a policy failed", exc_info=error)
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
