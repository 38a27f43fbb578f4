"""CreateTopics once its form is right: one command, or two where a policy is asked in between.

Owns: who may create what, what is settled about some topics of a request while others are still
asked about, and what of a new topic is shown. What the first look has refused stays refused: a
topic that is gone by the second one would be made without its policy. Never: decides
(`replication_control`), or asks a policy (`controller.policies`).

Needs Create on the cluster or on the topic; what a new one is like is shown to who has
DescribeConfigs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, View
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
    from controller.policies import Policies, Refused

_DENIED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")

CONFIGS_FROM = 5
TOPICS_KEPT = 16
"""An answer about so many, or fewer, stays one of messages."""
WRITTEN_A_SLICE = 32
"""Topics whose configs are written before others have their turn."""

Answer = Callable[[list[CreatableTopicResult] | ApiError], None]


class TopicCreation:
    """Of one request. No name may be there twice."""

    def __init__(
        self,
        controller: QuorumController,
        rights: Rights,
        wanted: Sequence[CreatableTopic],
        validate_only: bool,
        quota: MutationQuota | None = None,
        version: int = CreateTopicsRequest.MAX_VERSION,
    ) -> None:
        """`version`: of the request. The answer to many topics is made for this one alone."""
        self._controller = controller
        self._replication: ReplicationControl = controller.replication
        self._rights = rights
        self._wanted = wanted
        self._validate_only = validate_only
        self._quota = quota
        self._version = version
        self._epoch: int | None = None
        """Of the judgement on all that nothing is settled about."""
        # By name, in the order in which it became so.
        self._settled: dict[str, CreatableTopicResult] = {}

    def judge_ahead(self) -> Steps[None]:
        """Settle which of many topics may not be created, before the others are decided on. A node
        that may not have heard of every ACL does not."""
        if len(self._wanted) > PIECES_AT_ONCE and self._controller.is_active:
            yield from self._judge()

    def run(self, policies: Policies | None, answer: Answer) -> None:
        """Create the topics that may be; `answer(results or error)` once they are."""
        if policies is None or not self._wanted:
            self._controller.submit("create topics", self._decide, answer)
            return
        looked_at = partial(self._looked_at, policies, answer)
        self._controller.submit("look at new topics", self._look, looked_at)

    def _looked_at(
        self,
        policies: Policies,
        answer: Answer,
        outcome: list[tuple[CreatableTopic, CreatableTopicResult]] | ApiError,
    ) -> None:
        if isinstance(outcome, ApiError):
            answer(outcome)
            return
        possible = {at: one for at, one in enumerate(outcome) if not one[1].error_code}
        self._settled.update((topic.name, result) for topic, result in outcome if result.error_code)

        def create_the_rest(refused: Refused) -> None:
            for at, error in refused.items():
                name = outcome[at][0].name
                self._settled[name] = refused_topic(name, error)
            self._controller.submit("create topics", self._decide, answer)

        policies.check_topics(possible, create_the_rest)

    def _look(
        self, view: View
    ) -> Steps[Decision[list[tuple[CreatableTopic, CreatableTopicResult]]]]:
        """What would be decided about each topic that may be created."""
        asked = yield from self._permitted()
        decision = yield from self._replication.create_topics(view, asked, True)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        return Decision(list(zip(asked, decision.reply, strict=True)))

    def _decide(self, view: View) -> Steps[Decision[list[CreatableTopicResult]]]:
        """On the topics that nothing is settled about. Their results, then the others."""
        asked = yield from self._permitted()
        decision = yield from self._replication.create_topics(
            view, asked, self._validate_only, self._quota
        )
        if isinstance(decision.reply, ApiError):
            return decision
        yield from _hide_configs(self._rights, decision.reply)
        if len(decision.reply) > TOPICS_KEPT and self._version >= CONFIGS_FROM:
            yield from self._write_configs(decision.reply)
        return Decision([*decision.reply, *self._settled.values()], decision.records)

    def _write_configs(self, results: Sequence[CreatableTopicResult]) -> Steps[None]:
        """Thirty configs a topic are nearly all of an answer: they are written here. Topics that
        set the same have the same ones, which are written once."""
        overrides: dict[str, tuple[tuple[str, str | None], ...]] = {}
        yield from in_bulk(
            lambda some: overrides.update(
                (topic.name, tuple((one.name, one.value) for one in topic.configs))
                for topic in some
            ),
            self._wanted,
        )
        written: dict[object, EncodedItems[CreatableTopicConfigs]] = {}
        pace = Pace(WRITTEN_A_SLICE)
        for result in results:
            if not result.configs:
                continue
            configs = written.get(overrides[result.name])
            if configs is None:
                if pace.is_full():
                    yield None
                configs = encoded(result.configs, self._version)
                written[overrides[result.name]] = configs
            result.configs = configs

    def _permitted(self) -> Steps[Sequence[CreatableTopic]]:
        """Those to decide on; that the others may not be is settled."""
        if self._epoch is None or not self._rights.unchanged_since(self._epoch):
            yield from self._judge()
        self._epoch = None
        return (yield from self._left())

    def _judge(self) -> Steps[None]:
        self._epoch = self._rights.epoch
        left = yield from self._left()
        allowed = yield from creatable_in_slices(self._rights, (topic.name for topic in left))
        pace = Pace()
        for topic in left:
            if pace.is_full():
                yield None
            if topic.name not in allowed:
                self._settled[topic.name] = refused_topic(topic.name, _DENIED)

    def _left(self) -> Steps[Sequence[CreatableTopic]]:
        """Those that nothing is settled about."""
        if len(self._settled) == len(self._wanted):
            return ()
        left: list[CreatableTopic] = []
        yield from in_bulk(
            lambda some: left.extend(one for one in some if one.name not in self._settled),
            self._wanted,
        )
        return left


def _hide_configs(rights: Rights, results: Sequence[CreatableTopicResult]) -> Steps[None]:
    """Leave out what a new topic is like, where that is not to be shown."""
    made: list[str] = []
    yield from in_bulk(
        lambda some: made.extend(result.name for result in some if not result.error_code), results
    )
    shown = yield from allowed_in_slices(
        rights, Operation.DESCRIBE_CONFIGS, Resource.TOPIC, made, audited=False
    )
    pace = Pace(BULK_AT_ONCE)
    for result in results if made else ():
        if pace.is_full():
            yield None
        if not result.error_code and result.name not in shown:
            result.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            result.num_partitions = result.replication_factor = -1
            result.configs = []
