"""CreateTopics once its form is right: one command, or two where a policy is asked in between.

Owns: who may create what, what is settled about some topics of a request while others are still
asked about, and what of a new topic is shown. What the first look has refused stays refused: a
topic that is gone by the second one would be made without its policy. Never: decides
(`replication_control`), or asks a policy (`controller.policies`).

Needs Create on the cluster or on the topic; what a new one is like is shown to who has
DescribeConfigs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from controller.decisions.decision import Decision, View
from controller.decisions.mutation_quota import MutationQuota
from controller.decisions.replication_control import ReplicationControl, refused_topic
from controller.quorum_controller import QuorumController
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import EncodedItems, encoded
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from protocol.rights import Rights
from storage.log.sliced_work import Pace, Steps

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
        # By name, in the order in which it became so.
        self._settled: dict[str, CreatableTopicResult] = {}

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

        policies.look_at_topics(possible, create_the_rest)

    def _look(
        self, view: View
    ) -> Steps[Decision[list[tuple[CreatableTopic, CreatableTopicResult]]]]:
        """What would be decided about each topic that may be created."""
        asked = self._permitted()
        decision = yield from self._replication.create_topics(view, asked, True)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        return Decision(list(zip(asked, decision.reply, strict=True)))

    def _decide(self, view: View) -> Steps[Decision[list[CreatableTopicResult]]]:
        """On the topics that nothing is settled about. Their results, then the others."""
        asked = self._permitted()
        decision = yield from self._replication.create_topics(
            view, asked, self._validate_only, self._quota
        )
        if isinstance(decision.reply, ApiError):
            return decision
        _hide_configs(self._rights, decision.reply)
        if len(decision.reply) > TOPICS_KEPT and self._version >= CONFIGS_FROM:
            yield from self._write_configs(decision.reply)
        return Decision([*decision.reply, *self._settled.values()], decision.records)

    def _write_configs(self, results: Sequence[CreatableTopicResult]) -> Steps[None]:
        """Thirty configs a topic are nearly all of an answer: they are written here. Topics that
        set the same have the same ones, which are written once."""
        overrides = {
            topic.name: tuple((one.name, one.value) for one in topic.configs)
            for topic in self._wanted
        }
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

    def _permitted(self) -> list[CreatableTopic]:
        """Those to decide on; that the others may not be is settled."""
        left = [topic for topic in self._wanted if topic.name not in self._settled]
        allowed = _creatable(self._rights, left)
        for topic in left:
            if topic.name not in allowed:
                self._settled[topic.name] = refused_topic(topic.name, _DENIED)
        return [topic for topic in left if topic.name in allowed]


def _creatable(rights: Rights, topics: Sequence[CreatableTopic]) -> Collection[str]:
    names = [topic.name for topic in topics]
    if rights.allows_on_cluster(Operation.CREATE, audited=False):
        return set(names)
    return rights.allowed(Operation.CREATE, Resource.TOPIC, names)


def _hide_configs(rights: Rights, results: Sequence[CreatableTopicResult]) -> None:
    """Leave out what a new topic is like, where that is not to be shown."""
    made = [result.name for result in results if not result.error_code]
    shown = rights.allowed(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, made, audited=False)
    for result in results:
        if not result.error_code and result.name not in shown:
            result.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            result.num_partitions = result.replication_factor = -1
            result.configs = []
