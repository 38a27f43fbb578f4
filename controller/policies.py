"""The user's own policies: `create.topic.policy.class.name`, `alter.config.policy.class.name`.

A command that policies judge is decided twice. First the decision is made as if the request only
validated. A resource that it rejects stays rejected, and the policies do not see it. Then a thread
runs the policies on the rest, one resource after the other. The resources that they accept are
submitted, and the decision is made a second time, because the metadata may have changed meanwhile.

Owns: the values that a policy gets, and the error of its rejection. Never: makes a decision, or
starts a thread.

As in a running Kafka, the policy for configs sees a new topic's configs first. A policy that
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

    `error` is AnswerTimeout if a deadline passes first, or if too many calls wait.
    """

    def __call__(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job()` in a thread, and return at once; `done(result, error)` runs later."""


class Policies:
    """The policies of one node."""

    def __init__(
        self,
        create_topic: CreateTopicPolicy | None,
        alter_config: AlterConfigPolicy | None,
        run_in_thread: RunInThread,
    ) -> None:
        """Use the given policies, None for a policy that is not configured. `run_in_thread` runs
        their code."""
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
        """Run the policies on each topic and its validated result, in a thread, a topic at a time.
        Then call `done(rejections)`, with the error of each rejected topic by its key in
        `topics`."""
        self._run_next(self._topic_checks(topics), {}, done)

    def check_configs(
        self,
        resources: Mapping[int, tuple[ChangedResource, Sequence[MetadataRecord]]],
        done: Callable[[Rejections], None],
    ) -> None:
        """Run the policy for configs on each resource and the records that would change it, in a
        thread. Then call `done(rejections)`, with the error of each rejected resource by its key in
        `resources`."""
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
        """Yield, for each policy that a topic has to pass, the topic's index and the call of that
        policy, the policy for configs first. The call raises if the policy rejects."""
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
        """Run the next check in a thread, but none for an index in `refused`. If no check is left,
        call `done(refused)`."""
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
        """Add the error of a rejected check to `refused`, and run the next check. If the policy did
        not answer in time, add that error for all indexes that are left."""
        if error is not None:
            refused[index] = _refusal(error)
        if isinstance(error, AnswerTimeout):  # each of the others would wait until the deadline too
            for other, _ in checks:
                refused.setdefault(other, refused[index])
        self._run_next(checks, refused, done)


def _new_topic(topic: CreatableTopic, result: CreatableTopicResult) -> NewTopic:
    """Return the topic as the policy gets it: with the partitions and the replication factor of
    `result`, or, if the request assigns replicas, with these assignments alone. Configs without a
    value are left out."""
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
    """Return the client's error for an exception of a policy: POLICY_VIOLATION for a rejection or a
    missing answer. Log any other at ERROR and return UNKNOWN_SERVER_ERROR."""
    if isinstance(error, PolicyViolation):
        return ApiError(ErrorCode.POLICY_VIOLATION, str(error) or None)
    if isinstance(error, AnswerTimeout):
        return ApiError(ErrorCode.POLICY_VIOLATION, f"The policy could not be asked: {error}.")
    _log.error("a policy failed", exc_info=error)
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
