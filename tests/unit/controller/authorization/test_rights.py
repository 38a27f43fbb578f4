from __future__ import annotations

import pytest

from broker.requests.admission import Admission
from controller.authorization.rights import OPERATIONS_OF, UNLIMITED, Rights
from ottla.plugins.authorizer import CLUSTER_NAME, Action, Operation, Resource
from tests.unit.controller.rights_fixture import ALICE, Heard, ListJudge, on_cluster, on_topic

ON_ALL = {resource: f"some {resource.name}" for resource in Resource}


def test_each_name_is_asked_for_once_and_the_audit_hears_how_often_it_is_named() -> None:
    judge, audit = ListJudge(on_topic(Operation.READ, "a", "b")), Heard()
    rights = judge.rights(audit)
    names = iter(["a", "c", "a", "b"])
    assert rights.allowed(Operation.READ, Resource.TOPIC, names) == {"a", "b"}
    read = [Action(Operation.READ, Resource.TOPIC, name) for name in ("a", "c", "b")]
    assert judge.asked == read
    assert audit.told_of == [(read[0], True, 2), (read[1], False, 1), (read[2], True, 1)]


def test_the_cluster_has_one_name() -> None:
    judge = ListJudge(on_cluster(Operation.ALTER))
    rights = judge.rights()
    assert rights.allows_on_cluster(Operation.ALTER)
    assert not rights.allows_on_cluster(Operation.CREATE)
    assert {action.name for action in judge.asked} == {CLUSTER_NAME}


def test_what_is_only_left_out_is_not_told_to_the_audit() -> None:
    audit = Heard()
    rights = ListJudge().rights(audit)
    assert not rights.allows(Operation.READ, Resource.TOPIC, "a", audited=False)
    assert not rights.allowed(Operation.READ, Resource.TOPIC, ["a"], audited=False)
    assert not rights.allows_on_cluster(Operation.ALTER, audited=False)
    assert rights.operations(Resource.TOPIC, "a") == 0
    assert audit.told_of == []


@pytest.mark.parametrize("resource", Resource)
def test_bits_are_of_the_operations_that_a_resource_knows(resource: Resource) -> None:
    name = ON_ALL[resource]
    some = OPERATIONS_OF[resource][0]
    allowed = {(operation, resource, name) for operation in Operation}
    every = ListJudge(allowed).rights().operations(resource, name)
    assert every == UNLIMITED.operations(resource, name)
    assert every == sum(1 << operation for operation in OPERATIONS_OF[resource])
    assert ListJudge({(some, resource, name)}).rights().operations(resource, name) == 1 << some


def test_bits_of_one_who_may_do_all_are_those_of_kafka() -> None:
    assert UNLIMITED.operations(Resource.TOPIC, "t") == 3576
    assert UNLIMITED.operations_on_cluster() == 8096


def test_the_bits_of_the_cluster_are_for_who_may_describe_it() -> None:
    alter = on_cluster(Operation.ALTER)
    assert ListJudge(alter).rights().operations_on_cluster() == 0
    both = alter | on_cluster(Operation.DESCRIBE)
    assert ListJudge(both).rights().operations_on_cluster() == 1 << 7 | 1 << 8


def test_who_may_do_all_is_asked_about_by_nobody() -> None:
    assert UNLIMITED.unlimited
    assert UNLIMITED.allows(Operation.READ, Resource.TOPIC, "a")
    assert UNLIMITED.allows_any(Operation.WRITE, Resource.TOPIC)
    assert UNLIMITED.allowed(Operation.READ, Resource.TOPIC, ["a", "b", "a"]) == {"a", "b"}
    assert not ListJudge().rights().unlimited


def test_verdicts_stand_until_the_epoch_moves_on() -> None:
    admission = Admission()
    rights = Rights(ListJudge(), ALICE, None, admission)
    epoch = rights.epoch
    assert rights.stand_since(epoch)
    admission.changed()
    assert not rights.stand_since(epoch)
    assert rights.stand_since(rights.epoch)


def test_verdicts_that_hold_once_never_stand() -> None:
    admission = Admission()
    rights = Rights(ListJudge(), ALICE, None, admission)
    admission.hold_preparing()
    assert not rights.stand_since(rights.epoch)
    assert not ListJudge().rights().stand_since(0)
    assert UNLIMITED.stand_since(0)
