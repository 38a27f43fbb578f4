"""Requests of many items: in slices, and answered as in one go."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from broker.requests.admission import Admission
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import UNLIMITED, Rights, Verdict, VerdictLog
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.request_timeout import RequestTimeouts
from controller.requests.long_requests import LongRequests
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Steps
from ottla.plugins.authorizer import Action, Asker, Operation
from protocol.errors import ApiError, ErrorCode
from protocol.message import Message
from protocol.messages import alter_client_quotas as quotas
from protocol.messages import alter_configs as replacing
from protocol.messages import alter_partition_reassignments as reassign
from protocol.messages import alter_user_scram_credentials as scram
from protocol.messages import create_acls, delete_acls
from protocol.messages import create_partitions as grow
from protocol.messages import create_topics as create
from protocol.messages import delete_topics as delete
from protocol.messages import elect_leaders as elect
from protocol.messages import incremental_alter_configs as changing
from protocol.messages import list_partition_reassignments as moving
from protocol.messages import update_features as features
from protocol.primitives import StringTooLong
from tests.unit.controller.controller_fixture import OneNode, as_sent
from tests.unit.controller.rights_fixture import ALICE, ListJudge, on_cluster, rights_of

MANY = 2 * PIECES_AT_ONCE + 10
VERY_MANY = BULK_AT_ONCE + 1
"""Config keys, which are only looked up."""
TOPIC, CLIENT_METRICS = 2, 16
NAMES = [f"name-{number}" for number in range(MANY)]
KEYS = [f"key-{number}" for number in range(VERY_MANY)]
INDEXES = list(range(MANY))
MS = 60_000

Row = tuple[Message, int, int, int]
"""A request and its version; slices behind the first that it takes to refuse it all, and to decide
on it."""


def rows() -> Iterator[tuple[str, Row]]:
    topics = [create.CreatableTopic(name, 0, 1) for name in NAMES]
    yield "topics", (create.CreateTopicsRequest(topics, MS), 7, 5, 12)
    assignments = [create.CreatableReplicaAssignment(index, [1]) for index in INDEXES]
    topic = create.CreatableTopic("new", -1, -1, assignments)
    yield "topics: assignments", (create.CreateTopicsRequest([topic], MS), 7, 0, 1)
    configs = [create.CreatableTopicConfig(key, "1") for key in KEYS]
    topic = create.CreatableTopic("new", 1, 1, configs=configs)
    yield "topics: configs", (create.CreateTopicsRequest([topic], MS), 7, 0, 19)
    growths = [grow.CreatePartitionsTopic(name, 2) for name in NAMES]
    yield "partitions", (grow.CreatePartitionsRequest(growths, MS), 3, 5, 0)
    places = [grow.CreatePartitionsAssignment([1]) for _ in INDEXES]
    growth = grow.CreatePartitionsTopic("t", MANY + 1, places)
    yield "partitions: assignments", (grow.CreatePartitionsRequest([growth], MS), 3, 0, 1)
    states = [delete.DeleteTopicState(name) for name in NAMES]
    yield "deletions", (delete.DeleteTopicsRequest(states, timeout_ms=MS), 6, 10, 4)
    old = delete.DeleteTopicsRequest(topic_names=list(NAMES), timeout_ms=MS)
    yield "deletions by name", (old, 5, 12, 6)
    twins = delete.DeleteTopicsRequest([*states, *states], timeout_ms=MS)
    yield "deletions of twins", (twins, 6, 14, 8)
    resources = [replacing.AlterConfigsResource(TOPIC, name) for name in NAMES]
    yield "configs", (replacing.AlterConfigsRequest(resources), 2, 6, 10)
    texts = [replacing.AlterableConfig(key, "1") for key in KEYS]
    resource = replacing.AlterConfigsResource(TOPIC, "t", texts)
    yield "configs of one", (replacing.AlterConfigsRequest([resource]), 2, 0, 4)
    resources_ = [changing.AlterConfigsResource(TOPIC, name) for name in NAMES]
    yield "changes", (changing.IncrementalAlterConfigsRequest(resources_), 1, 6, 10)
    operations = [changing.AlterableConfig(key, 0, "1") for key in KEYS]
    one = changing.AlterConfigsResource(TOPIC, "t", operations)
    yield "changes of one", (changing.IncrementalAlterConfigsRequest([one]), 1, 0, 20)
    named = [elect.TopicPartitions(name, []) for name in NAMES]
    yield "elections", (elect.ElectLeadersRequest(0, named, MS), 2, 2, 2)
    one_topic = [elect.TopicPartitions("t", INDEXES)]
    yield "elections of one", (elect.ElectLeadersRequest(0, one_topic, MS), 2, 2, 8)
    moved = [reassign.ReassignableTopic(name, []) for name in NAMES]
    yield "moves", (reassign.AlterPartitionReassignmentsRequest(MS, topics=moved), 1, 2, 2)
    targets = [reassign.ReassignablePartition(index, [1]) for index in INDEXES]
    one_moved = reassign.AlterPartitionReassignmentsRequest(
        MS, topics=[reassign.ReassignableTopic("t", targets)]
    )
    yield "moves of one", (one_moved, 1, 2, 16)
    listed = [moving.ListPartitionReassignmentsTopics(name, []) for name in NAMES]
    yield "moves listed", (moving.ListPartitionReassignmentsRequest(MS, listed), 0, 2, 2)
    one_listed = [moving.ListPartitionReassignmentsTopics("t", INDEXES)]
    yield "moves listed of one", (moving.ListPartitionReassignmentsRequest(MS, one_listed), 0, 2, 2)
    ops = [quotas.OpData("request_percentage", 1.0, False)]
    entries = [
        quotas.AlterClientQuotasRequestEntryData(
            [quotas.AlterClientQuotasRequestEntityData("user", name)], ops
        )
        for name in NAMES
    ]
    yield "quotas", (quotas.AlterClientQuotasRequest(entries, True), 1, 8, 10)
    parts = [quotas.AlterClientQuotasRequestEntityData(name, "") for name in NAMES]
    entry = quotas.AlterClientQuotasRequestEntryData(parts, ops)
    yield "quotas of many parts", (quotas.AlterClientQuotasRequest([entry], True), 1, 4, 4)
    many_ops = [quotas.OpData(name, 1.0, False) for name in NAMES]
    one_entry = quotas.AlterClientQuotasRequestEntryData(parts[:1], many_ops)
    yield "quotas of many keys", (quotas.AlterClientQuotasRequest([one_entry], True), 1, 0, 2)
    deletions = [scram.ScramCredentialDeletion(name, 1) for name in NAMES]
    yield "users", (scram.AlterUserScramCredentialsRequest(deletions), 0, 2, 6)
    upsertions = [scram.ScramCredentialUpsertion(name, 1, 4096, b"s", b"p") for name in NAMES]
    yield "new users", (scram.AlterUserScramCredentialsRequest([], upsertions), 0, 2, 10)
    made = [create_acls.AclCreation(TOPIC, name, 3, "User:a", "*", 3, 3) for name in NAMES]
    yield "ACLs", (create_acls.CreateAclsRequest(made), 3, 2, 2)
    filters = [delete_acls.DeleteAclsFilter(TOPIC, name, 3, None, None, 1, 1) for name in NAMES]
    yield "filters of ACLs", (delete_acls.DeleteAclsRequest(filters), 3, 2, 2)
    updates = [features.FeatureUpdateKey("group.version", 1, upgrade_type=1) for _ in INDEXES]
    yield "features", (features.UpdateFeaturesRequest(MS, updates, True), 1, 0, 20)


ROWS = dict(rows())


def node_with_a_topic(is_sliced: bool) -> OneNode:
    node = OneNode(is_sliced=is_sliced, slices=SlicedAnswers if is_sliced else None).start()
    node.register()
    node.call(create.CreateTopicsRequest([create.CreatableTopic("t", 1, 1)], MS), 7)
    return node


@pytest.mark.parametrize("name", ROWS)
def test_requests_of_many_items(name: str) -> None:
    request, version, *least = ROWS[name]
    for rights, slices in zip((rights_of(()), UNLIMITED), least, strict=True):
        sliced, whole = node_with_a_topic(True), node_with_a_topic(False)
        begun = sliced.sliced.slices
        answer = as_sent(sliced.call(request, version, rights), request, version)
        assert sliced.sliced.slices - begun >= slices
        assert not whole.sliced.slices
        assert answer == as_sent(whole.call(request, version, rights), request, version)


@pytest.mark.parametrize("name", ["ACLs", "filters of ACLs"])
def test_acls_of_who_may_alter_them(name: str) -> None:
    request, version, *_ = ROWS[name]
    rights = rights_of(on_cluster(Operation.ALTER))
    sliced, whole = node_with_a_topic(True), node_with_a_topic(False)
    begun = sliced.sliced.slices
    answer = as_sent(sliced.call(request, version, rights), request, version)
    assert sliced.sliced.slices - begun >= 6
    assert answer == as_sent(whole.call(request, version, rights), request, version)


# --- rights that change meanwhile -----------------------------------------------------------------


class Fickle(ListJudge):
    """Allows everything; nothing any more once it was asked about so many names."""

    def __init__(self, names: int) -> None:
        super().__init__()
        self._admission = Admission()
        self._names = names

    def judge(self, asker: Asker, action: Action) -> Verdict:
        self.asked.append(action)
        if len(self.asked) == self._names:
            self._admission.changed()
        return Verdict(len(self.asked) <= self._names, "the test")

    def rights(self, audit: VerdictLog | None = None) -> Rights:
        return Rights(self, ALICE, audit, self._admission)


MUTATIONS = ["topics", "partitions", "configs", "changes"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_many_names_are_judged_once(name: str) -> None:
    request, version, *_ = ROWS[name]
    judge = Fickle(10 * MANY)
    node = node_with_a_topic(True)
    node.call(request, version, judge.rights())
    assert len([action for action in judge.asked if action.name in NAMES]) <= MANY


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_right_that_is_lost_before_the_decision_is_lost(name: str) -> None:
    request, version, *_ = ROWS[name]
    asked = 1 if name == "topics" else MANY  # Create on the cluster is enough for all
    node = node_with_a_topic(True)
    answer = node.call(request, version, Fickle(asked).rights())
    results = next(value for value in map(answer.__getattribute__, answer.__slots__) if value)
    assert {one.error_code for one in results} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


# --- what fails -----------------------------------------------------------------------------------


class Failing:
    """A request of which some part fails."""

    def __init__(self, in_slice: int) -> None:
        self.node = OneNode().start()
        self.answers: list[Any] = []
        self._in_slice = in_slice

    def steps(self, error: Exception | None) -> Steps[None]:
        """Fail in that slice, if at all."""
        for _ in range(self._in_slice):
            yield None
        if error is not None:
            raise error

    def run(self, before: Exception | None = None, answering: Exception | None = None) -> None:
        controller, slices = self.node.node.controller, SlicedAnswers(self.node.sliced)
        timeouts = RequestTimeouts(controller, self.node.scheduler)

        def decide(_: DecisionView) -> Decision[str]:
            return Decision("done")

        def answer(outcome: str | ApiError) -> Steps[object]:
            yield from self.steps(answering if outcome == "done" else None)
            return outcome

        LongRequests(controller, timeouts, slices).run(
            "a test",
            self.steps(before),
            lambda settle: controller.submit("a test", decide, settle),
            answer,
            self.answers.append,
        )
        self.node.settle()


@pytest.mark.parametrize("in_slice", [0, 2])
def test_a_failure_is_logged_and_answered(in_slice: int, caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing(in_slice)
    with caplog.at_level(logging.ERROR):
        failing.run()
        failing.run(before=RuntimeError("a bug"))
        failing.run(answering=RuntimeError("a bug"))
        failing.run(answering=StringTooLong(40_000))
    assert failing.answers == ["done", *[ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)] * 3]
    assert [bool(record.exc_info) for record in caplog.records] == [True, True, False]
