"""CreateTopics after the checks of its form: one command, or two with a policy in between.

Owns: which topics the client may create, the topics that are already rejected while policies judge
the others, and which values of a new topic the response shows. A topic that the first command
rejects stays rejected: if it was deleted before the second one, it would be created without its
policy. Never: decides (`replication_control`), or runs a policy (`controller.policies`).

Rights: Create on the cluster or on the topic. A response has the configs and counts of a new topic
only if the client has DescribeConfigs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.mutation_quota import MutationQuota
from controller.decisions.replication_control import ReplicationControl, refused_topic
from controller.quorum_controller import QuorumController
from controller.requests.rights import allowed_in_slices, creatable_in_slices
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import EncodedItems, encoded
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
)

if TYPE_CHECKING:
    from controller.policies import Policies, Rejections

_DENIED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")

CONFIGS_FROM = 5
TOPICS_KEPT = 16
"""The number of topics up to which the response keeps its configs as messages, not as bytes."""
WRITTEN_A_SLICE = 32
"""The number of topics, each with its configs, that are encoded before other work has its turn."""

Answer = Callable[[list[CreatableTopicResult] | ApiError], None]


class TopicCreation:
    """A CreateTopics request, in which no name appears twice."""

    def __init__(
        self,
        controller: QuorumController,
        rights: Rights,
        topics: Sequence[CreatableTopic],
        validate_only: bool,
        quota: MutationQuota | None = None,
        version: int = CreateTopicsRequest.MAX_VERSION,
    ) -> None:
        """`version` is that of the request; the response to many topics is encoded for it only."""
        self._controller = controller
        self._replication: ReplicationControl = controller.replication
        self._rights = rights
        self._topics = topics
        self._validate_only = validate_only
        self._quota = quota
        self._version = version
        self._epoch: int | None = None
        """The epoch of the rights under which the remaining topics were last judged."""
        # The results of rejected topics by name, in the order of the rejections.
        self._settled: dict[str, CreatableTopicResult] = {}

    def judge_ahead(self) -> Steps[None]:
        """Reject forbidden topics before the decision, if there are many. Only the active
        controller does so, because others may not have replayed every ACL."""
        if len(self._topics) > PIECES_AT_ONCE and self._controller.is_active:
            yield from self._judge()

    def run(self, policies: Policies | None, answer: Answer) -> None:
        """Create the topics that the client may create. Call `answer` after the commit, with the
        result of each topic or with an error of the whole request.

        With `policies`, the topics are first validated without creating them, and the policies
        judge the valid topics.
        """
        if policies is None or not self._topics:
            self._controller.submit("create topics", self._decide, answer)
            return
        submit_to_policies = partial(self._submit_to_policies, policies, answer)
        self._controller.submit("look at new topics", self._look, submit_to_policies)

    def _submit_to_policies(
        self,
        policies: Policies,
        answer: Answer,
        outcome: list[tuple[CreatableTopic, CreatableTopicResult]] | ApiError,
    ) -> None:
        """Settle the topics that failed validation, and submit the others to the policies. Then
        submit the decision on the topics that the policies accept. An error of the whole request
        goes to `answer`."""
        if isinstance(outcome, ApiError):
            answer(outcome)
            return
        possible = {index: pair for index, pair in enumerate(outcome) if not pair[1].error_code}
        self._settled.update((topic.name, result) for topic, result in outcome if result.error_code)

        def create_the_rest(rejections: Rejections) -> None:
            """Settle the topics that the policies reject, and submit the decision on the others."""
            for index, error in rejections.items():
                name = outcome[index][0].name
                self._settled[name] = refused_topic(name, error)
            self._controller.submit("create topics", self._decide, answer)

        policies.check_topics(possible, create_the_rest)

    def _look(
        self, view: DecisionView
    ) -> Steps[Decision[list[tuple[CreatableTopic, CreatableTopicResult]]]]:
        """Return each topic that is not rejected, with its result as if the request only validated,
        for policies. The decision has no records."""
        permitted = yield from self._permitted()
        decision = yield from self._replication.create_topics(view, permitted, True)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        return Decision(list(zip(permitted, decision.reply, strict=True)))

    def _decide(self, view: DecisionView) -> Steps[Decision[list[CreatableTopicResult]]]:
        """Return the decision on the remaining topics, without records if the request only
        validates. Its reply has their results, without configs that the client may not see, and
        then the results of the rejected topics."""
        permitted = yield from self._permitted()
        decision = yield from self._replication.create_topics(
            view, permitted, self._validate_only, self._quota
        )
        if isinstance(decision.reply, ApiError):
            return decision
        yield from _hide_configs(self._rights, decision.reply)
        if len(decision.reply) > TOPICS_KEPT and self._version >= CONFIGS_FROM:
            yield from self._write_configs(decision.reply)
        return Decision([*decision.reply, *self._settled.values()], decision.records)

    def _write_configs(self, results: Sequence[CreatableTopicResult]) -> Steps[None]:
        """Replace the configs of new topics in `results` by their encoding: with about thirty for
        each topic, they are nearly all of the response. Topics with equal overrides share an
        encoding."""
        overrides: dict[str, tuple[tuple[str, str | None], ...]] = {}
        yield from in_bulk(
            lambda batch: overrides.update(
                (topic.name, tuple((config.name, config.value) for config in topic.configs))
                for topic in batch
            ),
            self._topics,
        )
        encodings: dict[object, EncodedItems[CreatableTopicConfigs]] = {}
        pace = Pace(WRITTEN_A_SLICE)
        for result in results:
            if not result.configs:
                continue
            configs = encodings.get(overrides[result.name])
            if configs is None:
                if pace.is_full():
                    yield None
                configs = encoded(result.configs, self._version)
                encodings[overrides[result.name]] = configs
            result.configs = configs

    def _permitted(self) -> Steps[Sequence[CreatableTopic]]:
        """Return the topics to decide on. First reject those that the client may not create, unless
        that was done and no ACL has changed."""
        if self._epoch is None or not self._rights.unchanged_since(self._epoch):
            yield from self._judge()
        self._epoch = None
        return (yield from self._remaining())

    def _judge(self) -> Steps[None]:
        """Reject the topics that the client may not create, by the present ACLs: put their results
        into `_settled`. Keep the epoch of these rights."""
        self._epoch = self._rights.epoch
        remaining = yield from self._remaining()
        allowed = yield from creatable_in_slices(self._rights, (topic.name for topic in remaining))
        pace = Pace()
        for topic in remaining:
            if pace.is_full():
                yield None
            if topic.name not in allowed:
                self._settled[topic.name] = refused_topic(topic.name, _DENIED)

    def _remaining(self) -> Steps[Sequence[CreatableTopic]]:
        """Return the topics that are not rejected."""
        if len(self._settled) == len(self._topics):
            return ()
        remaining: list[CreatableTopic] = []
        yield from in_bulk(
            lambda batch: remaining.extend(
                topic for topic in batch if topic.name not in self._settled
            ),
            self._topics,
        )
        return remaining


def _hide_configs(rights: Rights, results: Sequence[CreatableTopicResult]) -> Steps[None]:
    """Remove configs and counts from the results of new topics on which the client lacks
    DescribeConfigs, and set their `topic_config_error_code`."""
    created: list[str] = []
    yield from in_bulk(
        lambda batch: created.extend(result.name for result in batch if not result.error_code),
        results,
    )
    shown = yield from allowed_in_slices(
        rights, Operation.DESCRIBE_CONFIGS, Resource.TOPIC, created, audited=False
    )
    pace = Pace(BULK_AT_ONCE)
    for result in results if created else ():
        if pace.is_full():
            yield None
        if not result.error_code and result.name not in shown:
            result.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            result.num_partitions = result.replication_factor = -1
            result.configs = []
